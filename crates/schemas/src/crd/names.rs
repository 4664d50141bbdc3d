//! The names of a kind, and the rule about names that belong to the Kubernetes community.

use manifests::{
    field::{FieldError, Path},
    names,
};
use serde_json::{Value, json};

use super::props::{at, list, text};
use crate::metadata;

const APPROVED: &str = "api-approved.kubernetes.io";

pub(super) fn validate(names: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let mut label = |path: Path, name: &str| {
        let complaints = names::dns1035_label(name);
        if !complaints.is_empty() {
            errors.push(FieldError::invalid(&path, &json!(name), complaints.join(",")));
        }
    };
    for field in ["plural", "singular"] {
        let name = text(names, field);
        if !name.is_empty() {
            label(path.child(field), name);
        }
    }
    for (i, name) in list(names, "shortNames").iter().enumerate() {
        label(
            path.child("shortNames").index(i),
            name.as_str().unwrap_or_default(),
        );
    }
    for (i, name) in list(names, "categories").iter().enumerate() {
        label(
            path.child("categories").index(i),
            name.as_str().unwrap_or_default(),
        );
    }
    for field in ["kind", "listKind"] {
        let name = text(names, field);
        if let Some(complaint) = Some(name)
            .filter(|name| !name.is_empty())
            .and_then(metadata::kind_complaint)
        {
            errors.push(FieldError::invalid(&path.child(field), &json!(name), complaint));
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let complaint = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            &path.child("listKind"),
            &json!(kind),
            complaint,
        ));
    }
}

/// What the approval annotation of a community group says.
#[derive(PartialEq, Eq)]
enum Approval {
    Approved,
    Bypassed,
    Missing,
    Invalid,
}

/// Groups of the Kubernetes community need an approval, or the admission that there is none.
pub(super) fn validate_approval(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let group = at(crd, &["spec", "group"]).as_str().unwrap_or_default();
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if !protected {
        return;
    }
    let approval = approval(crd);
    if old.is_some_and(|old| self::approval(old) == approval) {
        return;
    }
    let path = Path::new("metadata").child("annotations").key(APPROVED);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match approval {
        Approval::Approved | Approval::Bypassed => {}
        Approval::Missing => {
            let detail = format!("protected groups must have approval annotation {APPROVED:?}, {see}");
            errors.push(FieldError::required(&path, detail));
        }
        Approval::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting with \"unapproved\", {see}"
            );
            errors.push(FieldError::invalid(&path, &json!(annotation(crd)), detail));
        }
    }
}

fn annotation(crd: &Value) -> &str {
    at(crd, &["metadata", "annotations", APPROVED])
        .as_str()
        .unwrap_or_default()
}

fn approval(crd: &Value) -> Approval {
    let annotation = annotation(crd);
    let is_url = annotation
        .split_once("://")
        .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/'));
    match annotation {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed,
        _ if is_url => Approval::Approved,
        _ => Approval::Invalid,
    }
}
