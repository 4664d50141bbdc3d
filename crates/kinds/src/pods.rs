//! Pods and templates of pods: defaults, validation, what may change, and what to warn about.

mod affinity;
mod annotations;
mod containers;
pub(crate) mod defaults;
mod disabled;
mod env;
pub mod ephemeral_containers;
mod images;
mod label_keys;
mod mounts;
mod network;
mod options;
mod overlapping_paths;
mod port_warnings;
mod ports;
mod probes;
mod quality_of_service;
pub mod resize;
mod resource_claims;
mod resources;
mod security;
mod spec;
mod status;
pub mod streams;
mod syntax;
pub mod template;
mod tolerations;
mod topology_spread;
mod update;
pub(crate) mod volumes;
pub(crate) mod warnings;
mod windows;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

pub use self::{
    options::Options, quality_of_service::qos_class, tolerations::validate as validate_tolerations,
};
use crate::{
    checks::Errors,
    names, object_meta,
    read::{get, has, list, text},
    strategy::Strategy,
};

/// `v1` Pod.
pub static POD: Strategy = Strategy {
    default: defaults::pod,
    prepare_for_create,
    prepare_for_update,
    validate,
    validate_update: update::validate,
    prepare_for_status_update: status::prepare,
    validate_status_update: status::validate,
    warnings_on_create: warnings::of_pod,
    name_syntax: names::dns_subdomain,
    stays_in_form: true,
    ..Strategy::NONE
};

fn prepare_for_create(pod: &mut Value) {
    pod["status"] = json!({"phase": "Pending", "qosClass": qos_class(get(pod, "spec"))});
    let labels = get(get(pod, "metadata"), "labels").clone();
    if let Some(spec) = pod.get_mut("spec") {
        disabled::drop(spec, &Value::Null);
        merge_label_keys(spec, &labels);
    }
    if !list(get(pod, "spec"), "schedulingGates").is_empty() {
        let mut condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": null,
        });
        if let Some(now) = get(pod, "metadata").get("creationTimestamp") {
            condition["lastTransitionTime"] = now.clone();
        }
        pod["status"]["conditions"] = json!([condition]);
    }
    let annotations = get(get(pod, "metadata"), "annotations").clone();
    if let Some(spec) = pod.get_mut("spec") {
        move_app_armor_annotations(spec, &annotations);
    }
}

fn merge_label_keys(spec: &mut Value, labels: &Value) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec
            .get_mut("affinity")
            .and_then(|affinity| affinity.get_mut(kind))
        else {
            continue;
        };
        for term in crate::read::list_mut(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = term.get_mut("podAffinityTerm") {
                label_keys::merge(term, labels);
            }
        }
        for term in crate::read::list_mut(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            label_keys::merge(term, labels);
        }
    }
    for constraint in crate::read::list_mut(spec, "topologySpreadConstraints") {
        label_keys::merge(constraint, labels);
    }
}

/// Profiles given by annotation, as old clients do, become fields.
fn move_app_armor_annotations(spec: &mut Value, annotations: &Value) {
    if annotations.is_null() || text(get(spec, "os"), "name") == "windows" {
        return;
    }
    let of_pod = get(get(spec, "securityContext"), "appArmorProfile").clone();
    for key in CONTAINER_LISTS {
        for container in crate::read::list_mut(spec, key) {
            let annotation = format!("{}{}", annotations::APP_ARMOR_PREFIX, text(container, "name"));
            let meant = get(annotations, &annotation)
                .as_str()
                .and_then(annotations::app_armor_field);
            let own = has(get(container, "securityContext"), "appArmorProfile");
            if let Some(meant) = meant.filter(|meant| !own && *meant != of_pod) {
                let mut errors = Errors::new();
                security::validate_app_armor(&meant, Path::root, &mut errors);
                if errors.is_empty() {
                    crate::read::object_mut(container, "securityContext")
                        .insert("appArmorProfile".to_owned(), meant);
                }
            }
        }
    }
}

