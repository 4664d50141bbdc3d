//! A node: what has become of one use of a template, as it stands in `status.nodes`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::{Inputs, TemplateRef};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Phase {
    #[default]
    #[serde(rename = "")]
    Unknown,
    Pending,
    Running,
    Succeeded,
    Skipped,
    Failed,
    Error,
    Omitted,
}

impl Phase {
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Skipped => "Skipped",
            Self::Failed => "Failed",
            Self::Error => "Error",
            Self::Omitted => "Omitted",
        }
    }

    /// It ran, and has ended.
    pub fn is_completed(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Error)
    }

    /// Nothing more will become of it, whether or not it ran.
    pub fn is_fulfilled(self) -> bool {
        self.is_completed() || matches!(self, Self::Skipped | Self::Omitted)
    }

    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum NodeType {
    #[default]
    Pod,
    Container,
    Steps,
    StepGroup,
    #[serde(rename = "DAG")]
    Dag,
    TaskGroup,
    Retry,
    Skipped,
    Suspend,
    #[serde(rename = "HTTP")]
    Http,
    Plugin,
}

impl NodeType {
    /// Whether a pod stands behind a node of this type. An HTTP request is made by one too.
    pub fn has_pod(self) -> bool {
        matches!(self, Self::Pod | Self::Http)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    pub id: String,
    pub name: String,
    pub display_name: String,
    pub r#type: NodeType,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateRef>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template_scope: String,
    pub phase: Phase,
    #[serde(rename = "boundaryID", skip_serializing_if = "String::is_empty")]
    pub boundary_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_duration: Option<Map<String, Value>>,
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    pub pod_ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemoned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_flag: Option<NodeFlag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<NodeOutputs>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outbound_nodes: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_node_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memoization_status: Option<MemoizationStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synchronization_status: Option<SynchronizationStatus>,
    /// What others have written beside it.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Why a node is there, if it is not a step of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct NodeFlag {
    #[serde(skip_serializing_if = "is_false")]
    pub hooked: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub retried: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a node has given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeOutputs {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<crate::model::Parameter>,
    /// Each is the place where it lies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoizationStatus {
    pub hit: bool,
    pub key: String,
    pub cache_name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SynchronizationStatus {
    /// The lock it waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub waiting: String,
}

impl Node {
    /// A daemon goes on while others may begin.
    pub fn is_daemoned(&self) -> bool {
        self.daemoned == Some(true)
    }

    /// Whoever waits for it may go on.
    pub fn is_fulfilled(&self) -> bool {
        self.phase.is_fulfilled() || (self.is_daemoned() && self.phase != Phase::Pending)
    }

    pub fn is_completed(&self) -> bool {
        self.phase.is_completed() || (self.is_daemoned() && self.phase != Phase::Pending)
    }

    pub fn is_hook(&self) -> bool {
        self.node_flag.is_some_and(|flag| flag.hooked)
    }

    pub fn is_attempt(&self) -> bool {
        self.node_flag.is_some_and(|flag| flag.retried)
    }

    pub fn exit_code(&self) -> Option<&str> {
        self.outputs.as_ref()?.exit_code.as_deref()
    }

    /// The template it is a use of; none for groups and inline ones.
    pub fn template(&self) -> &str {
        match &self.template_ref {
            Some(reference) => &reference.template,
            None => &self.template_name,
        }
    }

    /// Begins when it is waited for, ends when somebody says so.
    pub fn is_waiting_for_somebody(&self) -> bool {
        self.r#type == NodeType::Suspend && self.phase == Phase::Running
    }
}
