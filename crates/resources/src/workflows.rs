//! The custom resources of pipelines, which are Argo's: names, scopes and columns as its own definitions have
//! them, so that its clients and its users' scripts find what they know. What is in them is checked by
//! `workflows`, which says more than a schema could.

use serde_json::{Value, json};

pub const GROUP: &str = "argoproj.io";
pub const VERSION: &str = "v1alpha1";

/// A kind of pipelines.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkflowKind {
    pub kind: &'static str,
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub is_namespaced: bool,
    /// Its fields lie below `spec` and `status`; otherwise beside the metadata.
    has_spec: bool,
    /// Heading, type, path and meaning of each column beside the name.
    columns: &'static [(&'static str, &'static str, &'static str, &'static str)],
}

pub static WORKFLOW: WorkflowKind = WorkflowKind {
    kind: "Workflow",
    plural: "workflows",
    short_names: &["wf"],
    is_namespaced: true,
    has_spec: true,
    columns: &[
        ("Status", "string", ".status.phase", "Status of the workflow"),
        (
            "Age",
            "date",
            ".status.startedAt",
            "When the workflow was started",
        ),
        (
            "Message",
            "string",
            ".status.message",
            "Human readable message indicating details about why the workflow is in this condition.",
        ),
    ],
};

pub static WORKFLOW_TEMPLATE: WorkflowKind = WorkflowKind {
    kind: "WorkflowTemplate",
    plural: "workflowtemplates",
    short_names: &["wftmpl"],
    is_namespaced: true,
    has_spec: true,
    columns: &[],
};

pub static CLUSTER_WORKFLOW_TEMPLATE: WorkflowKind = WorkflowKind {
    kind: "ClusterWorkflowTemplate",
    plural: "clusterworkflowtemplates",
    short_names: &["clusterwftmpl", "cwft"],
    is_namespaced: false,
    has_spec: true,
    columns: &[],
};

pub static CRON_WORKFLOW: WorkflowKind = WorkflowKind {
    kind: "CronWorkflow",
    plural: "cronworkflows",
    short_names: &["cwf", "cronwf"],
    is_namespaced: true,
    has_spec: true,
    columns: &[],
};

/// What a step has to say that does not fit into the status of its pod.
pub static WORKFLOW_TASK_RESULT: WorkflowKind = WorkflowKind {
    kind: "WorkflowTaskResult",
    plural: "workflowtaskresults",
    short_names: &[],
    is_namespaced: true,
    has_spec: false,
    columns: &[],
};

/// Nothing here makes one; Argo's clients ask for them.
pub static WORKFLOW_TASK_SET: WorkflowKind = WorkflowKind {
    kind: "WorkflowTaskSet",
    plural: "workflowtasksets",
    short_names: &["wfts"],
    is_namespaced: true,
    has_spec: true,
    columns: &[],
};

pub static ALL: [&WorkflowKind; 6] = [
    &WORKFLOW,
    &WORKFLOW_TEMPLATE,
    &CLUSTER_WORKFLOW_TEMPLATE,
    &CRON_WORKFLOW,
    &WORKFLOW_TASK_RESULT,
    &WORKFLOW_TASK_SET,
];

impl WorkflowKind {
    pub fn api_version(&self) -> String {
        format!("{GROUP}/{VERSION}")
    }

    /// The name of its definition: `workflows.argoproj.io`.
    pub fn definition_name(&self) -> String {
        format!("{}.{GROUP}", self.plural)
    }

    /// The CustomResourceDefinition. It has no status as a resource of its own: Argo's clients write
    /// specification and status together.
    pub fn definition(&self) -> Value {
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": self.plural,
            "singular": self.kind.to_lowercase(),
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = json!(self.short_names);
        }
        let mut version = json!({
            "name": VERSION,
            "served": true,
            "storage": true,
            "schema": {"openAPIV3Schema": self.root()},
        });
        if !self.columns.is_empty() {
            let column = |(name, kind, path, meaning): &(&str, &str, &str, &str)| {
                let mut column =
                    json!({"name": name, "type": kind, "jsonPath": path, "description": meaning});
                if *kind == "date" {
                    column["format"] = json!("date-time");
                }
                column
            };
            version["additionalPrinterColumns"] = self.columns.iter().map(column).collect();
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.definition_name()},
            "spec": {
                "group": GROUP,
                "names": names,
                "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
                "versions": [version],
            },
        })
    }

    fn root(&self) -> Value {
        let mut root = json!({
            "type": "object",
            "required": ["metadata"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
            },
        });
        if self.has_spec {
            let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            root["required"] = json!(["metadata", "spec"]);
            root["properties"]["spec"] = open.clone();
            root["properties"]["status"] = open;
        } else {
            root["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
        root
    }
}
