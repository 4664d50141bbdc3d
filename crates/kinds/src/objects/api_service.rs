//! APIService: which server answers for a group and version.

use manifests::field::quoted;
use serde_json::{Value, json};

use super::{
    config_map::decoded_len,
    field::{Errors, Field},
};
use crate::{
    names, read,
    resources::{Rank, ranked_versions},
    strategy::Strategy,
};

pub(crate) static STRATEGY: Strategy = Strategy {
    default: |service| {
        if let Some(service) = service.pointer_mut("/spec/service") {
            read::default(service, "port", 443);
        }
    },
    prepare_for_create: super::clear_status,
    prepare_for_update: super::keep_status,
    validate,
    validate_update: |service, _, errors| validate(service, errors),
    prepare_for_status_update: |service, old| {
        super::keep_spec(service, old);
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            super::carry(old, service, &["metadata", field]);
        }
    },
    validate_status_update: |service, _, errors| {
        for condition in Field::root(service).child("status.conditions").items() {
            condition
                .child("status")
                .one_of(&["True", "False", "Unknown"], errors);
        }
    },
    name_syntax: names::path_segment,
    ..Strategy::NONE
};

/// The label of services that the server made itself; its value says when it looks after them.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
const ON_START: &str = "onstart";
const ALWAYS: &str = "true";

/// The rank of each version of a custom group within it.
const CUSTOM_VERSION: i64 = 100;

/// The services of the built-in groups.
pub fn built_in() -> impl Iterator<Item = Value> {
    ranked_versions().map(|served| local(served.group, served.version, served.rank, ON_START))
}

/// The service of a version of a group that definitions serve.
pub fn of_custom(group: &str, version: &str, group_priority: i64) -> Value {
    let rank = Rank {
        group: group_priority,
        version: CUSTOM_VERSION,
    };
    local(group, version, rank, ALWAYS)
}

/// The group of a service and its place among the others.
pub fn group_priority(service: &Value) -> Option<(&str, i64)> {
    let spec = read::get(service, "spec");
    let priority = spec["groupPriorityMinimum"].as_i64()?;
    Some((spec["group"].as_str().unwrap_or_default(), priority))
}

fn local(group: &str, version: &str, rank: Rank, managed: &str) -> Value {
    let mut spec = json!({
        "version": version,
        "groupPriorityMinimum": rank.group,
        "versionPriority": rank.version,
    });
    if !group.is_empty() {
        spec["group"] = group.into();
    }
    json!({
        "metadata": { "name": format!("{version}.{group}"), "labels": { MANAGED: managed } },
        "spec": spec,
    })
}

/// Whether a service comes and goes with definitions.
pub fn follows_definitions(service: &Value) -> bool {
    read::at(service, &["metadata", "labels", MANAGED]) == ALWAYS
}

/// Whether the server looks after a service itself.
pub fn is_managed(service: &Value) -> bool {
    read::at(service, &["metadata", "labels", MANAGED]).is_string()
}

/// Marks a service that this server answers for itself as available, which it always is.
pub fn stamp_local(service: &mut Value, now: &str) {
    if !read::has(read::get(service, "spec"), "service") {
        service["status"] = json!({ "conditions": [{
            "type": "Available",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }] });
    }
}

fn validate(service: &Value, errors: &mut Errors) {
    let root = Field::root(service);
    let spec = root.child("spec");
    let (group, version) = (spec.child("group"), spec.child("version"));
    let name = root.child("metadata.name");
    let required = format!("{}.{}", version.text(), group.text());
    if name.text() != required {
        let required = quoted(&required);
        name.invalid_as(
            name.text(),
            format!("must be `spec.version+\".\"+spec.group`: {required}"),
            errors,
        );
    }
    if group.is_empty() && version.text() != "v1" {
        group.required_because(
            "only v1 may have an empty group and it better be legacy kube",
            errors,
        );
    }
    group.optional_syntax(names::dns_subdomain, errors);
    version.syntax(names::dns1035_label, errors);
    for (field, max) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let priority = spec.child(field);
        let number = priority.int().unwrap_or_default();
        if !(1..=max).contains(&number) {
            priority.invalid_as(number, format!("must be positive and less than {max}"), errors);
        }
    }
    validate_backend(&spec, errors);
}

fn validate_backend(spec: &Field<'_>, errors: &mut Errors) {
    let (service, bundle) = (spec.child("service"), spec.child("caBundle"));
    let insecure = spec.child("insecureSkipTLSVerify");
    if !service.is_set() {
        if !bundle.is_empty() {
            let shown = format!("{} bytes", decoded_len(bundle.text()));
            bundle.invalid_as(shown, "local APIServices may not have a caBundle", errors);
        }
        if insecure.flag() {
            insecure.invalid("local APIServices may not have insecureSkipTLSVerify", errors);
        }
        return;
    }
    service.child("namespace").require(errors);
    service.child("name").require(errors);
    let port = service.child("port");
    if !(1..=65535).contains(&port.int().unwrap_or_default()) {
        port.invalid(
            "port is not valid: must be between 1 and 65535, inclusive",
            errors,
        );
    }
    if insecure.flag() && !bundle.is_empty() {
        insecure.invalid("may not be true if caBundle is present", errors);
    }
}
