//! Claims on devices: those of the pod, and which containers use them.

use std::collections::{BTreeSet, HashSet};

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::annotations;
use crate::{
    checks::{Errors, syntax_of},
    internal_form, names,
    read::{get, has, list, text},
};

/// Checks the claims of a pod; `path` is that of the spec.
pub(super) fn validate(spec: &Value, meta: Option<&Value>, path: &Path, errors: &mut Errors) {
    let is_static = meta.is_some_and(|meta| has(get(meta, "annotations"), annotations::MIRROR));
    let mut seen = HashSet::new();
    for (i, claim) in list(spec, "resourceClaims").iter().enumerate() {
        if is_static {
            let detail = "static pods do not support resource claims";
            errors.push(FieldError::forbidden(&super::whole(), detail));
            continue;
        }
        let path = path.child("resourceClaims").index(i);
        let name = text(claim, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else if seen.insert(name) {
            crate::checks::syntax(claim, "name", names::dns_label, &path, errors);
        } else {
            errors.push(FieldError::duplicate(&path.child("name"), &json!(name)));
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let detail = match sources.iter().filter(|key| has(claim, key)).count() {
            0 => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            1 => "",
            _ => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        };
        if !detail.is_empty() {
            errors.push(internal_form::invalid(&path, claim, "PodResourceClaim", detail));
        }
        for key in sources.into_iter().filter(|key| has(claim, key)) {
            crate::checks::syntax(claim, key, names::dns_subdomain, &path, errors);
        }
    }
}

/// Checks the claims a container uses; `path` is that of its resources.
pub(super) fn validate_uses(claims: &[Value], of_pod: &BTreeSet<&str>, path: &Path, errors: &mut Errors) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let path = path.child("claims").index(i);
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        if seen.contains(name) {
            errors.push(FieldError::duplicate(&path, &json!(name)));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                syntax_of(request, names::dns_label, &path.child("request"), errors);
                key = format!("{name}/{request}");
            }
            let of_whole = |seen: &&String| seen.split_once('/').is_some_and(|(whole, _)| whole == name);
            if seen.contains(&key) {
                errors.push(FieldError::duplicate(&path, &json!(key)));
            } else if request.is_empty() {
                for _ in seen.iter().filter(of_whole) {
                    errors.push(FieldError::duplicate(&path, &json!(name)));
                }
            }
            seen.insert(key);
        }
        if !of_pod.contains(name) {
            let known: Vec<&str> = of_pod.iter().copied().collect();
            let known = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            errors.push(FieldError {
                detail,
                ..FieldError::not_found(&path, &json!(name))
            });
        }
    }
}
