//! TaskDefinition: a template made usable for somebody, with the names its users know from the service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;

/// What kind of task can be submitted: the template it uses and the values its users fill in. Its fields are those
/// of the service's JSON, which may be put here as it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskDefinitionSpec {
    /// Who registered it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub creator: String,
    /// What users call it; the object's own name where absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub name: String,
    /// The TaskTemplate.
    #[schemars(length(min = 1, max = 253))]
    pub task_template_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// YAML: what is to be filled in. Each leaf begins with `(Required)` or `(Optional)`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 262_144))]
    pub user_values_description: String,
    /// YAML: an example of filled values.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 262_144))]
    pub user_values_example: String,
    /// YAML: values that the definition fills in itself, such as the image.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 262_144))]
    pub system_values: String,
    /// JSON Schema of the values, in place of `user_values_description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub values_schema: Option<Value>,
    /// What the tasks belong to, such as `Production`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub application: String,
    /// 0, 1, true or false: whether the service adds something unique to the name when it registers the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any")]
    pub append_uuid: Option<Value>,
}
