//! Short hashes for names and labels: FNV, spelled with letters and digits that make no words.

use serde::Serialize;
use serde_json::Value;

const BASIS: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Names a pod template. After a collision the count makes the same template hash to something else.
pub(crate) fn of_template(template: &impl Serialize, collisions: Option<i32>) -> String {
    let mut bytes = serde_json::to_vec(template).unwrap_or_default();
    if let Some(count) = collisions {
        bytes.extend(i64::from(count).to_le_bytes());
    }
    let hash = bytes
        .iter()
        .fold(BASIS, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME));
    spell(hash)
}

/// Names the data of a ControllerRevision; a collision changes the count. The bytes are those Go writes.
pub(crate) fn of_revision(data: &Value, collisions: i32) -> String {
    let mut text = data.to_string();
    for (plain, escaped) in [
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
    ] {
        text = text.replace(plain, escaped);
    }
    text.push_str(&collisions.to_string());
    let hash = text
        .bytes()
        .fold(BASIS, |hash, byte| hash.wrapping_mul(PRIME) ^ u32::from(byte));
    spell(hash)
}

/// Each decimal digit becomes a letter that can stand in a name.
fn spell(hash: u32) -> String {
    let digits = hash.to_string();
    digits
        .bytes()
        .map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn digits_are_spelled_as_upstream_spells_them() {
        assert_eq!(spell(1_234_567_890), "56789bcdf4");
    }

    #[test]
    fn a_collision_changes_the_hash_and_nothing_else_does() {
        let template = json!({"spec": {}});
        assert_eq!(of_template(&template, None), of_template(&template, None));
        assert_ne!(of_template(&template, None), of_template(&template, Some(1)));
    }
}
