//! Variables of PyTorch and `torchrun`, and workers that wait for their master.

use resources::specs::ElasticPolicy;
use serde_json::Value;

use super::delivery;
use crate::{Settings, job::Job};

pub(super) fn variables(
    job: &Job,
    elastic: Option<&ElasticPolicy>,
    processes: Option<&str>,
    role: &str,
    index: u32,
) -> Vec<(&'static str, String)> {
    let mut variables = vec![("PYTHONUNBUFFERED", "1".to_owned())];
    if job.replica("Master").is_some() {
        variables.extend(of_master(job, processes, role, index));
    }
    if let Some(processes) = processes {
        variables.push(("PET_NPROC_PER_NODE", processes.to_owned()));
    }
    match elastic {
        Some(elastic) => variables.extend(of_elastic(job, elastic)),
        None => variables.push(("PET_NNODES", job.total().to_string())),
    }
    variables
}

fn of_master(job: &Job, processes: Option<&str>, role: &str, index: u32) -> Vec<(&'static str, String)> {
    let port = job.port("Master").to_string();
    let address = job.child_name("Master", 0);
    let processes: u32 = processes
        .and_then(|processes| processes.parse().ok())
        .unwrap_or(1);
    let rank = if role == "Master" { 0 } else { index + 1 }.to_string();
    vec![
        ("MASTER_PORT", port.clone()),
        ("PET_MASTER_PORT", port),
        ("MASTER_ADDR", address.clone()),
        ("PET_MASTER_ADDR", address),
        ("WORLD_SIZE", job.total().saturating_mul(processes).to_string()),
        ("RANK", rank.clone()),
        ("PET_NODE_RANK", rank),
    ]
}

fn of_elastic(job: &Job, elastic: &ElasticPolicy) -> Vec<(&'static str, String)> {
    let host = elastic
        .rdzv_host
        .clone()
        .unwrap_or_else(|| job.child_name("Worker", 0));
    let port = elastic.rdzv_port.unwrap_or_else(|| i32::from(job.port("Worker")));
    let backend = elastic.rdzv_backend.as_deref().unwrap_or("c10d");
    let bound = |bound: Option<i32>| bound.unwrap_or(1);
    let nodes = format!("{}:{}", bound(elastic.min_replicas), bound(elastic.max_replicas));
    let mut variables = vec![
        ("PET_RDZV_ENDPOINT", format!("{host}:{port}")),
        ("PET_RDZV_BACKEND", backend.to_owned()),
        ("PET_NNODES", nodes),
    ];
    variables.extend(
        elastic
            .max_restarts
            .map(|restarts| ("PET_MAX_RESTARTS", restarts.to_string())),
    );
    variables.extend(
        elastic
            .nproc_per_node
            .map(|processes| ("PET_NPROC_PER_NODE", processes.to_string())),
    );
    variables.extend(elastic.rdzv_id.clone().map(|id| ("PET_RDZV_ID", id)));
    if !elastic.rdzv_conf.is_empty() {
        let options = elastic
            .rdzv_conf
            .iter()
            .map(|option| format!("{}={}", option.key, option.value));
        variables.push(("PET_RDZV_CONF", options.collect::<Vec<_>>().join(",")));
    }
    if elastic.standalone == Some(true) {
        variables.push(("PET_STANDALONE", String::new()));
    }
    variables
}

/// A worker that starts before its master has a name would give up at once.
pub(super) fn wait_for_master(job: &Job, role: &str, settings: &Settings, template: &mut Value) {
    if role != "Worker" || job.replica("Master").is_none() {
        return;
    }
    delivery::deliver(template, settings, &[]);
    delivery::wait(template, &["wait-for-name", &job.child_name("Master", 0)], &[]);
}
