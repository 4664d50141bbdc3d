//! MxJob of `mxnet.mlkube.io/v1beta1`, which is no kind of Kubeflow: a list of replicas, and a
//! status of its own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{run_policy::MOST_REPLICAS, schema};

/// Training with MXNet, alone (`local`) or with a parameter server (`dist`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MxJobSpec {
    /// Four letters that are part of the names of all children; chosen by the operator when empty.
    #[serde(rename = "RuntimeId", skip_serializing_if = "String::is_empty")]
    pub runtime_id: String,
    /// `local` or `dist`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job_mode: String,
    #[serde(alias = "replica_specs")]
    pub replica_specs: Vec<MxReplicaSpec>,
    /// How the job is run, as with the kinds of Kubeflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_policy: Option<MxRunPolicy>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MxRunPolicy {
    /// Whether the job is suspended: its batch Jobs and pods are deleted, and made again when it is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MxReplicaSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MOST_REPLICAS))]
    pub replicas: Option<i32>,
    /// `SCHEDULER`, `SERVER` or `WORKER`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mx_replica_type: Option<String>,
    /// The scheduler's port; 9091 when absent.
    #[serde(rename = "PsRootPort", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub ps_root_port: Option<i32>,
    #[schemars(schema_with = "schema::pod_template")]
    pub template: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MxJobStatus {
    /// Creating, Running, Suspended, Done, Failed or CleanUp.
    pub phase: String,
    /// Why.
    pub reason: String,
    /// Whether the job is suspended.
    pub control_paused: bool,
    #[schemars(schema_with = "schema::objects")]
    pub conditions: Vec<Value>,
    /// Succeeded or Failed, when the job has ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    pub replica_statuses: Vec<MxReplicaStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many replicas run or have succeeded, of how many.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MxReplicaStatus {
    #[serde(rename = "Mx_replica_type")]
    pub replica_type: String,
    pub state: String,
    #[serde(rename = "ReplicasStates")]
    pub replicas_states: BTreeMap<String, i32>,
}
