//! Where a container sees the volumes of its pod: as files or as block devices.

use std::collections::{HashMap, HashSet};

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::volumes::paths;
use crate::{
    checks::{Errors, require},
    read::{at, flag, get, has, list, text},
    volume_sources::has_backstep,
};

/// The usable volumes of a pod by name.
pub(super) type Volumes<'a> = HashMap<&'a str, &'a Value>;

/// Checks `volumeMounts` and `volumeDevices` of one container; `path` is the container's.
pub(super) fn validate(container: &Value, volumes: &Volumes<'_>, path: &Path, errors: &mut Errors) {
    let mounts = list(container, "volumeMounts");
    let devices = list(container, "volumeDevices");
    if !mounts.is_empty() {
        validate_mounts(
            container,
            mounts,
            devices,
            volumes,
            &path.child("volumeMounts"),
            errors,
        );
    }
    if !devices.is_empty() {
        validate_devices(devices, mounts, volumes, &path.child("volumeDevices"), errors);
    }
}

fn validate_mounts(
    container: &Value,
    mounts: &[Value],
    devices: &[Value],
    volumes: &Volumes<'_>,
    list_path: &Path,
    errors: &mut Errors,
) {
    let mut taken = HashSet::new();
    for (i, mount) in mounts.iter().enumerate() {
        let path = list_path.index(i);
        let (name, mount_path) = (text(mount, "name"), text(mount, "mountPath"));
        require(mount, "name", &path, errors);
        if !volumes.contains_key(name) {
            errors.push(FieldError::not_found(&path.child("name"), &json!(name)));
        }
        require(mount, "mountPath", &path, errors);
        let mut refuse = |key: &str, value: &str, detail: &str| {
            errors.push(FieldError::invalid(&path.child(key), &json!(value), detail));
        };
        if !taken.insert(mount_path) {
            refuse("mountPath", mount_path, "must be unique");
        }
        if devices.iter().any(|device| text(device, "name") == name) {
            refuse("name", name, "must not already exist in volumeDevices");
        }
        if devices
            .iter()
            .any(|device| text(device, "devicePath") == mount_path)
        {
            refuse(
                "mountPath",
                mount_path,
                "must not already exist as a path in volumeDevices",
            );
        }
        validate_sub_paths(mount, list_path, &path, errors);
        validate_propagation(mount, container, list_path, errors);
        validate_recursive_read_only(mount, list_path, errors);
    }
}

/// The real server names the list, not the item, in these complaints.
fn validate_sub_paths(mount: &Value, list_path: &Path, path: &Path, errors: &mut Errors) {
    let (sub_path, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !sub_path.is_empty() {
        paths::validate_descending(sub_path, &list_path.child("subPath"), errors);
    }
    if !expression.is_empty() {
        if !sub_path.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.push(FieldError::invalid(
                &path.child("subPathExpr"),
                &json!(expression),
                detail,
            ));
        }
        paths::validate_descending(expression, &list_path.child("subPathExpr"), errors);
    }
}

fn validate_propagation(mount: &Value, container: &Value, list_path: &Path, errors: &mut Errors) {
    if !has(mount, "mountPropagation") {
        return;
    }
    let path = list_path.child("mountPropagation");
    let mode = text(mount, "mountPropagation");
    let modes = ["Bidirectional", "HostToContainer", "None"];
    if !modes.contains(&mode) {
        errors.push(FieldError::not_supported(&path, &json!(mode), &modes));
    }
    if mode == "Bidirectional" && !flag(get(container, "securityContext"), "privileged") {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(&path, detail));
    }
}

fn validate_recursive_read_only(mount: &Value, list_path: &Path, errors: &mut Errors) {
    if !has(mount, "recursiveReadOnly") {
        return;
    }
    let path = list_path.child("recursiveReadOnly");
    match text(mount, "recursiveReadOnly") {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !flag(mount, "readOnly") {
                errors.push(FieldError::forbidden(
                    &path,
                    "may only be specified when readOnly is true",
                ));
            }
            if has(mount, "mountPropagation") && text(mount, "mountPropagation") != "None" {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(&path, detail));
            }
        }
        other => {
            let modes = ["Disabled", "Enabled", "IfPossible"];
            errors.push(FieldError::not_supported(&path, &json!(other), &modes));
        }
    }
}

fn validate_devices(
    devices: &[Value],
    mounts: &[Value],
    volumes: &Volumes<'_>,
    list_path: &Path,
    errors: &mut Errors,
) {
    let (mut names, mut device_paths) = (HashSet::new(), HashSet::new());
    for (i, device) in devices.iter().enumerate() {
        let path = list_path.index(i);
        let (name, device_path) = (text(device, "name"), text(device, "devicePath"));
        require(device, "name", &path, errors);
        let refuse = |errors: &mut Errors, key: &str, value: &str, detail: &str| {
            errors.push(FieldError::invalid(&path.child(key), &json!(value), detail));
        };
        if !name.is_empty() && !names.insert(name) {
            refuse(errors, "name", name, "must be unique");
        }
        match volumes.get(name) {
            None => errors.push(FieldError::not_found(&path.child("name"), &json!(name))),
            Some(volume) if has(volume, "persistentVolumeClaim") || has(volume, "ephemeral") => {}
            Some(_) => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                refuse(errors, "name", name, detail);
            }
        }
        require(device, "devicePath", &path, errors);
        if device_paths.contains(device_path) {
            refuse(errors, "devicePath", device_path, "must be unique");
        }
        if has_backstep(device_path) {
            refuse(
                errors,
                "devicePath",
                device_path,
                "can not contain backsteps ('..')",
            );
        } else {
            device_paths.insert(device_path);
        }
        if mounts.iter().any(|mount| text(mount, "name") == name) {
            refuse(errors, "name", name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| text(mount, "mountPath") == device_path) {
            refuse(
                errors,
                "devicePath",
                device_path,
                "must not already exist as a path in volumeMounts",
            );
        }
    }
}

/// Ephemeral containers see whole volumes only.
pub(super) fn validate_no_sub_paths(container: &Value, path: &Path, errors: &mut Errors) {
    for (i, mount) in list(container, "volumeMounts").iter().enumerate() {
        for key in ["subPath", "subPathExpr"] {
            if !at(mount, &[key]).as_str().unwrap_or_default().is_empty() {
                let path = path.child("volumeMounts").index(i).child(key);
                errors.push(FieldError::forbidden(
                    &path,
                    "cannot be set for an Ephemeral Container",
                ));
            }
        }
    }
}
