//! The batch Jobs of an MxJob, the scheduler's Service and the group.

use resources::names::mxnet_labels;
use serde_json::{Value, json};

use super::{
    group,
    spec::{MxJob, Replica},
};
use crate::{Child, Settings, template};

/// In the order of the specification.
pub(super) fn all(job: &MxJob, settings: &Settings) -> Vec<Child> {
    let group = group::pod_group(job, settings).map(Child::create);
    let mut children: Vec<Child> = group.into_iter().collect();
    for replica in &job.replicas {
        for index in job.indexes(replica) {
            if job.is_distributed() && replica.role == "SCHEDULER" {
                children.push(Child::create(service(job, replica, index)));
            }
            children.push(Child::create(batch_job(job, replica, index, settings)));
        }
    }
    children
}

fn labels(job: &MxJob, replica: &Replica, index: u32) -> Value {
    json!({
        mxnet_labels::GROUP: "",
        mxnet_labels::ROLE: replica.role,
        mxnet_labels::RUNTIME_ID: job.runtime_id,
        mxnet_labels::INDEX: index.to_string(),
    })
}

fn metadata(job: &MxJob, replica: &Replica, index: u32) -> Value {
    json!({
        "name": job.child_name(&replica.role, index),
        "namespace": job.identity.namespace,
        "labels": labels(job, replica, index),
        "ownerReferences": [job.identity.owner_reference()],
    })
}

fn service(job: &MxJob, replica: &Replica, index: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, replica, index),
        "spec": {
            "selector": labels(job, replica, index),
            "ports": [{"name": "ps-root-port", "port": replica.port}],
        },
    })
}

fn batch_job(job: &MxJob, replica: &Replica, index: u32, settings: &Settings) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(job, replica, index),
        "spec": {"completions": 1, "parallelism": 1, "template": pod_template(job, replica, index, settings)},
    })
}

pub(super) fn pod_template(job: &MxJob, replica: &Replica, index: u32, settings: &Settings) -> Value {
    let mut template = replica.template.clone();
    if !template["metadata"].is_object() {
        template["metadata"] = json!({});
    }
    if let Value::Object(labels) = labels(job, replica, index) {
        template::map(&mut template["metadata"], "labels").extend(labels);
    }
    // No policy means Always, which a Job does not accept.
    if template["spec"]["restartPolicy"] != "Never" {
        template["spec"]["restartPolicy"] = json!("OnFailure");
    }
    settings.accelerators.equip(&mut template, replica.container());
    if job.is_distributed()
        && let Some(container) = template::container_mut(&mut template, replica.container())
    {
        template::append_env(container, variables(job, &replica.role));
    }
    group::join(job, &replica.role, settings, &mut template);
    template
}

fn variables(job: &MxJob, role: &str) -> Vec<(String, String)> {
    let scheduler = job.replicas.iter().find(|replica| replica.role == "SCHEDULER");
    let port = scheduler.map_or(0, |scheduler| scheduler.port);
    [
        ("DMLC_PS_ROOT_PORT", port.to_string()),
        ("DMLC_PS_ROOT_URI", job.child_name("SCHEDULER", 0)),
        ("DMLC_NUM_SERVER", job.count("SERVER").to_string()),
        ("DMLC_NUM_WORKER", job.count("WORKER").to_string()),
        ("DMLC_ROLE", role.to_lowercase()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
