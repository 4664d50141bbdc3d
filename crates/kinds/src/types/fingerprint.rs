//! Finding a field by its name without comparing it with the names of others.

use super::Field;

/// A number for each field's name, beside the fields.
pub(super) fn of_all(fields: &[Field]) -> Vec<u32> {
    fields.iter().map(|field| of(field.name)).collect()
}

/// Where the name is among those with these fingerprints, if `is_it` agrees.
pub(super) fn find(name: &str, fingerprints: &[u32], is_it: impl Fn(usize) -> bool) -> Option<usize> {
    let wanted = of(name);
    let mut candidates = fingerprints.iter().enumerate();
    candidates
        .find(|(index, fingerprint)| **fingerprint == wanted && is_it(*index))
        .map(|(index, _)| index)
}

/// Mixes a name's length, beginning and end, which tell most fields of a struct apart.
fn of(name: &str) -> u32 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let bytes = name.as_bytes();
    let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), 0),
    };
    let mixed = first ^ last.rotate_left(29) ^ bytes.len() as u64;
    (mixed.wrapping_mul(SPREAD) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_and_nothing_else() {
        for described in crate::types::structs() {
            for field in described.fields() {
                let found = described.field(field.name).unwrap();
                assert!(std::ptr::eq(found, field), "{}", field.name);
                assert!(described.field(&format!("{}x", field.name)).is_none());
            }
            assert!(described.field("").is_none());
        }
    }

    #[test]
    fn the_fields_of_a_struct_hardly_ever_share_a_fingerprint() {
        let shared = crate::types::structs().iter().filter(|described| {
            let mut all = of_all(described.fields());
            all.sort_unstable();
            all.windows(2).any(|pair| pair[0] == pair[1])
        });
        assert!(shared.count() < 3);
    }
}
