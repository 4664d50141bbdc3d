//! What Kubernetes knows of each built-in kind: its types, defaults, validation, table columns and
//! protobuf form. Pure tables and functions over JSON values; serving and storing them is the API
//! server's work.

pub mod addresses;
pub mod checks;
pub mod columns;
pub mod decode;
mod deprecated_labels;
mod field;
mod int_or_percent;
pub mod internal_form;
pub mod label_selector;
pub mod limit_range;
mod node_selector;
pub mod object_meta;
pub mod objects;
pub mod openapi;
mod pod_resources;
pub mod pod_security;
pub mod pods;
pub mod protobuf;
pub mod quantity;
pub mod quota;
pub mod read;
mod resource_list;
mod resource_names;
pub mod resources;
pub mod strategy;
mod syntax;
pub mod types;
pub mod unified_diff;
mod volume_sources;
pub mod workloads;

pub use manifests::names;

/// The rules of a built-in kind. Custom resource definitions have theirs in `schemas`.
pub fn strategy_of(group: &str, kind: &str) -> Option<&'static strategy::Strategy> {
    match (group, kind) {
        ("", "Pod") => Some(&pods::POD),
        ("", "PodTemplate") => Some(&workloads::pod_template::POD_TEMPLATE),
        ("", "ReplicationController") => Some(&workloads::replication_controller::REPLICATION_CONTROLLER),
        ("apps", "ControllerRevision") => Some(&workloads::controller_revision::CONTROLLER_REVISION),
        ("apps", "DaemonSet") => Some(&workloads::daemon_set::DAEMON_SET),
        ("apps", "Deployment") => Some(&workloads::deployment::DEPLOYMENT),
        ("apps", "ReplicaSet") => Some(&workloads::replica_set::REPLICA_SET),
        ("apps", "StatefulSet") => Some(&workloads::stateful_set::STATEFUL_SET),
        ("batch", "CronJob") => Some(&workloads::cron_job::CRON_JOB),
        ("batch", "Job") => Some(&workloads::job::JOB),
        _ => objects::strategy(group, kind),
    }
}
