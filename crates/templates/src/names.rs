//! Names that Kubernetes takes, of what people type.

/// The longest release: pods and claims add to it, and 63 is the end.
pub(crate) const RELEASE_LENGTH: usize = 50;

/// Letters and digits that are not mistaken for one another.
const ALPHABET: &[u8; 32] = b"bcdfghjklmnpqrstvwxz234567890aei";

/// The name of a task and of everything it is made of: a DNS label that begins with a letter, of 50 characters at most.
/// `random` decides the last six; whoever finds the name taken asks again with another.
pub fn release_name(definition: &str, random: u64) -> String {
    let mut stem = slug(definition, RELEASE_LENGTH - 7);
    if !stem.starts_with(|first: char| first.is_ascii_lowercase()) {
        stem = slug(&format!("task-{stem}"), RELEASE_LENGTH - 7);
    }
    let tail = (0..6).map(|place| char::from(ALPHABET[(random >> (5 * place)) as usize % ALPHABET.len()]));
    let tail: String = tail.collect();
    format!("{stem}-{tail}")
}

/// What is left of a text as a DNS label: lower case, dashes for everything else; `task` when nothing is.
pub fn slug(text: &str, length: usize) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if slug.len() == length {
            break;
        }
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() {
        slug.push_str("task");
        slug.truncate(length);
    }
    slug
}

/// The object name of a definition: its name where that is one, else its slug and a short hash of the name, so that
/// `a_b` and `a.b` stay two definitions.
pub fn definition_slug(name: &str) -> String {
    if name.len() <= 63 && manifests::names::is_dns_label(name) {
        return name.to_owned();
    }
    format!("{}-{:08x}", slug(name, 54), fnv(name) >> 32)
}

/// A legal value of a label, as near to the text as there is: what labels may not have becomes `_`.
pub fn label_value(text: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut value: String = text
        .trim()
        .chars()
        .map(|c| if legal(c) { c } else { '_' })
        .take(63)
        .collect();
    value.truncate(value.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
    value
        .trim_start_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_owned()
}

/// FNV-1a: the same everywhere and for ever, which names of stored objects must be.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use manifests::names;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_stay_recognisable() {
        assert_eq!(release_name("mnist_softmax_cpu", 0), "mnist-softmax-cpu-bbbbbb");
        assert_eq!(release_name("7 Zwerge!", 1), "task-7-zwerge-cbbbbb");
        assert_eq!(release_name("日本", u64::MAX), "task-iiiiii");
        assert_eq!(definition_slug("mnist"), "mnist");
        assert_eq!(definition_slug("mnist_softmax_cpu"), "mnist-softmax-cpu-c61acc6f");
        assert_ne!(definition_slug("a_b"), definition_slug("a.b"));
        assert_eq!(label_value("mnist_softmax_cpu"), "mnist_softmax_cpu");
        assert_eq!(label_value(" O'Brien & sons. "), "O_Brien___sons");
        assert_eq!(label_value("../../etc"), "etc");
        assert_eq!(label_value("日本"), "");
    }

    #[test]
    fn six_characters_are_a_thousand_million_names() {
        let names: std::collections::BTreeSet<String> = (0..10_000).map(|n| release_name("x", n)).collect();
        assert_eq!(names.len(), 10_000);
    }

    proptest! {
        #[test]
        fn whatever_is_typed_becomes_a_legal_name(text in ".*", random: u64) {
            let release = release_name(&text, random);
            prop_assert_eq!(names::dns1035_label(&release), Vec::<String>::new());
            prop_assert!(release.len() <= RELEASE_LENGTH);
            prop_assert_eq!(names::label_value(&label_value(&text)), Vec::<String>::new());
            prop_assert_eq!(names::dns_label(&definition_slug(&text)), Vec::<String>::new());
        }
    }
}
