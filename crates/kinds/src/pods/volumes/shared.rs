//! File systems over the network and drivers for them.

use manifests::field::Path;
use serde_json::Value;

use super::{super::Options, paths::validate_descending};
use crate::{
    checks::{Errors, optional_syntax, require, require_syntax},
    field::Field,
    names,
    objects::csi,
    read::{get, has, text},
};

pub(super) fn validate_git_repo(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "repository", path, errors);
    validate_descending(text(source, "directory"), &path.child("directory"), errors);
}

pub(super) fn validate_cinder(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "volumeID", path, errors);
    validate_secret(source, path, errors);
}

fn validate_secret(source: &Value, path: &Path, errors: &mut Errors) {
    if has(source, "secretRef") {
        require(get(source, "secretRef"), "name", &path.child("secretRef"), errors);
    }
}

pub(super) fn validate_storage_os(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require_syntax(source, "volumeName", names::dns_label, path, errors);
    optional_syntax(source, "volumeNamespace", names::dns_label, path, errors);
    validate_secret(source, path, errors);
}

pub(super) fn validate_csi(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    csi::validate_driver_name(&Field::at(get(source, "driver"), &path.child("driver")), errors);
    let secret = get(source, "nodePublishSecretRef");
    if !secret.is_null() && require(secret, "name", &path.child("nodePublishSecretRef"), errors) {
        // The real server leaves the reference out of the path.
        crate::checks::syntax(secret, "name", names::dns_subdomain, path, errors);
    }
}
