//! File systems over the network and drivers for them.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{super::Options, paths::validate_descending};
use crate::{
    checks::{Errors, optional_syntax, require, require_syntax},
    names,
    read::{entries, get, has, list, text},
};

pub(super) fn validate_git_repo(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "repository", path, errors);
    validate_descending(text(source, "directory"), &path.child("directory"), errors);
}

pub(super) fn validate_nfs(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "server", path, errors);
    require(source, "path", path, errors);
    let target = text(source, "path");
    if !target.starts_with('/') {
        errors.push(FieldError::invalid(
            &path.child("path"),
            &json!(target),
            "must be an absolute path",
        ));
    }
}

pub(super) fn validate_flocker(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    let name = text(source, "datasetName");
    let has_id = !text(source, "datasetUUID").is_empty();
    if name.is_empty() && !has_id {
        errors.push(FieldError::required(
            path,
            "one of datasetName and datasetUUID is required",
        ));
    }
    if !name.is_empty() && has_id {
        let detail = "datasetName and datasetUUID can not be specified simultaneously";
        errors.push(FieldError::invalid(path, &json!("resource"), detail));
    }
    if name.contains('/') {
        errors.push(FieldError::invalid(
            &path.child("datasetName"),
            &json!(name),
            "must not contain '/'",
        ));
    }
}

pub(super) fn validate_rbd(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    validate_monitors(source, path, errors);
    require(source, "image", path, errors);
}

pub(super) fn validate_cephfs(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    validate_monitors(source, path, errors);
}

fn validate_monitors(source: &Value, path: &Path, errors: &mut Errors) {
    if list(source, "monitors").is_empty() {
        errors.push(FieldError::required(&path.child("monitors"), ""));
    }
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

pub(super) fn validate_quobyte(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = text(source, "registry");
    if registry.is_empty() {
        errors.push(FieldError::required(&path.child("registry"), PAIRS));
    } else if text(source, "tenant").len() >= 65 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(&path.child("tenant"), detail));
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            errors.push(FieldError::invalid(
                &path.child("registry"),
                &json!(registry),
                PAIRS,
            ));
        }
    }
    require(source, "volume", path, errors);
}

fn is_host_and_port(pair: &str) -> bool {
    match pair.rsplit_once(':') {
        Some((host, _)) if host.starts_with('[') => host.ends_with(']'),
        Some((host, _)) => !host.contains([':', '[', ']']),
        None => false,
    }
}

pub(super) fn validate_flex(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require(source, "driver", path, errors);
    for (key, _) in entries(source, "options") {
        let namespace = key.split('/').next().unwrap_or_default().to_lowercase();
        let reserved = ["kubernetes.io", "k8s.io"]
            .iter()
            .any(|domain| namespace == *domain || namespace.ends_with(&format!(".{domain}")));
        if reserved {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(
                &path.child("options").key(key),
                &json!(key),
                detail,
            ));
        }
    }
}

pub(super) fn validate_storage_os(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    require_syntax(source, "volumeName", names::dns_label, path, errors);
    optional_syntax(source, "volumeNamespace", names::dns_label, path, errors);
    validate_secret(source, path, errors);
}

pub(super) fn validate_csi(source: &Value, _: Options, path: &Path, errors: &mut Errors) {
    let driver = text(source, "driver");
    require(source, "driver", path, errors);
    if driver.len() > 63 {
        errors.push(FieldError::too_long(&path.child("driver"), 63));
    }
    for message in names::dns_subdomain(&driver.to_lowercase()) {
        errors.push(FieldError::invalid(
            &path.child("driver"),
            &json!(driver),
            message,
        ));
    }
    let secret = get(source, "nodePublishSecretRef");
    if !secret.is_null() && require(secret, "name", &path.child("nodePublishSecretRef"), errors) {
        // The real server leaves the reference out of the path.
        crate::checks::syntax(secret, "name", names::dns_subdomain, path, errors);
    }
}
