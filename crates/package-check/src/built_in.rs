//! Objects of built-in kinds: brought into form, completed and checked as when they are created.

use kinds::{
    object_meta,
    objects::{
        self,
        service::cluster_ips::{self, Family},
    },
    resources::Resource,
    strategy::Strategy,
    types,
};
use manifests::field::{FieldError, Path};
use schemas::crd;
use serde_json::{Value, json};

use crate::complaints::Complaints;

/// The rules of definitions, which are not among those of `kinds`.
static DEFINITION: Strategy = Strategy {
    default: crd::default,
    prepare_for_create: crd::prepare_for_create,
    validate: crd::validate,
    ..Strategy::NONE
};

pub(crate) fn check(resource: &Resource, object: &Value, complaints: &mut Complaints<'_>) {
    let Some(shape) = types::by_name(resource.type_name) else {
        return;
    };
    let mut object = object.clone();
    let faults = kinds::decode::faults(shape, &mut object);
    complaints.faults("", &faults);
    // Rules are for values of the right type; the API server does not come to them either.
    if !faults.misfits.is_empty() {
        return;
    }
    complete(&mut object, resource.namespaced);
    store(resource, &mut object);
    let strategy = strategy(resource);
    (strategy.default)(&mut object);
    (strategy.prepare_for_create)(&mut object);
    let mut errors = allocate(resource, &mut object);
    let metadata = Path::new("metadata");
    // Pods and workloads check their metadata themselves.
    if objects::strategy(resource.group, resource.kind).is_some() || is_definition(resource) {
        let meta = &object["metadata"];
        object_meta::validate(
            meta,
            resource.namespaced,
            strategy.name_syntax,
            &metadata,
            &mut errors,
        );
    }
    (strategy.validate)(&object, &mut errors);
    complaints.broken_rules(errors);
}

/// What every object has by the time it is checked.
pub(crate) fn complete(object: &mut Value, namespaced: bool) {
    let metadata = &mut object["metadata"];
    metadata["uid"] = json!("00000000-0000-0000-0000-000000000000");
    if !namespaced {
        // What belongs to no namespace loses the one it names.
        metadata
            .as_object_mut()
            .and_then(|fields| fields.remove("namespace"));
    } else if metadata["namespace"].as_str().is_none_or(str::is_empty) {
        metadata["namespace"] = json!("default");
    }
}

fn is_definition(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io"
}

fn strategy(resource: &Resource) -> &'static Strategy {
    static NONE: Strategy = Strategy::NONE;
    if is_definition(resource) {
        return &DEFINITION;
    }
    kinds::strategy_of(resource.group, resource.kind).unwrap_or(&NONE)
}

/// The fields of a Service's addresses follow from each other before it gets any.
fn allocate(resource: &Resource, object: &mut Value) -> Vec<FieldError> {
    match (resource.group, resource.kind) {
        ("", "Service") => cluster_ips::settle(object, &Value::Null, &[Family::V4]),
        _ => Vec::new(),
    }
}

/// Kinds that are stored in another form have their rules on that form.
fn store(resource: &Resource, object: &mut Value) {
    match (resource.group, resource.version, resource.kind) {
        ("events.k8s.io", "v1", "Event") => objects::event::to_core(object),
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => {
            objects::horizontal_pod_autoscaler::v1::to_v2(object);
        }
        _ => {}
    }
}
