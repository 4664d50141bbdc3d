//! What a process is asked, and what it answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use templates::{Allowed, Finding, Form, Inputs, Policy, Problem, Rendered, Verdict};

/// A template with everything it includes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TemplateText {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) includes: BTreeMap<String, String>,
}

/// The objects of a task are wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RenderRequest {
    pub template: String,
    pub text: String,
    #[serde(default)]
    pub includes: BTreeMap<String, String>,
    pub inputs: Inputs,
    /// What is made must keep to it, and is put into its namespace.
    #[serde(default)]
    pub policy: Option<Policy>,
    /// Whether the place of every field is wanted, too.
    #[serde(default)]
    pub traced: bool,
}

/// The texts of a definition, see [`templates::Definition`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnedDefinition {
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub example: String,
    #[serde(default)]
    pub schema: Option<Value>,
}

/// A template is to be looked over, with a definition if there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckRequest {
    pub template: String,
    pub text: String,
    #[serde(default)]
    pub includes: BTreeMap<String, String>,
    #[serde(default)]
    pub definition: Option<OwnedDefinition>,
    #[serde(default)]
    pub system_values: Value,
    #[serde(default)]
    pub allowed: Allowed,
}

/// A definition's schema is wanted, and a verdict on values if there are some.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemaRequest {
    pub definition: OwnedDefinition,
    #[serde(default)]
    pub values: Option<Value>,
    /// Only the verdict, which is what most submissions need.
    #[serde(default)]
    pub verdict_only: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemaReply {
    /// JSON Schema; null where only the verdict was asked for.
    pub schema: Value,
    pub form: Option<Form>,
    pub example: Value,
    pub verdict: Option<Verdict>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Render(Box<RenderRequest>),
    Check(Box<CheckRequest>),
    Schema(Box<SchemaRequest>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Rendered(Rendered),
    Findings(Vec<Finding>),
    Schema(Box<SchemaReply>),
    Problems(Vec<Problem>),
}
