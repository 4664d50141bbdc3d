//! `MX_CONFIG` and the variables of MXNet's parameter server (and of BytePS).

use std::collections::BTreeMap;

use resources::names::annotations;
use serde::Serialize;

use crate::job::Job;

#[derive(Serialize)]
struct Config {
    cluster: BTreeMap<String, Vec<Address>>,
    labels: BTreeMap<String, String>,
    task: Task,
}

#[derive(Serialize)]
struct Address {
    url: String,
    port: u16,
}

#[derive(Serialize)]
struct Task {
    #[serde(rename = "type")]
    role: String,
    index: u32,
}

pub(super) fn variables(job: &Job, role: &str, index: u32) -> Vec<(&'static str, String)> {
    let (port, host) = match job.replica("Scheduler") {
        Some(_) => (job.port("Scheduler").to_string(), job.child_name("Scheduler", 0)),
        None => ("0".to_owned(), String::new()),
    };
    let mut variables = vec![
        ("MX_CONFIG", config(job, role, index)),
        ("DMLC_PS_ROOT_PORT", port),
        ("DMLC_PS_ROOT_URI", host),
        ("DMLC_NUM_SERVER", job.count("Server").to_string()),
        ("DMLC_NUM_WORKER", job.count("Worker").to_string()),
        ("DMLC_ROLE", role.to_lowercase()),
        ("DMLC_USE_KUBERNETES", "1".to_owned()),
    ];
    if role == "Worker" {
        variables.push(("DMLC_WORKER_ID", index.to_string()));
    }
    variables
}

fn config(job: &Job, role: &str, index: u32) -> String {
    let addresses = |role: &str| {
        let indexes = 0..job.count(role);
        indexes
            .map(|index| Address {
                url: job.child_name(role, index),
                port: job.port(role),
            })
            .collect()
    };
    let roles = || job.replicas.iter();
    let config = Config {
        cluster: roles()
            .map(|replica| (replica.role.to_lowercase(), addresses(replica.role)))
            .collect(),
        labels: roles()
            .map(|replica| {
                let key = &replica.template["metadata"]["annotations"][annotations::TUNER_SERVER_KEY];
                (
                    replica.role.to_lowercase(),
                    key.as_str().unwrap_or_default().to_owned(),
                )
            })
            .collect(),
        task: Task {
            role: role.to_lowercase(),
            index,
        },
    };
    serde_json::to_string(&config).unwrap_or_default()
}
