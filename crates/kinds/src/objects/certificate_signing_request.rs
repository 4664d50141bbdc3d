//! CertificateSigningRequest: what is asked never changes; approval and the certificate come through
//! subresources of their own. The caller fills in who asks and checks the signature.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::{Value, json};

use super::{
    config_map::decode,
    field::{Errors, Field},
    syntax,
};
use crate::{checks::same, read, strategy::Strategy};

const DECISIONS: [&str; 2] = ["Approved", "Denied"];
const LASTING: [&str; 3] = ["Approved", "Denied", "Failed"];
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create,
    prepare_for_update: |request, old| {
        super::keep_spec(request, old);
        super::keep_status(request, old);
    },
    validate,
    validate_update: |request, old, errors| validate_change(request, old, Allowed::Nothing, errors),
    prepare_for_status_update: |request, old| {
        super::keep_spec(request, old);
        keep_decisions(request, old);
    },
    validate_status_update: |request, old, errors| {
        validate_change(request, old, Allowed::Certificate, errors);
    },
    name_syntax: |_| Vec::new(),
    ..Strategy::NONE
};

/// What one endpoint may change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Nothing,
    Certificate,
    Decision,
}

/// Through `approval`, only the conditions change. Those left out are taken back, which validation
/// refuses for decisions.
pub fn prepare_for_approval(request: &mut Value, old: &Value) {
    let conditions = read::at(request, &["status", "conditions"]).clone();
    super::keep_spec(request, old);
    super::keep_status(request, old);
    let status = read::object_mut(request, "status");
    if conditions.is_null() {
        status.remove("conditions");
    } else {
        status.insert("conditions".to_owned(), conditions);
    }
}

/// What a write to the `approval` subresource must fulfil.
pub fn validate_approval(request: &Value, old: &Value, errors: &mut Errors) {
    validate_change(request, old, Allowed::Decision, errors);
}

/// Conditions say when they were written and when their status last changed.
pub fn stamp_conditions(request: &mut Value, old: &Value, now: &str) {
    let Some(status) = request.get_mut("status") else {
        return;
    };
    for condition in read::list_mut(status, "conditions") {
        let since = conditions(old)
            .find(|old| {
                ["type", "status"]
                    .iter()
                    .all(|field| read::get(old, field) == read::get(condition, field))
            })
            .map(|old| read::get(old, "lastTransitionTime").clone())
            .filter(|time| !time.is_null());
        read::default(condition, "lastUpdateTime", now);
        read::default(
            condition,
            "lastTransitionTime",
            since.unwrap_or_else(|| now.into()),
        );
    }
}

fn prepare_for_create(request: &mut Value) {
    request["status"] = json!({});
    if let Some(Value::Object(spec)) = request.get_mut("spec") {
        for field in ["username", "uid", "groups", "extra"] {
            spec.remove(field);
        }
    }
}

fn conditions(request: &Value) -> impl Iterator<Item = &Value> {
    read::list(read::get(request, "status"), "conditions").iter()
}

fn of_type<'a>(request: &'a Value, kind: &'a str) -> Vec<&'a Value> {
    conditions(request)
        .filter(|condition| read::text(condition, "type") == kind)
        .collect()
}

/// The decisions stay as they were, unless some were added or removed, which validation refuses.
fn keep_decisions(request: &mut Value, old: &Value) {
    for kind in DECISIONS {
        let before = of_type(old, kind);
        if of_type(request, kind).len() != before.len() {
            continue;
        }
        let Some(status) = request.get_mut("status") else {
            return;
        };
        let own = read::list_mut(status, "conditions").iter_mut();
        for (new, old) in own
            .filter(|condition| read::text(condition, "type") == kind)
            .zip(before)
        {
            *new = old.clone();
        }
    }
}

fn validate(request: &Value, errors: &mut Errors) {
    let root = Field::root(request);
    let spec = root.child("spec");
    let pem = spec.child("request");
    if encoded_request(request).is_none() {
        pem.invalid_as(pem.text(), "PEM block type must be CERTIFICATE REQUEST", errors);
    }
    let usages = spec.child("usages");
    usages.require(errors);
    for usage in usages.items() {
        usage.one_of(&USAGES, errors);
    }
    usages.unique_items(errors);
    let signer = spec.child("signerName");
    if signer.text() == "kubernetes.io/legacy-unknown" {
        signer.invalid(
            "the legacy signerName is not allowed via this API version",
            errors,
        );
    } else {
        syntax::validate_signer_name(&signer, errors);
    }
    let seconds = spec.child("expirationSeconds");
    if seconds.int().is_some_and(|seconds| seconds < 600) {
        seconds.invalid(
            "may not specify a duration less than 600 seconds (10 minutes)",
            errors,
        );
    }
    validate_conditions(&root.child("status.conditions"), errors);
}

