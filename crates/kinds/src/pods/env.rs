//! Environment variables and where their values come from.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::syntax;
use crate::{
    checks::{Errors, require, require_syntax, syntax_of},
    names,
    object_meta::completed,
    quantity::Quantity,
    read::{get, has, list, text},
};

/// Pod fields a variable may take its value from.
const VARIABLE_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Pod fields a file of a volume may show.
pub(super) const FILE_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// All pod fields that can be named at all.
const KNOWN_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    "spec.host",
];

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Checks `env` and `envFrom` of one container; `path` is the container's.
pub(super) fn validate(container: &Value, path: &Path, errors: &mut Errors) {
    for (i, variable) in list(container, "env").iter().enumerate() {
        let has_source = has(variable, "valueFrom");
        // Most variables are plain and fine, and pods have many.
        if !has_source && syntax::variable_name(text(variable, "name")).is_empty() {
            continue;
        }
        let path = path.child("env").index(i);
        require_syntax(variable, "name", syntax::variable_name, &path, errors);
        if has_source {
            validate_source(variable, &path.child("valueFrom"), errors);
        }
    }
    for (i, source) in list(container, "envFrom").iter().enumerate() {
        let list_path = path.child("envFrom");
        validate_bulk_source(source, &list_path, &list_path.index(i), errors);
    }
}

fn validate_source(variable: &Value, path: &Path, errors: &mut Errors) {
    let source = get(variable, "valueFrom");
    let mut count = 0;
    for key in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"] {
        let reference = get(source, key);
        if reference.is_null() {
            continue;
        }
        count += 1;
        let path = path.child(key);
        match key {
            "fieldRef" => validate_field(reference, VARIABLE_FIELDS, &path, errors),
            "resourceFieldRef" => validate_resource(reference, false, &path, errors),
            _ => validate_key(reference, &path, errors),
        }
    }
    let detail = match count {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        _ if !text(variable, "value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, &json!(""), detail));
}

fn validate_bulk_source(source: &Value, from_path: &Path, path: &Path, errors: &mut Errors) {
    if !text(source, "prefix").is_empty() {
        crate::checks::syntax(source, "prefix", syntax::variable_name, path, errors);
    }
    let mut count = 0;
    for key in ["configMapRef", "secretRef"] {
        let reference = get(source, key);
        if reference.is_null() {
            continue;
        }
        count += 1;
        let path = path.child(key);
        if require(reference, "name", &path, errors) {
            let name = text(reference, "name");
            for message in names::dns_subdomain(&completed(name)) {
                errors.push(FieldError::invalid(&path.child("name"), &json!(name), message));
            }
        }
    }
    let detail = match count {
        0 => "must specify one of: `configMapRef` or `secretRef`",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(from_path, &json!(""), detail));
}

/// Checks a reference to a field of the pod itself.
pub(super) fn validate_field(field: &Value, allowed: &[&str], path: &Path, errors: &mut Errors) {
    if !require(field, "apiVersion", path, errors) || !require(field, "fieldPath", path, errors) {
        return;
    }
    let field_path = text(field, "fieldPath");
    let mut refuse = |reason: String| {
        let detail = format!("error converting fieldPath: {reason}");
        errors.push(FieldError::invalid(
            &path.child("fieldPath"),
            &json!(field_path),
            detail,
        ));
    };
    if text(field, "apiVersion") != "v1" {
        return refuse(format!("unsupported pod version: {}", text(field, "apiVersion")));
    }
    match subscripted(field_path) {
        Some(("metadata.annotations", key)) => {
            syntax_of(&key.to_lowercase(), names::qualified_name, path, errors);
        }
        Some(("metadata.labels", key)) => syntax_of(key, names::qualified_name, path, errors),
        Some(_) => refuse(format!("field label does not support subscript: {field_path}")),
        None if !KNOWN_FIELDS.contains(&field_path) => {
            refuse(format!("field label not supported: {field_path}"));
        }
        None => {
            // `spec.host` is the old name of `spec.nodeName`.
            let name = if field_path == "spec.host" {
                "spec.nodeName"
            } else {
                field_path
            };
            if !allowed.contains(&name) {
                errors.push(FieldError::not_supported(
                    &path.child("fieldPath"),
                    &json!(name),
                    allowed,
                ));
            }
        }
    }
}

/// Splits `metadata.labels['key']` into the field and the key.
fn subscripted(field_path: &str) -> Option<(&str, &str)> {
    let (field, key) = field_path.strip_suffix("']")?.split_once("['")?;
    (!field.is_empty()).then_some((field, key))
}

/// Checks a reference to an amount of a container's resources.
pub(super) fn validate_resource(field: &Value, in_volume: bool, path: &Path, errors: &mut Errors) {
    let resource = text(field, "resource");
    let of_huge_pages =
        resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if in_volume && text(field, "containerName").is_empty() {
        errors.push(FieldError::required(&path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(&path.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !of_huge_pages {
        errors.push(FieldError::not_supported(
            &path.child("resource"),
            &json!(resource),
            RESOURCES,
        ));
    }
    validate_divisor(resource, of_huge_pages, text(field, "divisor"), path, errors);
}

fn validate_divisor(resource: &str, of_huge_pages: bool, divisor: &str, path: &Path, errors: &mut Errors) {
    const BYTES: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let divisor = Quantity::parse(divisor).unwrap_or(Quantity::ZERO);
    if divisor.is_zero() {
        return;
    }
    let (allowed, name) = match resource {
        "limits.cpu" | "requests.cpu" => ("1m and 1", "cpu"),
        "limits.memory" | "requests.memory" => (BYTES, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (BYTES, "local ephemeral storage"),
        _ if of_huge_pages => (BYTES, "hugepages"),
        _ => return,
    };
    let divisor = divisor.to_string();
    if !allowed.split([',', ' ']).any(|choice| choice == divisor) {
        let detail = format!("only divisor's values {allowed} are supported with the {name} resource");
        errors.push(FieldError::invalid(
            &path.child("divisor"),
            &json!(resource),
            detail,
        ));
    }
}

/// Checks a reference to one entry of a ConfigMap or Secret.
fn validate_key(reference: &Value, path: &Path, errors: &mut Errors) {
    crate::checks::syntax(reference, "name", names::dns_subdomain, path, errors);
    require_syntax(reference, "key", crate::syntax::config_key, path, errors);
}
