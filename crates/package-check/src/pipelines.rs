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
        let problems = check::object(object, &self.templates, &mut unknown);
        for Problem { field, message } in problems.unwrap_or_default() {
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
