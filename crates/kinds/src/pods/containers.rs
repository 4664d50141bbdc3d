//! Containers: the ones that do the work, the ones that run before, and the ones added to look inside.

use std::collections::{BTreeSet, HashSet};

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, env, is_sidecar, mounts, mounts::Volumes, ports, probes, resources, security};
use crate::{
    checks::{Errors, one_of, require, require_syntax, same},
    names,
    read::{get, has, int, list, text},
};

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES: &[&str] = &["File", "FallbackToLogsOnError"];

/// What containers can refer to in their pod.
pub(super) struct Surroundings<'a> {
    pub(super) spec: &'a Value,
    pub(super) volumes: Volumes<'a>,
    pub(super) claims: BTreeSet<&'a str>,
    pub(super) options: Options,
}

impl Surroundings<'_> {
    fn grace_period(&self) -> Option<i64> {
        int(self.spec, "terminationGracePeriodSeconds")
    }

    fn has_host_users(&self) -> bool {
        get(self.spec, "hostUsers").as_bool().unwrap_or(true)
    }
}

/// Checks the containers that do the work; `path` is that of the spec.
pub(super) fn validate(pod: &Surroundings<'_>, path: &Path, errors: &mut Errors) {
    let containers = list(pod.spec, "containers");
    let list_path = path.child("containers");
    if containers.is_empty() {
        errors.push(FieldError::required(&list_path, ""));
        return;
    }
    let mut taken = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        let path = list_path.index(i);
        validate_one(container, pod, &path, errors);
        if !taken.insert(text(container, "name")) {
            refuse_name(container, &path, errors);
        }
        probes::validate_lifecycle(container, pod.grace_period(), &path, errors);
        probes::validate(container, pod.grace_period(), &path, errors);
        if has(container, "restartPolicy") {
            let detail = "may not be set for non-init containers";
            errors.push(FieldError::forbidden(&path.child("restartPolicy"), detail));
        }
    }
    ports::validate_host_ports(containers, &list_path, errors);
}

/// Checks the containers that run before; `path` is that of the spec.
pub(super) fn validate_init(pod: &Surroundings<'_>, path: &Path, errors: &mut Errors) {
    let list_path = path.child("initContainers");
    let mut taken: HashSet<&str> = names_of(list(pod.spec, "containers")).collect();
    for (i, container) in list(pod.spec, "initContainers").iter().enumerate() {
        let path = list_path.index(i);
        validate_one(container, pod, &path, errors);
        let policy = get(container, "restartPolicy");
        if !policy.is_null() && *policy != "Always" {
            errors.push(FieldError::not_supported(
                &path.child("restartPolicy"),
                policy,
                &["Always"],
            ));
        }
        let name = text(container, "name");
        if taken.contains(name) {
            refuse_name(container, &path, errors);
        } else if !name.is_empty() {
            taken.insert(name);
        }
        // The real server counts the containers of this list from zero each time.
        ports::validate_host_ports(std::slice::from_ref(container), &list_path, errors);
        if is_sidecar(container) {
            probes::validate_lifecycle(container, pod.grace_period(), &path, errors);
            probes::validate(container, pod.grace_period(), &path, errors);
        } else {
            forbid_running_parts(container, &path, errors);
        }
    }
}

/// A container that ends before the others start has nothing to probe.
fn forbid_running_parts(container: &Value, path: &Path, errors: &mut Errors) {
    for key in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if has(container, key) {
            let detail = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(&path.child(key), detail));
        }
    }
}

