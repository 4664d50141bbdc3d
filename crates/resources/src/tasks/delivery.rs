//! CallbackDelivery: one event of a task on its way to one receiver.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One event of a task, told to one of its endpoints. Its status is the log of that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallbackDeliverySpec {
    /// The Task.
    pub task: String,
    pub task_uid: String,
    /// Which event of the task this is; deliveries of a task to an endpoint are made in this order.
    pub sequence: i64,
    /// Which of the task's `endpoints` it goes to, counted from 0.
    pub endpoint: i32,
    /// Where it goes.
    pub url: String,
    /// `task.succeeded`, for example.
    pub event: String,
    /// The body, as it is signed and sent.
    pub payload: String,
    /// The Secret with headers and signing key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Raising it delivers the event once more, from the first attempt on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeliveryPhase {
    // Waits for its turn or for the next attempt.
    #[default]
    Pending,
    Delivered,
    // A day of attempts was not enough, or the address is not allowed.
    Failed,
    // The receiver said that it wants no more of them.
    Gone,
}

impl DeliveryPhase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Delivered => "Delivered",
            Self::Failed => "Failed",
            Self::Gone => "Gone",
        }
    }

    pub fn is_final(self) -> bool {
        self != Self::Pending
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallbackDeliveryStatus {
    pub phase: DeliveryPhase,
    /// Attempts since the last replay.
    pub attempt_count: i32,
    /// When the first of those was made; the schedule counts from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub first_attempt: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub next_attempt: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended_at: Option<Timestamp>,
    /// The last attempts, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<DeliveryAttempt>,
    /// The `replay` of the specification that this status tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_replay: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryAttempt {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub time: Option<Timestamp>,
    /// The address that was connected to, where it is a public one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
    pub duration_milliseconds: i64,
    /// The status of the answer, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<i32>,
    /// The beginning of the answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// Why there was no answer, or why it was none to be content with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}
