//! Paths of files inside volumes, which must not lead out of them.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::super::Options;
use crate::{
    checks::{Errors, one_of_if_set, require},
    read::text,
};

const HOST_PATH_TYPES: &[&str] = &[
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// Whether a path has a `..` segment.
pub(crate) fn has_backstep(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path must not step back.
pub(super) fn validate_no_backstep(target: &str, path: &Path, errors: &mut Errors) {
    if has_backstep(target) {
        errors.push(FieldError::invalid(path, &json!(target), "must not contain '..'"));
    }
}

/// A path must be relative and not step back.
pub(crate) fn validate_descending(target: &str, path: &Path, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(
            path,
            &json!(target),
            "must be a relative path",
        ));
    }
    validate_no_backstep(target, path, errors);
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

pub(super) fn validate_host_path(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    if !require(source, "path", path, errors) {
        return;
    }
    validate_no_backstep(text(source, "path"), &path.child("path"), errors);
    one_of_if_set(source, "type", HOST_PATH_TYPES, path, errors);
}