/// Checks the containers added to look inside; `path` is that of the spec.
pub(super) fn validate_ephemeral(pod: &Surroundings<'_>, path: &Path, errors: &mut Errors) {
    let containers = list(pod.spec, "ephemeralContainers");
    let others = ["containers", "initContainers"];
    let targets: HashSet<&str> = others
        .iter()
        .flat_map(|key| names_of(list(pod.spec, key)))
        .collect();
    let mut taken = targets.clone();
    for (i, container) in containers.iter().enumerate() {
        let path = path.child("ephemeralContainers").index(i);
        validate_one(container, pod, &path, errors);
        validate_image_padding(container, &path, errors);
        if !taken.insert(text(container, "name")) {
            refuse_name(container, &path, errors);
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !targets.contains(target) {
            errors.push(FieldError::not_found(
                &path.child("targetContainerName"),
                &json!(target),
            ));
        }
        for key in [
            "ports",
            "resources",
            "resizePolicy",
            "restartPolicy",
            "restartPolicyRules",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            let is_set = if key == "resources" || !has(container, key) {
                !same(get(container, key), &Value::Null)
            } else {
                true
            };
            if is_set {
                let detail = "cannot be set for an Ephemeral Container";
                errors.push(FieldError::forbidden(&path.child(key), detail));
            }
        }
        mounts::validate_no_sub_paths(container, &path, errors);
    }
}

fn names_of(containers: &[Value]) -> impl Iterator<Item = &str> {
    containers.iter().map(|container| text(container, "name"))
}

fn refuse_name(container: &Value, path: &Path, errors: &mut Errors) {
    errors.push(FieldError::duplicate(
        &path.child("name"),
        &json!(text(container, "name")),
    ));
}

/// Checks what all containers have in common.
fn validate_one(container: &Value, pod: &Surroundings<'_>, path: &Path, errors: &mut Errors) {
    require_syntax(container, "name", names::dns_label, path, errors);
    require(container, "image", path, errors);
    one_of(
        container,
        "terminationMessagePolicy",
        MESSAGE_POLICIES,
        path,
        errors,
    );
    ports::validate(container, path, errors);
    env::validate(container, path, errors);
    mounts::validate(container, &pod.volumes, path, errors);
    validate_pull_policy(container, "imagePullPolicy", path, errors);
    if has(container, "resources") {
        let path = path.child("resources");
        resources::validate(
            get(container, "resources"),
            &pod.claims,
            pod.options,
            &path,
            errors,
        );
    }
    validate_resize_policies(container, text(pod.spec, "restartPolicy"), path, errors);
    security::validate_container(container, pod.has_host_users(), path, errors);
}

/// When an image is pulled: one of three words.
pub(super) fn validate_pull_policy(object: &Value, key: &str, path: &Path, errors: &mut Errors) {
    one_of(object, key, PULL_POLICIES, path, errors);
}

/// The real server names the list, not the item, in most of these complaints.
fn validate_resize_policies(container: &Value, restart_policy: &str, path: &Path, errors: &mut Errors) {
    const RESOURCES: &[&str] = &["cpu", "memory"];
    const POLICIES: &[&str] = &["NotRequired", "RestartContainer"];
    let list_path = || path.child("resizePolicy");
    let mut seen = HashSet::new();
    for (i, policy) in list(container, "resizePolicy").iter().enumerate() {
        let (resource, restart) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if !seen.insert(resource) {
            errors.push(FieldError::duplicate(&list_path().index(i), &json!(resource)));
        }
        for (value, choices) in [(resource, RESOURCES), (restart, POLICIES)] {
            if value.is_empty() {
                errors.push(FieldError::required(&list_path(), ""));
            } else if !choices.contains(&value) {
                errors.push(FieldError::not_supported(&list_path(), &json!(value), choices));
            }
        }
        if restart_policy == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(&list_path(), &json!(restart), detail));
        }
    }
}

/// Pods are stricter than templates about spaces around an image; `path` is that of the spec.
pub(super) fn validate_image_paddings(spec: &Value, path: &Path, errors: &mut Errors) {
    for key in ["containers", "initContainers"] {
        for (i, container) in list(spec, key).iter().enumerate() {
            validate_image_padding(container, &path.child(key).index(i), errors);
        }
    }
}

pub(super) fn validate_image_padding(container: &Value, path: &Path, errors: &mut Errors) {
    let image = text(container, "image");
    if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(&path.child("image"), &json!(image), detail));
    }
}
