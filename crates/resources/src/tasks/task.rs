//! Task: the filled values of one run, and what has become of it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema;

/// One run: the values a definition's template is filled with. The name of the Task is the release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskSpec {
    /// The TaskDefinition, by its object's name or by the name its users know; `values.taskDef` where absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub definition: String,
    /// The filled values, as they are sent to the service.
    #[schemars(schema_with = "schema::any_object")]
    pub values: Map<String, Value>,
    /// Who submitted it, as the service knows them; `values.creator` where absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub creator: String,
    /// Ends the task: what it runs is stopped and removed, and it stays Cancelled until it is retried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Which attempt is wanted, 1 where absent. Raising it runs a task that has ended once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempt: Option<i32>,
    /// So long the task is kept after it has ended; without it, until somebody deletes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i64>,
    /// What becomes of its volume claims when it is deleted; as the template says where absent, else `Keep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<ClaimPolicy>,
    /// The Secret with the headers and the signing key of its callbacks. Headers are taken from one that is labelled
    /// `trainyard.dev/task` with the name of the task, and from no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_secret: Option<String>,
}

impl TaskSpec {
    /// The definition as it was asked for.
    pub fn definition(&self) -> &str {
        if self.definition.is_empty() {
            self.values
                .get("taskDef")
                .and_then(Value::as_str)
                .unwrap_or_default()
        } else {
            &self.definition
        }
    }

    pub fn creator(&self) -> &str {
        if self.creator.is_empty() {
            self.values
                .get("creator")
                .and_then(Value::as_str)
                .unwrap_or_default()
        } else {
            &self.creator
        }
    }
}

/// What becomes of the volume claims of a task that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ClaimPolicy {
    Keep,
    Delete,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
        }
    }

    /// Nothing more happens unless somebody asks for it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatus {
    pub phase: Phase,
    /// One word for why it is in this phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What a pending task waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// What the task is made of; it does not change any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Pinned>,
    /// The attempt this status tells of.
    pub attempt: i32,
    /// The last attempt whose objects were made; they are not made again.
    pub made: i32,
    /// Every attempt so far, the first one first; of many only the last ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// When the first attempt began to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub start_time: Option<Timestamp>,
    /// When the last attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub completion_time: Option<Timestamp>,
    /// The objects it is made of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Child>,
    /// What it has left behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// What has happened to it; callbacks tell of these. Written together with what they tell of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Up to which event there are deliveries.
    #[serde(skip_serializing_if = "is_zero")]
    pub announced: i64,
    /// The generation of the specification that this status tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// What a pending task waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Waiting {
    /// One word, such as `ScalingUp` or `SelectorMismatch`.
    pub code: String,
    /// The NodeGroup it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_group: Option<String>,
    /// Since when it waits for just this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub since: Option<Timestamp>,
    /// What it waits for, for people.
    pub message: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_step: String,
}

/// The revisions a task is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Pinned {
    pub definition: Revision,
    pub template: Revision,
    /// What the template says of claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<ClaimPolicy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Revision {
    /// The object.
    pub name: String,
    /// The ControllerRevision in the task's namespace that holds it as it was.
    pub revision: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Attempt {
    pub number: i32,
    pub phase: Phase,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub created_at: Option<Timestamp>,
    /// When its first pod ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// An object a task is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Child {
    pub api_version: String,
    pub kind: String,
    pub name: String,
}

/// Something a task has left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Output {
    pub name: String,
    pub value: String,
    /// `claim`: a volume claim. `result`: what the task's container wrote to its termination log.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A change of a task that callbacks tell of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskEvent {
    /// Counts the events of a task, from 1.
    pub sequence: i64,
    /// `task.pending`, `task.running`, `task.succeeded`, `task.failed`, `task.cancelled` or `task.deleted`.
    #[serde(rename = "type")]
    pub kind: String,
    pub attempt: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub time: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}
