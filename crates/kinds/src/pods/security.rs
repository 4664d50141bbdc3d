//! Security contexts of pods and containers.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, all_containers, syntax, volumes::paths, windows};
use crate::{
    checks::{Errors, one_of_if_set, range_error},
    internal_form,
    read::{flag, get, has, int, list, text},
};

const MAX_ID: i64 = i32::MAX as i64;
const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const SYSCTL_RULE: &str = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const PATH_LIMIT: usize = 4095;

/// Checks the security context of a pod; `path` is the context's.
pub(super) fn validate_pod(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let context = get(spec, "securityContext");
    for key in ["fsGroup", "runAsUser", "runAsGroup"] {
        validate_id(context, key, path, errors);
    }
    for (i, group) in list(context, "supplementalGroups").iter().enumerate() {
        let group = group.as_i64().unwrap_or_default();
        if !(0..=MAX_ID).contains(&group) {
            let path = path.child("supplementalGroups").index(i);
            errors.push(FieldError::invalid(&path, &json!(group), range_error(0, MAX_ID)));
        }
    }
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(
            &path.child("shareProcessNamespace"),
            &json!(true),
            detail,
        ));
    }
    validate_sysctls(spec, options, path, errors);
    one_of_if_set(
        context,
        "fsGroupChangePolicy",
        &["Always", "OnRootMismatch"],
        path,
        errors,
    );
    validate_seccomp(context, path, errors);
    windows::validate_options(context, path, errors);
    validate_app_armor(
        get(context, "appArmorProfile"),
        || path.child("appArmorProfile"),
        errors,
    );
    one_of_if_set(
        context,
        "supplementalGroupsPolicy",
        &["Merge", "Strict"],
        path,
        errors,
    );
    let policies: &[&str] = if options.allow_any_selinux_change_policy {
        &["MountOption", "Recursive"]
    } else {
        &["Recursive"]
    };
    one_of_if_set(context, "seLinuxChangePolicy", policies, path, errors);
}

/// Checks the security context of a container; `path` is the container's.
pub(super) fn validate_container(container: &Value, host_users: bool, path: &Path, errors: &mut Errors) {
    let context = get(container, "securityContext");
    if context.is_null() {
        return;
    }
    let path = path.child("securityContext");
    validate_id(context, "runAsUser", &path, errors);
    validate_id(context, "runAsGroup", &path, errors);
    one_of_if_set(context, "procMount", &["Default", "Unmasked"], &path, errors);
    if host_users && text(context, "procMount") == "Unmasked" {
        let detail = "`hostUsers` must be false to use `Unmasked`";
        errors.push(FieldError::invalid(
            &path.child("procMount"),
            &json!("Unmasked"),
            detail,
        ));
    }
    validate_seccomp(context, &path, errors);
    if has(context, "allowPrivilegeEscalation") && !flag(context, "allowPrivilegeEscalation") {
        let mut refuse = |what: &str| {
            let detail = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            errors.push(internal_form::invalid(&path, context, "SecurityContext", detail));
        };
        if flag(context, "privileged") {
            refuse("`privileged` to true");
        }
        for _ in list(get(context, "capabilities"), "add")
            .iter()
            .filter(|added| **added == "CAP_SYS_ADMIN")
        {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    windows::validate_options(context, &path, errors);
    validate_app_armor(
        get(context, "appArmorProfile"),
        || path.child("appArmorProfile"),
        errors,
    );
}

fn validate_id(context: &Value, key: &str, path: &Path, errors: &mut Errors) {
    if let Some(id) = int(context, key).filter(|id| !(0..=MAX_ID).contains(id)) {
        errors.push(FieldError::invalid(
            &path.child(key),
            &json!(id),
            range_error(0, MAX_ID),
        ));
    }
}

fn validate_sysctls(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (i, sysctl) in list(get(spec, "securityContext"), "sysctls").iter().enumerate() {
        let name = text(sysctl, "name");
        let path = path.child("sysctls").index(i).child("name");
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if !syntax::is_sysctl_name(name) {
            errors.push(FieldError::invalid(&path, &json!(name), SYSCTL_RULE));
        } else if names.contains(name) {
            errors.push(FieldError::duplicate(&path, &json!(name)));
        }
        if let Some(namespace) = shared_namespace(name, spec).filter(|_| !options.allow_host_sysctls) {
            let detail = format!("may not be specified when '{namespace}' is true");
            errors.push(FieldError::invalid(&path, &json!(name), detail));
        }
        names.insert(name);
    }
}

/// The namespace of the host that a kernel parameter would change, if the pod lives in it.
fn shared_namespace(sysctl: &str, spec: &Value) -> Option<&'static str> {
    const OF_IPC: &[&str] = &[
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.shm",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.msg",
    ];
    let name = normal_sysctl(sysctl);
    let name = name.split('*').next().unwrap_or_default();
    let namespace = if OF_IPC.contains(&name) || name.starts_with("fs.mqueue.") {
        "hostIPC"
    } else if name.starts_with("net.") {
        "hostNetwork"
    } else {
        return None;
    };
    flag(spec, namespace).then_some(namespace)
}

/// Names may be written with slashes; dots and slashes then change places.
fn normal_sysctl(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(first) if name[first..].starts_with('/') => name
            .chars()
            .map(|c| match c {
                '/' => '.',
                '.' => '/',
                c => c,
            })
            .collect(),
        _ => name.to_owned(),
    }
}

