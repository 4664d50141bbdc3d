//! Name syntaxes that only pods use.

use crate::names::{max_len, regex_error};

/// The name of an environment variable.
pub(super) fn variable_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if value.chars().all(|c| (' '..='~').contains(&c) && c != '=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}

/// The name of an HTTP header.
pub(super) fn header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// A DNS search path, in which labels may have underscores.
pub(super) fn search_path(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 253 {
        errors.push(max_len(253));
    }
    if !value.split('.').all(is_search_label) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    errors
}

fn is_search_label(label: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let label = label.strip_prefix('_').unwrap_or(label);
    label.starts_with(alphanumeric)
        && label.ends_with(alphanumeric)
        && label.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_'))
}

/// Whether a text is the name of a kernel parameter: segments joined by dots or slashes.
pub(super) fn is_sysctl_name(value: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    value.len() <= 253
        && value.split(['.', '/']).all(|segment| {
            segment.starts_with(alphanumeric)
                && segment.ends_with(alphanumeric)
                && segment.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_'))
        })
}
