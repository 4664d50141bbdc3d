//! The CustomResourceDefinitions, made from the types and the table of kinds.

use serde_json::{Map, Value, json};

use crate::{
    Kind,
    kinds::{self, ALL},
    mpi, mxnet, rules, schema, specs,
    status::JobStatus,
    tasks, workflows,
};

/// Fields of the run policy that may also stand directly in a specification.
pub const OLD_LAYOUT: [&str; 5] = [
    "cleanPodPolicy",
    "ttlSecondsAfterFinished",
    "activeDeadlineSeconds",
    "backoffLimit",
    "schedulingPolicy",
];

/// The definition of every kind, in the order of the tables.
pub fn all() -> Vec<Value> {
    let training = ALL.into_iter().map(definition);
    let tasks = tasks::ALL.into_iter().map(tasks::TaskKind::definition);
    let workflows = workflows::ALL
        .into_iter()
        .map(workflows::WorkflowKind::definition);
    training.chain(tasks).chain(workflows).collect()
}

/// The definition of one kind.
pub fn definition(kind: &Kind) -> Value {
    let mut names = json!({
        "kind": kind.kind,
        "listKind": format!("{}List", kind.kind),
        "plural": kind.plural,
        "singular": kind.kind.to_lowercase(),
        "categories": ["all", "training"],
    });
    if !kind.short_names.is_empty() {
        names["shortNames"] = json!(kind.short_names);
    }
    let mut metadata = json!({"name": kind.definition()});
    if let Some(priority) = group_priority(kind) {
        metadata["annotations"] = json!({GROUP_PRIORITY: priority.to_string()});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced",
            "versions": kind.versions.iter().enumerate().map(|(i, name)| version(kind, name, i == 0)).collect::<Vec<_>>(),
        },
    })
}

/// How a definition asks the embedded server for its group's place in discovery.
const GROUP_PRIORITY: &str = "trainyard.dev/group-priority";

/// Three groups have `mxjobs`; clients that are not told which take the first one listed.
fn group_priority(kind: &Kind) -> Option<u16> {
    match kind.group {
        group if group == kinds::MX_JOB.group => Some(1200),
        group if group == kinds::OLD_MX_JOB.group => Some(1100),
        _ => None,
    }
}

fn version(kind: &Kind, name: &str, storage: bool) -> Value {
    let mut subresources = Map::from_iter([("status".to_owned(), json!({}))]);
    if let Some(role) = kind.scaled_role {
        let scale = json!({
            "specReplicasPath": format!(".spec.{}.{role}.replicas", kind.replicas_field),
            "statusReplicasPath": format!(".status.replicaStatuses.{role}.active"),
            "labelSelectorPath": format!(".status.replicaStatuses.{role}.selector"),
        });
        subresources.insert("scale".to_owned(), scale);
    }
    json!({
        "name": name,
        "served": true,
        "storage": storage,
        "additionalPrinterColumns": columns(kind),
        "subresources": subresources,
        "schema": {"openAPIV3Schema": root(kind)},
    })
}

fn columns(kind: &Kind) -> Value {
    let state = if is_standalone_mxnet(kind) {
        ".status.phase"
    } else {
        ".status.conditions[-1:].type"
    };
    json!([
        {"name": "State", "type": "string", "jsonPath": state},
        {"name": "Progress", "type": "string", "jsonPath": ".status.progress"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}

fn root(kind: &Kind) -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            // Said to be as long as it may be at all, so that what rules about it cost can be known.
            "metadata": {"type": "object", "properties": {
                "name": {"type": "string", "maxLength": 253},
                "generateName": {"type": "string"},
            }},
            "spec": spec(kind),
            "status": status(kind),
        },
        "x-kubernetes-validations": rules::of_root(kind),
    })
}

/// How some users spell a field that has another name.
fn other_spelling(kind: &Kind) -> Option<(&'static str, &'static str)> {
    match (kind.group, kind.kind) {
        (_, "MPIJob") => Some(("mpiDistribution", "MPIDistribution")),
        (group, _) if group == kinds::OLD_MX_JOB.group => Some(("replicaSpecs", "replica_specs")),
        _ => None,
    }
}

fn spec(kind: &Kind) -> Value {
    let mut spec = match kind.kind {
        "TFJob" => schema::of::<specs::TfJobSpec>(),
        "PyTorchJob" => schema::of::<specs::PyTorchJobSpec>(),
        "MXJob" => schema::of::<specs::MxJobSpec>(),
        "XGBoostJob" => schema::of::<specs::XgBoostJobSpec>(),
        "PaddleJob" => schema::of::<specs::PaddleJobSpec>(),
        "JAXJob" => schema::of::<specs::JaxJobSpec>(),
        "MPIJob" => schema::of::<mpi::MpiJobSpec>(),
        _ => schema::of::<mxnet::MxJobSpec>(),
    };
    if let Some((field, spelling)) = other_spelling(kind) {
        spec["properties"][spelling] = spec["properties"][field].clone();
    }
    if is_standalone_mxnet(kind) {
        return spec;
    }
    spec["required"] = json!([kind.replicas_field]);
    let replicas = &mut spec["properties"][kind.replicas_field];
    replicas["maxProperties"] = json!(10);
    replicas["x-kubernetes-validations"] = json!(rules::of_replicas(kind));
    replicas["additionalProperties"]["x-kubernetes-validations"] = json!(rules::of_replica(kind));
    spec["x-kubernetes-validations"] = json!(rules::of_spec());
    let run_policy = &mut spec["properties"]["runPolicy"];
    run_policy["x-kubernetes-validations"] = json!(rules::of_run_policy(kind));
    if kind.kind != "MPIJob" {
        let queue = &mut run_policy["properties"]["schedulingPolicy"]["properties"]["queue"];
        queue["x-kubernetes-validations"] = json!(rules::of_queue());
    }
    accept_old_layout(&mut spec["properties"]);
    spec
}

/// Older operators had the fields of the run policy directly in the specification.
fn accept_old_layout(properties: &mut Value) {
    for name in OLD_LAYOUT {
        if properties[name].is_null() {
            let mut field = properties["runPolicy"]["properties"][name].clone();
            field["description"] = json!("Old layout: as of `runPolicy`.");
            properties[name] = field;
        }
    }
}

fn status(kind: &Kind) -> Value {
    let mut status = if is_standalone_mxnet(kind) {
        schema::of::<mxnet::MxJobStatus>()
    } else {
        schema::of::<JobStatus>()
    };
    status["x-kubernetes-preserve-unknown-fields"] = json!(true);
    status
}

fn is_standalone_mxnet(kind: &Kind) -> bool {
    [kinds::MX_JOB.group, kinds::OLD_MX_JOB.group].contains(&kind.group)
}
