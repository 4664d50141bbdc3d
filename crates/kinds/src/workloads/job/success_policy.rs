//! `successPolicy`: which indexes are enough.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{indexes, is_indexed};
use crate::{
    checks::{Errors, not_negative},
    internal_form,
    read::{get, has, int, list},
};

const RULES: usize = 20;
const INDEXES_LENGTH: usize = 64 * 1024;

/// Checks the success policy of a job; `path` is that of the spec.
pub(super) fn validate(spec: &Value, path: &Path, errors: &mut Errors) {
    let policy = get(spec, "successPolicy");
    if policy.is_null() {
        return;
    }
    let path = path.child("successPolicy");
    if !is_indexed(spec) {
        let detail = "requires indexed completion mode";
        errors.push(internal_form::invalid(&path, policy, "SuccessPolicy", detail));
        return;
    }
    let (path, rules) = (path.child("rules"), list(policy, "rules"));
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(&path, detail));
    }
    if rules.len() > RULES {
        errors.push(FieldError::too_many(&path, rules.len(), RULES));
    }
    let completions = int(spec, "completions").unwrap_or_default();
    for (i, rule) in rules.iter().enumerate() {
        validate_rule(rule, completions, &path.index(i), errors);
    }
}

fn validate_rule(rule: &Value, completions: i64, path: &Path, errors: &mut Errors) {
    if !has(rule, "succeededCount") && !has(rule, "succeededIndexes") {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(FieldError::required(path, detail));
    }
    let mut total = None;
    if let Some(written) = get(rule, "succeededIndexes").as_str() {
        let path = path.child("succeededIndexes");
        if written.len() > INDEXES_LENGTH {
            errors.push(FieldError::too_long(&path, INDEXES_LENGTH));
        }
        total = Some(indexes::count(written, completions).unwrap_or_else(|error| {
            let detail = format!("error parsing succeededIndexes: {error}");
            errors.push(FieldError::invalid(&path, &json!(written), detail));
            0
        }));
    }
    let Some(count) = int(rule, "succeededCount") else {
        return;
    };
    not_negative(rule, "succeededCount", path, errors);
    let limits = [
        (Some(completions), "the number of specified completions"),
        (
            total,
            "the number of indexes in the specified succeededIndexes field",
        ),
    ];
    for (limit, what) in limits {
        if let Some(limit) = limit.filter(|limit| count > *limit) {
            let detail = format!("must be less than or equal to {limit} ({what})");
            errors.push(FieldError::invalid(
                &path.child("succeededCount"),
                &json!(count),
                detail,
            ));
        }
    }
}
