//! Volumes made of entries: Secrets, ConfigMaps, and fields of the pod itself.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{super::Options, paths::validate_local};
use crate::{
    checks::{Errors, require},
    pods::env,
    read::{get, has, int, list, text},
};

const MODE_RULE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

pub(super) fn validate_secret(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "secretName", path, errors);
    validate_items(source, path, errors);
}

pub(super) fn validate_config_map(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "name", path, errors);
    validate_items(source, path, errors);
}

fn validate_items(source: &Value, path: &Path, errors: &mut Errors) {
    validate_mode(source, "defaultMode", path, errors);
    for (i, item) in list(source, "items").iter().enumerate() {
        validate_item(item, &path.child("items").index(i), errors);
    }
}

/// Checks an entry and the file it becomes.
pub(super) fn validate_item(item: &Value, path: &Path, errors: &mut Errors) {
    require(item, "key", path, errors);
    require(item, "path", path, errors);
    validate_local(text(item, "path"), &path.child("path"), errors);
    validate_mode(item, "mode", path, errors);
}

/// Checks the permissions of a file.
pub(super) fn validate_mode(object: &Value, key: &str, path: &Path, errors: &mut Errors) {
    if let Some(mode) = int(object, key).filter(|mode| !(0..=0o777).contains(mode)) {
        errors.push(FieldError::invalid(&path.child(key), &json!(mode), MODE_RULE));
    }
}

/// The real server names the list, not the item, in complaints about files.
pub(super) fn validate_downward_api(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    validate_mode(source, "defaultMode", path, errors);
    for file in list(source, "items") {
        validate_downward_api_file(file, path, errors);
    }
}

pub(super) fn validate_downward_api_file(file: &Value, path: &Path, errors: &mut Errors) {
    require(file, "path", path, errors);
    validate_local(text(file, "path"), &path.child("path"), errors);
    if has(file, "fieldRef") {
        env::validate_field(
            get(file, "fieldRef"),
            env::FILE_FIELDS,
            &path.child("fieldRef"),
            errors,
        );
        if has(file, "resourceFieldRef") {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.push(FieldError::invalid(path, &json!("resource"), detail));
        }
    } else if has(file, "resourceFieldRef") {
        let path = path.child("resourceFieldRef");
        env::validate_resource(get(file, "resourceFieldRef"), true, &path, errors);
    } else {
        errors.push(FieldError::required(
            path,
            "one of fieldRef and resourceFieldRef is required",
        ));
    }
    validate_mode(file, "mode", path, errors);
}
