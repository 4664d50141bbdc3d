//! What an API server adds of its own, and what is chance, is taken out of objects before they are compared.

use serde_json::{Map, Value, json};

/// Fields of the metadata that say nothing of who made the object.
const OF_SERVER: [&str; 6] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "namespace",
];
/// Labels that the controller of batch Jobs gives to pods and Jobs.
const OF_JOB: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// A child as it was made.
pub(super) fn child(object: &Value) -> Value {
    let mut object = object.clone();
    metadata(&mut object["metadata"]);
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let fields = object.as_object_mut();
    if let Some(fields) = fields {
        fields.remove("status");
        fields.remove("kind");
        fields.retain(|_, value| !value.is_null());
    }
    match kind.as_str() {
        "Pod" => pod_spec(&mut object["spec"]),
        "Job" => batch_job(&mut object["spec"]),
        // training-operator walks through a map of them.
        "Service" => sort(&mut object["spec"]["ports"]),
        // The keys differ each time.
        "Secret" => object["data"] = keys(&object["data"]),
        _ => {}
    }
    object
}

/// What is left of a child when only what becomes of it is of interest.
pub(super) fn outline(object: &Value) -> Value {
    match object["kind"].as_str() {
        Some("Pod") => json!({"phase": object["status"]["phase"]}),
        Some("ConfigMap") => json!({"data": object["data"]}),
        Some("Job") => json!({"suspend": object["spec"]["suspend"]}),
        Some("PodGroup") => json!({"spec": object["spec"]}),
        _ => json!({}),
    }
}

/// A job's specification and status.
pub(super) fn job(object: &Value) -> Value {
    json!({"spec": object["spec"], "status": status(&object["status"])})
}

/// That a time is set is of interest, which one is not.
fn status(status: &Value) -> Value {
    let mut status = status.clone();
    for time in ["startTime", "completionTime", "lastReconcileTime"] {
        if !status[time].is_null() {
            status[time] = json!("set");
        }
    }
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        remove(condition, &["lastTransitionTime", "lastUpdateTime"]);
    }
    if let Some(status) = status.as_object_mut() {
        status.retain(|_, value| !value.is_null());
    }
    status
}

/// training-operator walks through a map of roles until it knows that the job is done; those it has come to have
/// their selectors.
pub(super) fn selectors(status: &mut Value) {
    let roles = status["replicaStatuses"].as_object_mut();
    for (_, role) in roles.into_iter().flatten() {
        remove(role, &["selector"]);
    }
}

fn metadata(meta: &mut Value) {
    remove(meta, &OF_SERVER);
    remove(&mut meta["labels"], &OF_JOB);
    for owner in meta["ownerReferences"].as_array_mut().into_iter().flatten() {
        remove(owner, &["uid"]);
    }
    if meta["generateName"].is_string() {
        remove(meta, &["name"]);
    }
    if let Some(meta) = meta.as_object_mut() {
        meta.retain(|_, value| !value.is_null());
    }
}

/// Every pod gets a volume with the token of its account, of a name that is chance.
fn pod_spec(spec: &mut Value) {
    const TOKENS: &str = "kube-api-access-";
    let is_token = |item: &Value| item["name"].as_str().is_some_and(|name| name.starts_with(TOKENS));
    let clear = |holder: &mut Value, list: &str| {
        if let Some(items) = holder[list].as_array_mut() {
            items.retain(|item| !is_token(item));
        }
        if holder[list].as_array().is_none_or(Vec::is_empty) {
            remove(holder, &[list]);
        }
    };
    clear(spec, "volumes");
    for containers in ["initContainers", "containers"] {
        for container in spec[containers].as_array_mut().into_iter().flatten() {
            clear(container, "volumeMounts");
        }
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
}

fn batch_job(spec: &mut Value) {
    remove(&mut spec["selector"]["matchLabels"], &OF_JOB);
    metadata(&mut spec["template"]["metadata"]);
    remove(&mut spec["template"]["metadata"]["labels"], &OF_JOB);
}

fn sort(ports: &mut Value) {
    if let Some(ports) = ports.as_array_mut() {
        ports.sort_by_key(|port| port["name"].to_string());
    }
}

fn keys(data: &Value) -> Value {
    let keys = data.as_object().into_iter().flat_map(Map::keys);
    json!(keys.collect::<Vec<_>>())
}

fn remove(object: &mut Value, fields: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|field, _| !fields.contains(&field.as_str()));
    }
}
