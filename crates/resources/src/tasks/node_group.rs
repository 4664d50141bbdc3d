//! NodeGroup: nodes that are alike, those there are and those an autoscaler could add.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// Nodes that are alike: how they are found, what they have, how many there may be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGroupSpec {
    /// What the group is for, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The labels its nodes have. A task whose pods ask for them waits for this group.
    pub selector: BTreeMap<String, String>,
    /// What pods need to tolerate to be placed on its nodes; tasks that use the group get them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::objects")]
    pub tolerations: Vec<Value>,
    /// GPUs of each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub gpus_per_node: Option<i32>,
    /// What its GPUs are called; `nvidia.com/gpu` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_nodes: Option<i32>,
    /// How many nodes an autoscaler may make of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_nodes: Option<i32>,
    /// How long a new node usually takes until pods run on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub boot_seconds: Option<i64>,
    /// What cluster autoscaler or Karpenter call it, where that is not the name of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaler_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGroupStatus {
    /// Nodes with its labels.
    pub nodes: i32,
    pub ready_nodes: i32,
    /// Tasks that wait for it.
    pub waiting_tasks: i32,
}