/// Whether a pod already changes kernel parameters of the host.
pub(super) fn has_host_sysctl(spec: &Value) -> bool {
    list(get(spec, "securityContext"), "sysctls")
        .iter()
        .any(|sysctl| shared_namespace(text(sysctl, "name"), spec).is_some())
}

fn validate_seccomp(context: &Value, path: &Path, errors: &mut Errors) {
    let profile = get(context, "seccompProfile");
    if profile.is_null() {
        return;
    }
    let path = path.child("seccompProfile");
    let kind = text(profile, "type");
    if kind.is_empty() {
        let detail = "type is required when seccompProfile is set";
        errors.push(FieldError::required(&path.child("type"), detail));
    } else if !PROFILE_TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(
            &path.child("type"),
            &json!(kind),
            PROFILE_TYPES,
        ));
    }
    let file = get(profile, "localhostProfile");
    let path = path.child("localhostProfile");
    match (kind, file.as_str()) {
        ("Localhost", None) => {
            errors.push(FieldError::required(
                &path,
                "must be set when seccomp type is Localhost",
            ));
        }
        ("Localhost", Some(file)) => paths::validate_descending(file, &path, errors),
        (_, Some(_)) => {
            let detail = "can only be set when seccomp type is Localhost";
            errors.push(internal_form::invalid(&path, profile, "SeccompProfile", detail));
        }
        (_, None) => {}
    }
}

/// Checks an AppArmor profile; a missing one is fine.
pub(super) fn validate_app_armor(profile: &Value, path: impl Fn() -> Path, errors: &mut Errors) {
    if profile.is_null() {
        return;
    }
    let file = get(profile, "localhostProfile").as_str();
    let file_path = || path().child("localhostProfile");
    match text(profile, "type") {
        "Localhost" => {
            let needed = "must be set when AppArmor type is Localhost";
            match file {
                None | Some("") => errors.push(FieldError::required(&file_path(), needed)),
                Some(file) if file.trim() != file => errors.push(FieldError::invalid(
                    &file_path(),
                    &json!(file),
                    "must not be padded with whitespace",
                )),
                Some(_) => {}
            }
            if file.is_some_and(|file| file.len() > PATH_LIMIT) {
                errors.push(FieldError::too_long(&file_path(), PATH_LIMIT));
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if let Some(file) = file {
                let detail = "can only be set when AppArmor type is Localhost";
                errors.push(FieldError::invalid(&file_path(), &json!(file), detail));
            }
        }
        "" => {
            let detail = "type is required when appArmorProfile is set";
            errors.push(FieldError::required(&path().child("type"), detail));
        }
        other => {
            errors.push(FieldError::not_supported(
                &path().child("type"),
                &json!(other),
                PROFILE_TYPES,
            ));
        }
    }
}

/// A pod with users of its own cannot also share namespaces or devices of the host.
pub(super) fn validate_host_users(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    if !has(spec, "hostUsers") || flag(spec, "hostUsers") {
        return;
    }
    let detail = "when `hostUsers` is false";
    // The odd capitals are the real server's.
    for (key, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if flag(spec, key) {
            errors.push(FieldError::forbidden(&path.child(shown), detail));
        }
    }
    if !options.allow_user_namespace_devices && all_containers(spec).next().is_some() {
        super::visit_containers(spec, path, |container, path| {
            if !list(container, "volumeDevices").is_empty() {
                errors.push(FieldError::forbidden(&path().child("volumeDevices"), detail));
            }
        });
    }
}
