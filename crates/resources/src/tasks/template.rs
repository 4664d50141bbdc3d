//! TaskTemplate: the text objects are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ClaimPolicy;
use crate::schema;

/// A Jinja template that gives Kubernetes objects when it is filled with values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskTemplateSpec {
    /// What the template is for, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The Jinja text. What it renders is one or more YAML documents.
    #[schemars(length(min = 1, max = 65536))]
    pub template: String,
    /// The values the template reads, as an example or with a description in each place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub required_values: Option<Value>,
    /// Kinds the template may make, as `Job` or `batch/v1/Job`; without any, those every template may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_kinds: Vec<String>,
    /// What it makes may be privileged, use the host's network and mount the host's directories.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// What becomes of a task's volume claims when the task is deleted, where the task does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<ClaimPolicy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskTemplateStatus {
    /// Definitions that use it, and templates that include it.
    pub users: i32,
    /// The first few of them, for people. A template that is used cannot be deleted.
    pub used_by: String,
}
