//! The status of a pod, as the kubelet and the scheduler report it.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, disabled, is_sidecar, update};
use crate::{
    addresses,
    checks::{Errors, IMMUTABLE, range_error, syntax_of},
    internal_form, names, object_meta,
    read::{get, has, int, list, list_mut, text},
};

const SYSTEM_CONDITIONS: &[&str] = &["PodScheduled", "Ready", "Initialized"];
const MAX_ID: i64 = i32::MAX as i64;

/// Only the status (and labels and annotations) change through this endpoint.
pub(super) fn prepare(new: &mut Value, old: &Value) {
    if let Some(spec) = old.get("spec") {
        new["spec"] = spec.clone();
    }
    if let Some(Value::Object(meta)) = new.get_mut("metadata") {
        for kept in ["deletionTimestamp", "ownerReferences"] {
            match get(old, "metadata").get(kept) {
                Some(value) => meta.insert(kept.to_owned(), value.clone()),
                None => meta.remove(kept),
            };
        }
    }
    let old_status = get(old, "status");
    crate::read::default(new, "status", json!({}));
    let Some(status) = new.get_mut("status") else {
        return;
    };
    if text(status, "qosClass").is_empty() && has(old_status, "qosClass") {
        status["qosClass"] = get(old_status, "qosClass").clone();
    }
    keep_observed_generations(status, old_status);
    disabled::drop_status(status, old_status);
}

/// Reporters that do not know generations yet must not erase them.
fn keep_observed_generations(status: &mut Value, old: &Value) {
    keep_observed_generation(status, old);
    let mut used = HashSet::new();
    for condition in list_mut(status, "conditions") {
        let before = list(old, "conditions")
            .iter()
            .enumerate()
            .find(|(i, old)| !used.contains(i) && text(old, "type") == text(condition, "type"));
        if let Some((i, before)) = before {
            used.insert(i);
            keep_observed_generation(condition, before);
        }
    }
}

fn keep_observed_generation(new: &mut Value, old: &Value) {
    let observed = |value: &Value| int(value, "observedGeneration").unwrap_or_default();
    if observed(new) == 0 && observed(old) != 0 {
        new["observedGeneration"] = json!(observed(old));
    }
}

/// Checks a changed status against what it was.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let meta_path = Path::new("metadata");
    object_meta::validate_update(get(new, "metadata"), get(old, "metadata"), &meta_path, errors);
    update::validate_annotations(new, old, Options::after_pod(old), errors);
    let path = Path::new("status");
    let (status, old_status) = (get(new, "status"), get(old, "status"));
    validate_conditions(status, &path, errors);
    validate_node(new, old, &path, errors);
    if int(status, "observedGeneration").is_some_and(|generation| generation < 0) {
        refuse_generation(status, &path, errors);
    }
    if text(status, "qosClass") != text(old_status, "qosClass") {
        let shown = json!(text(status, "qosClass"));
        errors.push(FieldError::invalid(&path.child("qosClass"), &shown, IMMUTABLE));
    }
    for key in [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ] {
        validate_transitions(status, old, key, &path, errors);
    }
    validate_claims(status, get(new, "spec"), &path, errors);
    validate_pod_ips(status, old_status, &path, errors);
    validate_host_ips(status, old_status, &path, errors);
    validate_users(status, get(new, "spec"), &path, errors);
}

fn refuse_generation(object: &Value, path: &Path, errors: &mut Errors) {
    let detail = "must be a non-negative integer";
    let path = path.child("observedGeneration");
    errors.push(FieldError::invalid(
        &path,
        get(object, "observedGeneration"),
        detail,
    ));
}

fn validate_conditions(status: &Value, path: &Path, errors: &mut Errors) {
    for (i, condition) in list(status, "conditions").iter().enumerate() {
        let path = path.child("conditions").index(i);
        if int(condition, "observedGeneration").is_some_and(|generation| generation < 0) {
            refuse_generation(condition, &path, errors);
        }
        let kind = text(condition, "type");
        if !SYSTEM_CONDITIONS.contains(&kind) {
            syntax_of(kind, names::qualified_name, &path.child("Type"), errors);
        }
    }
}

fn validate_node(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    if text(get(new, "spec"), "nodeName") != text(get(old, "spec"), "nodeName") {
        errors.push(FieldError::forbidden(
            &path.child("nodeName"),
            "may not be changed directly",
        ));
    }
    let nominated = text(get(new, "status"), "nominatedNodeName");
    if !nominated.is_empty() && nominated != text(get(old, "status"), "nominatedNodeName") {
        syntax_of(
            nominated,
            names::dns_subdomain,
            &path.child("nominatedNodeName"),
            errors,
        );
    }
}

