//! Paths of files inside volumes, which must not lead out of them.

use manifests::field::{FieldError, Path};
use serde_json::json;

use crate::{checks::Errors, volume_sources::has_backstep};

/// A path must be relative and not step back.
pub(crate) fn validate_descending(target: &str, path: &Path, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(
            path,
            &json!(target),
            "must be a relative path",
        ));
    }
    if has_backstep(target) {
        errors.push(FieldError::invalid(path, &json!(target), "must not contain '..'"));
    }
}

/// As `validate_descending`; names that start with two dots are the kubelet's own.
pub(crate) fn validate_local(target: &str, path: &Path, errors: &mut Errors) {
    validate_descending(target, path, errors);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(
            path,
            &json!(target),
            "must not start with '..'",
        ));
    }
}
