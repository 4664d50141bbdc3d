//! The table of the task service's kinds, and their CustomResourceDefinitions.

use serde_json::{Value, json};

use super::{
    CallbackDeliverySpec, CallbackDeliveryStatus, NodeGroupSpec, NodeGroupStatus, TaskDefinitionSpec,
    TaskSpec, TaskStatus, TaskTemplateSpec, TaskTemplateStatus,
};
use crate::schema;

pub const GROUP: &str = "trainyard.dev";
pub const VERSION: &str = "v1alpha1";

/// A kind of the task service.
#[derive(Debug, PartialEq, Eq)]
pub struct TaskKind {
    pub kind: &'static str,
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub is_namespaced: bool,
    /// Fields of the specification that must be there.
    required: &'static [&'static str],
    /// Heading, type and path of each column beside name and age.
    columns: &'static [(&'static str, &'static str, &'static str)],
}

pub static TASK_TEMPLATE: TaskKind = TaskKind {
    kind: "TaskTemplate",
    plural: "tasktemplates",
    short_names: &["tt"],
    is_namespaced: false,
    required: &["template"],
    columns: &[
        ("Users", "integer", ".status.users"),
        ("Description", "string", ".spec.description"),
    ],
};

pub static TASK_DEFINITION: TaskKind = TaskKind {
    kind: "TaskDefinition",
    plural: "taskdefinitions",
    short_names: &["td"],
    is_namespaced: true,
    required: &["task_template_name"],
    columns: &[
        ("Definition", "string", ".spec.name"),
        ("Template", "string", ".spec.task_template_name"),
        ("Creator", "string", ".spec.creator"),
    ],
};

pub static TASK: TaskKind = TaskKind {
    kind: "Task",
    plural: "tasks",
    short_names: &[],
    is_namespaced: true,
    required: &["values"],
    columns: &[
        ("Phase", "string", ".status.phase"),
        ("Reason", "string", ".status.reason"),
        ("Definition", "string", ".status.pinned.definition.name"),
        ("Attempt", "integer", ".status.attempt"),
    ],
};

pub static CALLBACK_DELIVERY: TaskKind = TaskKind {
    kind: "CallbackDelivery",
    plural: "callbackdeliveries",
    short_names: &[],
    is_namespaced: true,
    required: &["task", "sequence", "url", "payload"],
    columns: &[
        ("Task", "string", ".spec.task"),
        ("Event", "string", ".spec.event"),
        ("Phase", "string", ".status.phase"),
        ("Attempts", "integer", ".status.attemptCount"),
        ("Next", "string", ".status.nextAttempt"),
    ],
};

pub static NODE_GROUP: TaskKind = TaskKind {
    kind: "NodeGroup",
    plural: "nodegroups",
    short_names: &["ng"],
    is_namespaced: false,
    required: &["selector"],
    columns: &[
        ("Nodes", "integer", ".status.nodes"),
        ("Ready", "integer", ".status.readyNodes"),
        ("Max", "integer", ".spec.maxNodes"),
        ("Waiting", "integer", ".status.waitingTasks"),
    ],
};

/// Fields that may be absent are compared where they are not.
const ONLY_REPLAY: &str = "self.task == oldSelf.task && self.sequence == oldSelf.sequence && self.url == oldSelf.url \
     && self.payload == oldSelf.payload \
     && has(self.taskUid) == has(oldSelf.taskUid) && (!has(self.taskUid) || self.taskUid == oldSelf.taskUid) \
     && has(self.endpoint) == has(oldSelf.endpoint) && (!has(self.endpoint) || self.endpoint == oldSelf.endpoint) \
     && has(self.secret) == has(oldSelf.secret) && (!has(self.secret) || self.secret == oldSelf.secret)";

pub static ALL: [&TaskKind; 5] = [
    &TASK_TEMPLATE,
    &TASK_DEFINITION,
    &TASK,
    &CALLBACK_DELIVERY,
    &NODE_GROUP,
];

impl TaskKind {
    /// The kind of an object, by its `apiVersion` and `kind`.
    pub fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        ALL.into_iter()
            .find(|row| api_version == row.api_version() && row.kind == kind)
    }

    pub fn api_version(&self) -> String {
        format!("{GROUP}/{VERSION}")
    }

    /// The name of its definition: `tasks.trainyard.dev`.
    pub fn definition_name(&self) -> String {
        format!("{}.{GROUP}", self.plural)
    }

    /// The CustomResourceDefinition.
    pub fn definition(&self) -> Value {
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": self.plural,
            "singular": self.kind.to_lowercase(),
            "categories": ["trainyard"],
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = json!(self.short_names);
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.definition_name()},
            "spec": {
                "group": GROUP,
                "names": names,
                "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
                "versions": [self.version()],
            },
        })
    }

    fn version(&self) -> Value {
        let column =
            |(name, kind, path): &(&str, &str, &str)| json!({"name": name, "type": kind, "jsonPath": path});
        let mut columns: Vec<Value> = self.columns.iter().map(column).collect();
        columns.push(column(&("Age", "date", ".metadata.creationTimestamp")));
        let mut root = json!({
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": self.spec(),
            },
        });
        let mut version = json!({
            "name": VERSION,
            "served": true,
            "storage": true,
            "additionalPrinterColumns": columns,
        });
        if let Some(mut status) = self.status() {
            status["x-kubernetes-preserve-unknown-fields"] = json!(true);
            root["properties"]["status"] = status;
            version["subresources"] = json!({"status": {}});
        }
        version["schema"] = json!({"openAPIV3Schema": root});
        version
    }

    fn spec(&self) -> Value {
        let mut spec = match self.kind {
            "TaskTemplate" => schema::of::<TaskTemplateSpec>(),
            "TaskDefinition" => schema::of::<TaskDefinitionSpec>(),
            "Task" => schema::of::<TaskSpec>(),
            "CallbackDelivery" => schema::of::<CallbackDeliverySpec>(),
            _ => schema::of::<NodeGroupSpec>(),
        };
        spec["required"] = json!(self.required);
        if self == &CALLBACK_DELIVERY {
            // Headers go where it says, and belong to whoever wrote them.
            spec["x-kubernetes-validations"] = json!([{
                "rule": ONLY_REPLAY,
                "message": "only `replay` of a delivery can be changed",
            }]);
        }
        spec
    }

    fn status(&self) -> Option<Value> {
        match self.kind {
            "TaskTemplate" => Some(schema::of::<TaskTemplateStatus>()),
            "Task" => Some(schema::of::<TaskStatus>()),
            "CallbackDelivery" => Some(schema::of::<CallbackDeliveryStatus>()),
            "NodeGroup" => Some(schema::of::<NodeGroupStatus>()),
            _ => None,
        }
    }
}
