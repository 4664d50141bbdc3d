//! Spreading pods evenly over zones, nodes, racks.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, label_keys};
use crate::{
    checks::{Errors, one_of_if_set},
    label_selector,
    read::{get, int, list, text},
};

const ACTIONS: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];
const NODE_POLICIES: &[&str] = &["Honor", "Ignore"];

/// Checks the constraints of a pod; `path` is that of the spec.
pub(super) fn validate(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let constraints = list(spec, "topologySpreadConstraints");
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(i);
        positive(
            int(constraint, "maxSkew").unwrap_or_default(),
            || path.child("maxSkew"),
            errors,
        );
        if text(constraint, "topologyKey").is_empty() {
            errors.push(FieldError::required(
                &path.child("topologyKey"),
                "can not be empty",
            ));
        }
        let action = text(constraint, "whenUnsatisfiable");
        if !ACTIONS.contains(&action) {
            let path = path.child("whenUnsatisfiable");
            errors.push(FieldError::not_supported(&path, &json!(action), ACTIONS));
        }
        if constraints[i + 1..]
            .iter()
            .any(|other| identity(other) == identity(constraint))
        {
            let (key, action) = identity(constraint);
            let path = path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(
                &path,
                &json!(format!("{{{key}, {action}}}")),
            ));
        }
        validate_min_domains(constraint, action, &path, errors);
        one_of_if_set(constraint, "nodeAffinityPolicy", NODE_POLICIES, &path, errors);
        one_of_if_set(constraint, "nodeTaintsPolicy", NODE_POLICIES, &path, errors);
        if options.allow_duplicate_spread_keys {
            label_keys::validate_without_merge(constraint, &path, errors);
        } else {
            label_keys::validate(constraint, &path, errors);
        }
        if !options.allow_invalid_spread_selector {
            let selector = get(constraint, "labelSelector");
            label_selector::validate(selector, &path.child("labelSelector"), errors);
        }
    }
}

fn identity(constraint: &Value) -> (&str, &str) {
    (
        text(constraint, "topologyKey"),
        text(constraint, "whenUnsatisfiable"),
    )
}

fn validate_min_domains(constraint: &Value, action: &str, path: &Path, errors: &mut Errors) {
    let Some(domains) = int(constraint, "minDomains") else {
        return;
    };
    positive(domains, || path.child("minDomains"), errors);
    if action != "DoNotSchedule" {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.push(FieldError::invalid(
            &path.child("minDomains"),
            &json!(domains),
            detail,
        ));
    }
}

fn positive(number: i64, path: impl FnOnce() -> Path, errors: &mut Errors) {
    if number <= 0 {
        errors.push(FieldError::invalid(
            &path(),
            &json!(number),
            "must be greater than zero",
        ));
    }
}

/// Whether a pod already has a selector that would be refused today.
pub(super) fn has_invalid_selector(spec: &Value) -> bool {
    list(spec, "topologySpreadConstraints")
        .iter()
        .any(|constraint| !label_selector::is_usable(get(constraint, "labelSelector")))
}

/// Whether a pod already has label keys that would be refused today.
pub(super) fn has_invalid_label_keys(spec: &Value) -> bool {
    list(spec, "topologySpreadConstraints").iter().any(|constraint| {
        let mut errors = Errors::new();
        label_keys::validate(constraint, &Path::root(), &mut errors);
        !errors.is_empty()
    })
}