/// A container that ended for good does not come back.
fn validate_transitions(status: &Value, old: &Value, key: &str, path: &Path, errors: &mut Errors) {
    let spec = get(old, "spec");
    let policy = text(spec, "restartPolicy");
    if policy == "Always" && key != "ephemeralContainerStatuses" {
        return;
    }
    let has_ended = |container: &Value| has(get(container, "state"), "terminated");
    for (i, before) in list(get(old, "status"), key)
        .iter()
        .enumerate()
        .filter(|(_, old)| has_ended(old))
    {
        let name = text(before, "name");
        let failed = int(get(get(before, "state"), "terminated"), "exitCode").unwrap_or_default() != 0;
        let restarts = match key {
            "containerStatuses" => failed && policy == "OnFailure",
            "initContainerStatuses" => {
                let restarted = |container: &Value| text(container, "name") == name && is_sidecar(container);
                (failed && policy == "OnFailure") || list(spec, "initContainers").iter().any(restarted)
            }
            _ => false,
        };
        if restarts {
            continue;
        }
        for now in list(status, key) {
            if text(now, "name") == name && !has_ended(now) {
                let path = path.child(key).index(i).child("state");
                errors.push(FieldError::forbidden(
                    &path,
                    "may not be transitioned to non-terminated state",
                ));
            }
        }
    }
}

fn validate_claims(status: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (i, claim) in list(status, "resourceClaimStatuses").iter().enumerate() {
        let path = path.child("resourceClaimStatuses").index(i).child("name");
        let name = text(claim, "name");
        if !list(spec, "resourceClaims")
            .iter()
            .any(|claim| text(claim, "name") == name)
        {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(FieldError::invalid(&path, &json!(name), detail));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path, &json!(name)));
        }
        if let Some(name) = get(claim, "resourceClaimName").as_str() {
            syntax_of(name, names::dns_subdomain, &path, errors);
        }
    }
}

fn ips<'a>(status: &'a Value, key: &str) -> Vec<&'a str> {
    list(status, key).iter().map(|item| text(item, "ip")).collect()
}

fn validate_pod_ips(status: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    validate_ips(status, old, "podIPs", "[]PodIP", path, errors);
}

fn validate_host_ips(status: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    if let Some(first) = ips(status, "hostIPs").first()
        && *first != text(status, "hostIP")
    {
        let path = path.child("hostIPs").index(0).child("ip");
        errors.push(FieldError::invalid(
            &path,
            &json!(first),
            "must be equal to `hostIP`",
        ));
    }
    validate_ips(status, old, "hostIPs", "[]HostIP", path, errors);
}

fn validate_ips(status: &Value, old: &Value, key: &str, kind: &str, path: &Path, errors: &mut Errors) {
    let (now, before) = (ips(status, key), ips(old, key));
    let path = path.child(key);
    for (i, ip) in now.iter().enumerate().filter(|(_, ip)| !before.contains(ip)) {
        addresses::validate(ip, &path.index(i), errors);
    }
    if now.len() < 2 {
        return;
    }
    let families: Vec<bool> = now
        .iter()
        .filter_map(|ip| addresses::parse(ip))
        .map(|ip| ip.is_ipv6())
        .collect();
    if let Some(wrong) = now.iter().position(|ip| addresses::parse(ip).is_none()) {
        let ip = now[wrong];
        let detail = format!("failed to check for dual stack with error:invalid IP[{wrong}]: {ip}");
        errors.push(FieldError::internal(&path, detail));
    }
    let is_dual = families.len() == now.len() && families.contains(&true) && families.contains(&false);
    if !is_dual || now.len() > 2 {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(internal_form::invalid(&path, get(status, key), kind, detail));
    }
}

fn validate_users(status: &Value, spec: &Value, path: &Path, errors: &mut Errors) {
    let on_windows = text(get(spec, "os"), "name") == "windows";
    for key in [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ] {
        for (i, container) in list(status, key).iter().enumerate() {
            let user = get(get(container, "user"), "linux");
            if user.is_null() {
                continue;
            }
            let path = path.child(key).index(i).child("user").child("linux");
            if on_windows {
                errors.push(FieldError::forbidden(&path, "cannot be set for a windows pod"));
                continue;
            }
            let groups = list(user, "supplementalGroups").iter().enumerate();
            let ids = ["uid", "gid"]
                .into_iter()
                .map(|key| (path.child(key), int(user, key).unwrap_or_default()))
                .chain(groups.map(|(i, group)| {
                    (
                        path.child("supplementalGroups").index(i),
                        group.as_i64().unwrap_or_default(),
                    )
                }));
            for (path, id) in ids.filter(|(_, id)| !(0..=MAX_ID).contains(id)) {
                errors.push(FieldError::invalid(&path, &json!(id), range_error(0, MAX_ID)));
            }
        }
    }
}
