//! What all kinds of `kubeflow.org/v1` have in common: replicas, and how the job as a whole is run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// So many pods a role may have. Larger clusters than that are rare, and a slip of the finger is not to
/// fill one.
pub const MOST_REPLICAS: i32 = 10_000;

/// So many processes a node may have: a slip of the finger is not to be more ranks than can be counted.
pub(crate) const MOST_PROCESSES: i32 = 10_000;

/// What may become of the pods of a job that has ended.
pub(crate) const CLEAN_POD_POLICIES: [&str; 3] = ["All", "Running", "None"];

/// One role of a job: how many pods, of which template, and what happens when one of them fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSpec {
    /// How many pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MOST_REPLICAS))]
    pub replicas: Option<i32>,
    /// The pod of each replica. Its `restartPolicy` is overwritten by the one of the role.
    #[schemars(schema_with = "schema::pod_template")]
    pub template: Value,
    /// `Always`, `OnFailure`, `Never`, or `ExitCode`: exit codes from 128 up are restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
}

/// How a job is run, and what is left of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunPolicy {
    /// Which pods are deleted when the job has ended: `All`, `Running` or `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = CLEAN_POD_POLICIES))]
    pub clean_pod_policy: Option<String>,
    /// The job is deleted so long after it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
    /// The job fails if it has not ended so long after its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub active_deadline_seconds: Option<i64>,
    /// How many restarts the job as a whole may have, whatever their cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub backoff_limit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_policy: Option<SchedulingPolicy>,
    /// A suspended job has no pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Who looks after the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
}

/// How the pods of a job are placed together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulingPolicy {
    /// How many pods must have a place for any to get one; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_available: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantities")]
    pub min_resources: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub schedule_timeout_seconds: Option<i32>,
}
