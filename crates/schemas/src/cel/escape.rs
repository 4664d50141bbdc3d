//! Field names as identifiers: expressions cannot say `a-b` or `namespace`.

use manifests::names::is_cel_word;

/// The identifier of a field; `None` when there is no way to write it.
pub(crate) fn escape(field: &str) -> Option<String> {
    if field.is_empty() || field.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_cel_word(field) {
        return Some(format!("__{field}__"));
    }
    let mut escaped = String::with_capacity(field.len());
    let mut chars = field.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '_' if chars.next_if_eq(&'_').is_some() => escaped.push_str("__underscores__"),
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            c if c == '_' || c.is_ascii_alphanumeric() => escaped.push(c),
            _ => return None,
        }
    }
    Some(escaped)
}

/// The field an identifier means; `None` for what [`escape`] never writes.
pub(crate) fn unescape(identifier: &str) -> Option<String> {
    let mut field = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let (before, after) = rest.split_at(start);
        let end = after[2..]
            .find("__")
            .filter(|end| *end > 0 && !after[2..2 + end].contains('_'));
        let Some(end) = end else {
            field.push_str(&rest[..start + 2]);
            rest = &rest[start + 2..];
            continue;
        };
        field.push_str(before);
        let word = &after[2..2 + end];
        match word {
            "underscores" => field.push_str("__"),
            "dot" => field.push('.'),
            "dash" => field.push('-'),
            "slash" => field.push('/'),
            word if is_cel_word(word) && identifier.len() == word.len() + 4 => {
                return Some(word.to_owned());
            }
            _ => return None,
        }
        rest = &after[end + 4..];
    }
    field.push_str(rest);
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_identifiers_and_back() {
        let cases = [
            ("plain", "plain"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("namespace", "__namespace__"),
            ("a__b", "a__underscores__b"),
            ("a_b", "a_b"),
        ];
        for (field, identifier) in cases {
            assert_eq!(escape(field).as_deref(), Some(identifier));
            assert_eq!(unescape(identifier).as_deref(), Some(field));
        }
        for field in ["", "1a", "a b", "ä"] {
            assert_eq!(escape(field), None);
        }
    }
}
