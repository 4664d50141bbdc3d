//! The headless Service that gives a replica its name.

use serde_json::{Value, json};

use super::metadata;
use crate::{
    job::{Job, Replica},
    template,
};

/// Peers are told the short name of a pod, which only resolves with a Service of that name.
pub(crate) fn service(job: &Job, replica: &Replica, index: u32) -> Option<Value> {
    job.kind.port?;
    let selector = metadata::selector(job, replica.role, index);
    let mut meta = metadata::metadata(job, &job.child_name(replica.role, index));
    meta["labels"] = json!(selector);
    let container = template::container(&replica.template, job.kind.container)?;
    let ports = container["ports"].as_array().into_iter().flatten();
    let ports: Vec<Value> = ports.map(port).collect();
    Some(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {"clusterIP": "None", "selector": selector, "ports": ports},
    }))
}

fn port(port: &Value) -> Value {
    let mut found = json!({"port": port["containerPort"]});
    if let Some(name) = port["name"].as_str() {
        found["name"] = json!(name);
    }
    if let Some(protocol) = port["protocol"].as_str().filter(|protocol| *protocol != "TCP") {
        found["protocol"] = json!(protocol);
    }
    found
}