/// The request in the first PEM block of `spec.request`, still encoded; none if that is no request.
pub fn encoded_request(request: &Value) -> Option<Vec<u8>> {
    let pem = decode(read::text(read::get(request, "spec"), "request"));
    let pem = std::str::from_utf8(&pem).ok()?;
    let (_, block) = pem.split_once("-----BEGIN ")?;
    let (body, _) = block
        .strip_prefix("CERTIFICATE REQUEST-----")?
        .split_once("-----END CERTIFICATE REQUEST-----")?;
    let is_header = |line: &&str| line.contains(':');
    let encoded: String = body
        .lines()
        .map(str::trim)
        .filter(|line| !is_header(line))
        .collect();
    base64::engine::general_purpose::STANDARD.decode(encoded).ok()
}

fn validate_conditions(conditions: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let (kind, status) = (condition.child("type"), condition.child("status"));
        kind.require(errors);
        let statuses: &[&str] = if LASTING.contains(&kind.text()) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        status.require_one_of(statuses, errors);
        let name = read::text(condition.value, "type");
        let opposite = match name {
            "Approved" => seen.contains("Denied"),
            "Denied" => seen.contains("Approved"),
            _ => false,
        };
        if opposite {
            conditions.invalid_as(
                name,
                "Approved and Denied conditions are mutually exclusive",
                errors,
            );
        }
        if !seen.insert(name) {
            kind.duplicate_as(name, errors);
        }
    }
}

fn validate_change(request: &Value, old: &Value, allowed: Allowed, errors: &mut Errors) {
    validate(request, errors);
    let root = Field::root(request);
    let conditions = root.child("status.conditions");
    for kind in LASTING {
        if of_type(request, kind).len() < of_type(old, kind).len() {
            conditions.forbidden(
                &format!("updates may not remove a condition of type \"{kind}\""),
                errors,
            );
        }
    }
    if allowed != Allowed::Decision {
        for kind in DECISIONS {
            let (new, before) = (of_type(request, kind), of_type(old, kind));
            if new.len() > before.len() {
                conditions.forbidden(
                    &format!("updates may not add a condition of type \"{kind}\""),
                    errors,
                );
            } else if new.len() == before.len() && !new.iter().zip(&before).all(|(a, b)| same(a, b)) {
                conditions.forbidden(
                    &format!("updates may not modify a condition of type \"{kind}\""),
                    errors,
                );
            }
        }
    }
    let certificate = root.child("status.certificate");
    let before = read::text(read::get(old, "status"), "certificate");
    if certificate.text() != before {
        if allowed != Allowed::Certificate {
            certificate.forbidden("updates may not set certificate content", errors);
        } else if !before.is_empty() {
            certificate.forbidden("updates may not modify existing certificate content", errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_first_block_of_its_text() {
        let encoded = |pem: &str| {
            let text = base64::engine::general_purpose::STANDARD.encode(pem);
            encoded_request(&json!({"spec": {"request": text}}))
        };
        let block =
            |name: &str, body: &str| format!("-----BEGIN {name}-----\n{body}\n-----END {name}-----\n");
        let request = block("CERTIFICATE REQUEST", "aGVs\nbG8=");
        assert_eq!(encoded(&request).as_deref(), Some(&b"hello"[..]));
        assert_eq!(
            encoded(&format!("before\n{request}after")).as_deref(),
            Some(&b"hello"[..])
        );
        assert_eq!(encoded(&block("CERTIFICATE REQUEST", "!!!")), None);
        assert_eq!(encoded(&(block("CERTIFICATE", "aGVsbG8=") + &request)), None);
        assert_eq!(encoded("hello"), None);
    }

    #[test]
    fn conditions_left_out_are_taken_back() {
        let old = json!({"spec": {}, "status": {"conditions": [{"type": "Approved"}], "certificate": "x"}});
        let mut new = json!({"spec": {"request": "other"}, "status": {}});
        prepare_for_approval(&mut new, &old);
        assert_eq!(new, json!({"spec": {}, "status": {"certificate": "x"}}));
    }
}
