//! The headless Service that gives a replica its name.

use serde_json::{Value, json};

use super::metadata;
use crate::{
    job::{Job, Replica},
    template,
};

const TCP: &str = "TCP";

/// Peers are told the short name of a pod, which only resolves with a Service of that name.
pub(crate) fn service(job: &Job, replica: &Replica, index: u32) -> Option<Value> {
    let own = job.kind.port?.name;
    let selector = metadata::selector(job, replica.role, index);
    let mut meta = metadata::metadata(job, &job.child_name(replica.role, index));
    meta["labels"] = json!(selector);
    let container = template::container(&replica.template, job.kind.container)?;
    Some(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {"clusterIP": "None", "selector": selector, "ports": ports(container, own)},
    }))
}

/// Ports of a Service have names, and none is there twice, which a container's may be.
fn ports(container: &Value, own: &str) -> Vec<Value> {
    let mut kept: Vec<Port<'_>> = Vec::new();
    for port in container["ports"].as_array().into_iter().flatten().map(read) {
        let same = kept
            .iter_mut()
            .find(|kept| kept.number == port.number && kept.protocol == port.protocol);
        match same {
            Some(kept) if kept.name.is_empty() || port.name == own => kept.name = port.name,
            Some(_) => {}
            None => kept.push(port),
        }
    }
    let mut taken: Vec<String> = kept.iter().map(|port| port.name.to_owned()).collect();
    kept.iter().map(|port| written(port, &mut taken)).collect()
}

struct Port<'a> {
    /// Empty where it has none.
    name: &'a str,
    number: &'a Value,
    protocol: &'a str,
}

fn read(port: &Value) -> Port<'_> {
    Port {
        name: port["name"].as_str().unwrap_or_default(),
        number: &port["containerPort"],
        protocol: port["protocol"].as_str().unwrap_or(TCP),
    }
}

fn written(port: &Port<'_>, taken: &mut Vec<String>) -> Value {
    let suffix = port.protocol.to_lowercase();
    let is_tcp = port.protocol == TCP;
    let name = if port.name.is_empty() {
        let mut name = format!("port-{}", port.number);
        while taken.contains(&name) || !(is_tcp || name.ends_with(&suffix)) {
            name = format!("{name}-{suffix}");
        }
        taken.push(name.clone());
        name
    } else {
        port.name.to_owned()
    };
    let mut written = json!({"port": port.number, "name": name});
    if !is_tcp {
        written["protocol"] = json!(port.protocol);
    }
    written
}
