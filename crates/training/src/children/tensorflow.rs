//! `TF_CONFIG`: the addresses of all replicas, and which of them this one is.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use crate::{Settings, job::Job};

#[derive(Serialize)]
struct Config {
    cluster: BTreeMap<String, Vec<String>>,
    task: Task,
    environment: &'static str,
}

/// What a worker sees that may come and go: itself, and the parameter servers.
#[derive(Serialize)]
struct DynamicConfig {
    cluster: DynamicCluster,
    task: Task,
}

#[derive(Serialize)]
struct DynamicCluster {
    worker: BTreeMap<String, String>,
    ps: Vec<String>,
}

#[derive(Serialize)]
struct Task {
    #[serde(rename = "type")]
    role: String,
    index: u32,
}

/// A job of one replica has nobody to talk to and gets none.
pub(super) fn config(
    job: &Job,
    dynamic: bool,
    role: &str,
    index: u32,
    settings: &Settings,
) -> Option<String> {
    if job.total() == 1 {
        return None;
    }
    let task = Task {
        role: role.to_lowercase(),
        index,
    };
    let config = if dynamic {
        let own = (role == "Worker").then(|| (index.to_string(), address(job, role, index, settings)));
        let cluster = DynamicCluster {
            worker: own.into_iter().collect(),
            ps: addresses(job, "PS", settings),
        };
        json_text(&DynamicConfig { cluster, task })
    } else {
        let roles = job.replicas.iter();
        let cluster = roles
            .map(|replica| {
                (
                    replica.role.to_lowercase(),
                    addresses(job, replica.role, settings),
                )
            })
            .collect();
        json_text(&Config {
            cluster,
            task,
            environment: "cloud",
        })
    };
    Some(config)
}

fn addresses(job: &Job, role: &str, settings: &Settings) -> Vec<String> {
    (0..job.count(role))
        .map(|index| address(job, role, index, settings))
        .collect()
}

fn address(job: &Job, role: &str, index: u32, settings: &Settings) -> String {
    let domain = settings
        .cluster_domain
        .as_deref()
        .map_or(String::new(), |domain| format!(".{domain}"));
    format!(
        "{}.{}.svc{domain}:{}",
        job.child_name(role, index),
        job.namespace(),
        job.port(role)
    )
}

/// The fields in the order of declaration, as the original writes them.
fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| json!({}).to_string())
}
