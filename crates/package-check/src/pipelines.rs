//! Workflows and their templates, which no schema describes: by what the pipelines themselves say of them.

use std::collections::{BTreeMap, BTreeSet};

use kinds::object_meta;
use manifests::{field::Path, names};
use packages::TracedObject;
use resources::workflows::{GROUP, VERSION};
use serde_json::Value;
use workflows::{
    TemplateSource, Unknown,
    check::{self, Problem},
};

use crate::{built_in, complaints::Complaints};

/// The templates of a package that workflows may name.
pub(crate) struct Pipelines {
    templates: BTreeMap<TemplateSource, Option<Value>>,
}

/// Whether an object is one of pipelines.
pub(crate) fn is_one(object: &Value) -> bool {
    let kinds = [
        "Workflow",
        "WorkflowTemplate",
        "ClusterWorkflowTemplate",
        "CronWorkflow",
    ];
    object["apiVersion"] == format!("{GROUP}/{VERSION}") && kinds.iter().any(|kind| object["kind"] == *kind)
}

/// Where its templates are, and what they share.
pub(crate) fn specification(object: &Value) -> (&'static str, &Value) {
    match object["kind"].as_str() {
        Some("CronWorkflow") => ("spec.workflowSpec", &object["spec"]["workflowSpec"]),
        _ => ("spec", &object["spec"]),
    }
}

impl Pipelines {
    pub(crate) fn of(objects: &[TracedObject]) -> Self {
        let objects = objects.iter().map(|object| &object.value);
        let templates = objects.filter(|object| is_one(object)).filter_map(|object| {
            let is_cluster = match object["kind"].as_str()? {
                "WorkflowTemplate" => false,
                "ClusterWorkflowTemplate" => true,
                _ => return None,
            };
            let name = object["metadata"]["name"].as_str()?.to_owned();
            Some((TemplateSource { name, is_cluster }, Some(object.clone())))
        });
        Self {
            templates: templates.collect(),
        }
    }

    pub(crate) fn check(&self, object: &Value, complaints: &mut Complaints<'_>) {
        check_metadata(object, complaints);
        let mut unknown = BTreeSet::new();
        for Problem { field, message } in self.problems(object, &mut unknown) {
            complaints.broken(&field, message);
        }
        for wanted in unknown {
            if let Unknown::Template(TemplateSource { name, is_cluster }) = wanted {
                let kind = if is_cluster {
                    "ClusterWorkflowTemplate"
                } else {
                    "WorkflowTemplate"
                };
                complaints.warn(
                    "spec",
                    format!("the {kind} {name:?} is not in the package, so its use is not checked"),
                    "add it to the package, unless the cluster has it".to_owned(),
                );
            }
        }
    }

    fn problems(&self, object: &Value, unknown: &mut BTreeSet<Unknown>) -> Vec<Problem> {
        match object["kind"].as_str().unwrap_or_default() {
            "Workflow" => match self.executed(object) {
                Ok(spec) => check::workflow(object, &spec, &self.templates, unknown),
                Err(source) => {
                    unknown.insert(Unknown::Template(source));
                    Vec::new()
                }
            },
            "CronWorkflow" => check::cron_workflow(object, &self.templates, unknown),
            _ => check::template(object, &self.templates, unknown),
        }
    }

    /// What a workflow runs: its own specification over that of the template it names.
    fn executed(&self, object: &Value) -> Result<Value, TemplateSource> {
        let reference = &object["spec"]["workflowTemplateRef"];
        let Some(name) = reference["name"].as_str() else {
            return Ok(object["spec"].clone());
        };
        let source = TemplateSource {
            name: name.to_owned(),
            is_cluster: reference["clusterScope"] == true,
        };
        match self.templates.get(&source) {
            Some(Some(template)) => Ok(workflows::over(&template["spec"], &object["spec"])),
            _ => Err(source),
        }
    }
}

fn check_metadata(object: &Value, complaints: &mut Complaints<'_>) {
    let is_namespaced = object["kind"] != "ClusterWorkflowTemplate";
    let mut completed = object.clone();
    built_in::complete(&mut completed, is_namespaced);
    let mut errors = Vec::new();
    object_meta::validate_any(
        &completed["metadata"],
        is_namespaced,
        names::dns_subdomain,
        &Path::new("metadata"),
        &mut errors,
    );
    complaints.broken_rules(errors);
}
