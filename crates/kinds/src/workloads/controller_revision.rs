//! `apps/v1` ControllerRevision: a snapshot of a template that never changes.

use manifests::field::{FieldError, Path};
use serde_json::Value;

use super::{validate_meta, validate_meta_update};
use crate::{
    checks::{Errors, IMMUTABLE, not_negative},
    names,
    read::get,
    strategy::Strategy,
};

pub static CONTROLLER_REVISION: Strategy = Strategy {
    validate,
    validate_update,
    name_syntax: names::dns_subdomain,
    ..Strategy::NONE
};

fn validate(revision: &Value, errors: &mut Errors) {
    validate_common(revision, errors);
    let detail = match get(revision, "data") {
        Value::Null => "data is mandatory",
        Value::Object(_) => return,
        _ => "data must be a valid JSON object",
    };
    errors.push(FieldError::required(&Path::new("data"), detail));
}

fn validate_common(revision: &Value, errors: &mut Errors) {
    validate_meta(revision, errors);
    not_negative(revision, "revision", &Path::root(), errors);
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    validate_common(new, errors);
    if get(new, "data") != get(old, "data") {
        errors.push(FieldError::invalid(
            &Path::new("data"),
            get(new, "data"),
            IMMUTABLE,
        ));
    }
}
