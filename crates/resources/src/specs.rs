//! The specifications of the kinds of `kubeflow.org/v1`, one type each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ReplicaSpec, RunPolicy,
    run_policy::{MOST_PROCESSES, MOST_REPLICAS},
    schema,
};

/// Replicas by role.
pub type Replicas = BTreeMap<String, ReplicaSpec>;

/// Distributed TensorFlow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TfJobSpec {
    pub run_policy: RunPolicy,
    /// `""`: worker 0 (or the chief) decides. `AllWorkers`: all workers must succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["", "AllWorkers"]))]
    pub success_policy: Option<String>,
    /// Replicas by role: Chief, Master, Worker, PS, Evaluator.
    pub tf_replica_specs: Replicas,
    /// Workers may come and go; each sees only itself and the parameter servers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enable_dynamic_worker: bool,
}

/// Distributed PyTorch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PyTorchJobSpec {
    pub run_policy: RunPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic_policy: Option<ElasticPolicy>,
    /// Replicas by role: Master, Worker.
    pub pytorch_replica_specs: Replicas,
    /// Processes on each node: `auto`, a type of device (`cpu`, `gpu`, ...) or a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::processes")]
    pub nproc_per_node: Option<Value>,
}

/// How many workers an elastic job may have, and how they find each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ElasticPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_REPLICAS))]
    pub min_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_REPLICAS))]
    pub max_replicas: Option<i32>,
    /// `c10d`, `etcd`, `etcd-v2` or `static`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["c10d", "etcd", "etcd-v2", "static"]))]
    pub rdzv_backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub rdzv_port: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdzv_host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdzv_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rdzv_conf: Vec<RendezvousOption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standalone: Option<bool>,
    /// Deprecated: use `spec.nprocPerNode`.
    #[serde(rename = "nProcPerNode", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_PROCESSES))]
    pub nproc_per_node: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_restarts: Option<i32>,
    /// Metrics by which the number of workers follows the load, as of a HorizontalPodAutoscaler.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::objects")]
    pub metrics: Vec<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RendezvousOption {
    pub key: String,
    pub value: String,
}

/// Distributed MXNet, as of `kubeflow.org/v1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MxJobSpec {
    pub run_policy: RunPolicy,
    /// `MXTrain` or `MXTune`; what its roles say when absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["MXTrain", "MXTune"]))]
    pub job_mode: String,
    /// Replicas by role: Scheduler, Server, Worker, TunerTracker, TunerServer, Tuner.
    pub mx_replica_specs: Replicas,
}

/// Distributed XGBoost or LightGBM.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct XgBoostJobSpec {
    pub run_policy: RunPolicy,
    /// Replicas by role: Master, Worker.
    pub xgb_replica_specs: Replicas,
}

/// Distributed PaddlePaddle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PaddleJobSpec {
    pub run_policy: RunPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic_policy: Option<PaddleElasticPolicy>,
    /// Replicas by role: Master, Worker.
    pub paddle_replica_specs: Replicas,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PaddleElasticPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_REPLICAS))]
    pub min_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_REPLICAS))]
    pub max_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_restarts: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::objects")]
    pub metrics: Vec<Value>,
}

/// Distributed JAX.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct JaxJobSpec {
    pub run_policy: RunPolicy,
    /// Replicas by role: Worker.
    pub jax_replica_specs: Replicas,
}
