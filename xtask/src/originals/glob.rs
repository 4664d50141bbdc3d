//! Patterns in which `*` stands for anything.

pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(start) else {
        return false;
    };
    let ends = text.char_indices().map(|(place, _)| place).chain([text.len()]);
    ends.into_iter().any(|place| matches(rest, &text[place..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        assert!(matches("*/Pod/*-worker-*", "TFJob/a/Pod/a-worker-0"));
        assert!(matches("*", ""));
        assert!(!matches("a*b", "abc"));
        assert!(!matches("a", "ab"));
    }
}
