//! The name syntaxes only some kinds use. See [`crate::names`] for those that all share.

use manifests::field::quoted;

use crate::{
    field::{Errors, Field},
    names,
};

const CONFIG_KEY_FORMAT: &str = "[-._a-zA-Z0-9]+";
const PERCENT_FORMAT: &str = "[0-9]+%";
const C_IDENTIFIER_FORMAT: &str = "[A-Za-z_][A-Za-z0-9_]*";
const WILDCARD_FORMAT: &str = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const HTTP_PATH_FORMAT: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

/// A key of a ConfigMap or Secret: it can stand as a file name.
pub(crate) fn config_key(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if value.len() > 253 {
        complaints.push(names::max_len(253));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if value.is_empty() || !value.chars().all(fits) {
        complaints.push(names::regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            CONFIG_KEY_FORMAT,
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match value {
        "." => complaints.push("must not be '.'".to_owned()),
        ".." => complaints.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => complaints.push("must not start with '..'".to_owned()),
        _ => {}
    }
    complaints
}

/// The name of a port (RFC 6335, lower case only).
pub(crate) fn port_name(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut complain = |text: &str| complaints.push(text.to_owned());
    if value.len() > 15 {
        complain(&names::max_len(15));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if value.is_empty() || !value.chars().all(fits) {
        complain("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !value.contains(|c: char| c.is_ascii_lowercase()) {
        complain("must contain at least one letter (a-z)");
    }
    if value.contains("--") {
        complain("must not contain consecutive hyphens");
    }
    if value.starts_with('-') || value.ends_with('-') {
        complain("must not begin or end with a hyphen");
    }
    complaints
}

/// `*.example.com`.
pub(crate) fn wildcard_subdomain(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if value.len() > 253 {
        complaints.push(names::max_len(253));
    }
    if !value.strip_prefix("*.").is_some_and(names::is_subdomain) {
        complaints.push(names::regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            WILDCARD_FORMAT,
            &["*.example.com"],
        ));
    }
    complaints
}

/// A host name, or a wildcard when there is a star in it.
pub(crate) fn host(value: &str) -> Vec<String> {
    if value.contains('*') {
        wildcard_subdomain(value)
    } else {
        names::dns_subdomain(value)
    }
}

/// `50%`.
pub(crate) fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) {
        return Vec::new();
    }
    vec![names::regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        PERCENT_FORMAT,
        &["1%", "93%"],
    )]
}

pub(crate) fn c_identifier(value: &str) -> Vec<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if value.chars().all(fits) && value.starts_with(|c: char| fits(c) && !c.is_ascii_digit()) {
        return Vec::new();
    }
    vec![names::regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        C_IDENTIFIER_FORMAT,
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// `acme.io/path`: who owns it, and what they call it.
pub(crate) fn validate_domain_prefixed_path(field: &Field<'_>, errors: &mut Errors) {
    if !field.require(errors) {
        return;
    }
    let (host, path) = match field.text().split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => (host, path),
        _ => {
            field.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")", errors);
            return;
        }
    };
    for complaint in names::dns_subdomain(host) {
        field.invalid_as(host, complaint, errors);
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    if !path.chars().all(fits) {
        let complaint = format!("Invalid path (regex used for validation is '{HTTP_PATH_FORMAT}')");
        field.invalid_as(path, complaint, errors);
    }
}

/// `domain.example/name`, with at least two labels in the domain: who signs a certificate.
pub(crate) fn validate_signer_name(field: &Field<'_>, errors: &mut Errors) {
    if !field.require(errors) {
        return;
    }
    let name = field.text();
    let Some((domain, path)) = name.split_once('/').filter(|(_, path)| !path.contains('/')) else {
        field.invalid(
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
            errors,
        );
        return;
    };
    if domain.len() > 253 {
        field.too_long(253, errors);
    }
    validate_labels_of(domain, names::dns_label, field, errors);
    if !domain.contains('.') {
        field.invalid_as(
            domain,
            "should be a domain with at least two segments separated by dots",
            errors,
        );
    }
    validate_labels_of(path, names::dns_subdomain, field, errors);
    if name.len() > 571 {
        field.too_long(571, errors);
    }
}

/// Complains about the first bad part between dots; the rest would say the same.
fn validate_labels_of(name: &str, syntax: names::Syntax, field: &Field<'_>, errors: &mut Errors) {
    let bad = name
        .split('.')
        .map(|label| (label, syntax(label)))
        .find(|(_, found)| !found.is_empty());
    if let Some((label, complaints)) = bad {
        for complaint in complaints {
            field.invalid_as(
                name,
                format!("validating label {}: {complaint}", quoted(label)),
                errors,
            );
        }
    }
}

/// A domain name of at least three labels: webhook names.
pub(crate) fn validate_fully_qualified(field: &Field<'_>, errors: &mut Errors) {
    if !field.require(errors) {
        return;
    }
    let complaints = names::dns_subdomain(field.text());
    if !complaints.is_empty() {
        field.invalid(complaints.join(","), errors);
    } else if field.text().split('.').count() < 3 {
        field.invalid(
            "should be a domain with at least three segments separated by dots",
            errors,
        );
    }
}