fn prepare_for_update(new: &mut Value, old: &Value) {
    new["status"] = get(old, "status").clone();
    if let Some(spec) = new.get_mut("spec") {
        disabled::drop(spec, get(old, "spec"));
    }
}

fn validate(pod: &Value, errors: &mut Errors) {
    validate_pod(pod, Options::NEW_POD, errors);
    let path = Path::new("spec");
    let spec = get(pod, "spec");
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("ephemeralContainers"),
            "cannot be set on create",
        ));
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden(&path.child("nodeName"), detail));
    }
    annotations::validate_agreement(get(pod, "metadata"), spec, &path, errors);
}

/// Checks a pod for itself, new or changed.
fn validate_pod(pod: &Value, options: Options, errors: &mut Errors) {
    let (meta, pod_spec) = (get(pod, "metadata"), get(pod, "spec"));
    let (meta_path, path) = (Path::new("metadata"), Path::new("spec"));
    object_meta::validate(meta, true, names::dns_subdomain, &meta_path, errors);
    annotations::validate(
        get(meta, "annotations"),
        pod_spec,
        options.allow_invalid_deletion_cost,
        &meta_path.child("annotations"),
        errors,
    );
    spec::validate(pod_spec, Some(meta), options, &path, errors);
    if text(pod_spec, "serviceAccountName").is_empty() {
        forbid_tokens(pod_spec, &path, errors);
    }
    containers::validate_image_paddings(pod_spec, &path, errors);
}

/// A pod without a service account has no tokens to mount.
fn forbid_tokens(spec: &Value, path: &Path, errors: &mut Errors) {
    for (i, volume) in list(spec, "volumes").iter().enumerate() {
        for (j, source) in list(get(volume, "projected"), "sources").iter().enumerate() {
            if has(source, "serviceAccountToken") {
                let path = path
                    .child("volumes")
                    .index(i)
                    .child("projected")
                    .child("sources")
                    .index(j);
                let detail = "must not be specified when serviceAccountName is not set";
                errors.push(FieldError::forbidden(&path.child("serviceAccountToken"), detail));
            }
        }
    }
}

/// Checks a binding of a pod to a node.
pub fn validate_binding(binding: &Value, errors: &mut Errors) {
    let (target, path) = (get(binding, "target"), Path::new("target"));
    let kind = text(target, "kind");
    if !["", "Node"].contains(&kind) {
        errors.push(FieldError::not_supported(
            &path.child("kind"),
            &json!(kind),
            &["Node", "<empty>"],
        ));
    }
    crate::checks::require(target, "name", &path, errors);
}

/// Subresources that change one part of a pod set all the rest back to what it was.
fn keep_old(new: &mut Value, old: &Value) {
    for key in ["spec", "status"] {
        new[key] = get(old, key).clone();
    }
    let (Some(Value::Object(meta)), Value::Object(old)) = (new.get_mut("metadata"), get(old, "metadata"))
    else {
        return;
    };
    for key in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        match old.get(key) {
            Some(value) => meta.insert(key.to_owned(), value.clone()),
            None => meta.remove(key),
        };
    }
}

/// Where complaints about a pod as a whole point to, as the real server shows it.
fn whole() -> Path {
    Path::new("[]")
}

/// The lists of containers in the order in which the real server visits them.
const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

fn all_containers(spec: &Value) -> impl Iterator<Item = &Value> {
    CONTAINER_LISTS.into_iter().flat_map(move |key| list(spec, key))
}

/// Calls for each container, with a way to get its path; `path` is that of the spec.
fn visit_containers<'a>(spec: &'a Value, path: &Path, mut visit: impl FnMut(&'a Value, &dyn Fn() -> Path)) {
    for key in CONTAINER_LISTS {
        for (i, container) in list(spec, key).iter().enumerate() {
            visit(container, &|| path.child(key).index(i));
        }
    }
}

/// A sidecar starts before the containers that do the work and runs beside them.
fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}
