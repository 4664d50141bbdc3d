//! APIService: which server answers for a group and version.

use manifests::field::quoted;
use serde_json::{Value, json};

use super::{
    config_map::decoded_len,
    field::{Errors, Field},
};
use crate::{names, read, strategy::Strategy};

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

/// The condition of a service that this server answers for itself.
pub fn local_condition(now: &str) -> Value {
    json!({
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    })
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
