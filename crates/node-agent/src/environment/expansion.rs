//! `$(NAME)` in commands, arguments and variables.

/// Replaces `$(NAME)` where the name is known. `$$` stands for one dollar sign and starts nothing;
/// what is not known stays as it was written.
pub fn expand<'a>(text: &str, lookup: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
            if let Some(value) = lookup(name) {
                expanded.push_str(value);
            } else {
                expanded.push_str("$(");
                expanded.push_str(name);
                expanded.push(')');
            }
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        expand(text, |name| match name {
            "A" => Some("a"),
            "EMPTY" => Some(""),
            _ => None,
        })
    }

    #[test]
    fn known_names_are_replaced_and_unknown_ones_stay() {
        assert_eq!(check("x$(A)y$(B)"), "xay$(B)");
        assert_eq!(check("$(A)$(EMPTY)$(A)"), "aa");
    }

    #[test]
    fn two_dollars_are_one_and_start_nothing() {
        assert_eq!(check("$$(A)"), "$(A)");
        assert_eq!(check("$$$(A)"), "$a");
        assert_eq!(check("$$"), "$");
    }

    #[test]
    fn what_is_no_reference_stays() {
        for text in ["$", "$A", "$(A", "a $ b", "$()"] {
            assert_eq!(check(text), text);
        }
    }
}
