//! Which variables a text may speak of, and which of those it speaks of do not exist.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Check;
use crate::{
    expression,
    model::{Spec, Step, Template},
    tags::{self, Part},
};

/// Names of variables: whole ones, and beginnings that anything may follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    names: BTreeSet<String>,
    /// `workflow.labels.`
    open: BTreeSet<String>,
}

/// Beginnings of names that are variables; what begins otherwise is somebody else's braces.
const SIDES: [&str; 10] = [
    "workflow.",
    "inputs.",
    "outputs.",
    "steps.",
    "tasks.",
    "item.",
    "pod.",
    "node.",
    "retries",
    "lastRetry.",
];

impl Known {
    pub(super) fn of_workflow(spec: &Value, read: &Spec) -> Self {
        let mut known = Self::default();
        for name in [
            "name",
            "namespace",
            "uid",
            "mainEntrypoint",
            "serviceAccountName",
            "creationTimestamp",
            "duration",
            "priority",
            "scheduledTime",
            "parameters",
            "parameters.json",
            "labels",
            "labels.json",
            "annotations",
            "annotations.json",
            "status",
            "failures",
        ] {
            known.names.insert(format!("workflow.{name}"));
        }
        for beginning in ["labels.", "annotations.", "creationTimestamp.", "outputs."] {
            known.open.insert(format!("workflow.{beginning}"));
        }
        for parameter in &read.arguments.parameters {
            known
                .names
                .insert(format!("workflow.parameters.{}", parameter.name));
        }
        if spec["entrypoint"].is_null() {
            // A template of workflows is given its arguments by them.
            known.open.insert("workflow.parameters.".to_owned());
        }
        for artifact in &read.arguments.artifacts {
            if let Some(name) = artifact["name"].as_str() {
                known.names.insert(format!("workflow.artifacts.{name}"));
            }
        }
        known.names.insert("node.name".to_owned());
        known
    }

    /// In handlers of the end.
    pub(super) fn at_the_end(&self) -> Self {
        self.clone()
    }

    /// In a template, by its inputs.
    pub(super) fn inside(&self, template: &Template) -> Self {
        let mut known = self.clone();
        // What is inside knows nothing of the steps around it.
        known.names.retain(|name| {
            !["steps.", "tasks.", "inputs.", "item"]
                .iter()
                .any(|side| name.starts_with(side))
        });
        known.open.retain(|name| {
            !["steps.", "tasks.", "inputs.", "item"]
                .iter()
                .any(|side| name.starts_with(side))
        });
        known.names.insert("inputs.parameters".to_owned());
        for parameter in &template.inputs.parameters {
            known
                .names
                .insert(format!("inputs.parameters.{}", parameter.name));
        }
        for artifact in &template.inputs.artifacts {
            if let Some(name) = artifact["name"].as_str() {
                known.names.insert(format!("inputs.artifacts.{name}"));
                known.names.insert(format!("inputs.artifacts.{name}.path"));
            }
        }
        for name in ["steps.name", "tasks.name"] {
            known.names.insert(name.to_owned());
        }
        known
    }

    pub(super) fn in_a_pod(&self, template: &Template) -> Self {
        let mut known = self.clone();
        for name in [
            "pod.name",
            "retries",
            "lastRetry.exitCode",
            "lastRetry.status",
            "lastRetry.duration",
            "lastRetry.message",
        ] {
            known.names.insert(name.to_owned());
        }
        for artifact in &template.outputs.artifacts {
            if let Some(name) = artifact["name"].as_str() {
                known.names.insert(format!("outputs.artifacts.{name}.path"));
            }
        }
        for parameter in &template.outputs.parameters {
            known
                .names
                .insert(format!("outputs.parameters.{}.path", parameter.name));
        }
        known
    }

    pub(super) fn with_item(&self, step: &Step) -> Self {
        let mut known = self.clone();
        known.names.insert("item".to_owned());
        match &step.with_items {
            Some(items) => {
                for item in items.iter().filter_map(Value::as_object) {
                    known.names.extend(item.keys().map(|key| format!("item.{key}")));
                }
            }
            None => {
                known.open.insert("item.".to_owned());
            }
        }
        known
    }

    /// What may be said of a step or task.
    pub(super) fn learn(&mut self, side: &str, step: &Step, template: Option<&Template>) {
        let prefix = format!("{side}.{}", step.name);
        for name in [
            "id",
            "ip",
            "status",
            "exitCode",
            "startedAt",
            "finishedAt",
            "hostNodeName",
            "outputs.result",
            "outputs.parameters",
            "outputs.exitCode",
        ] {
            self.names.insert(format!("{prefix}.{name}"));
        }
        let Some(template) = template else {
            self.open.insert(format!("{prefix}.outputs."));
            return;
        };
        for parameter in &template.outputs.parameters {
            self.names
                .insert(format!("{prefix}.outputs.parameters.{}", parameter.name));
        }
        for artifact in &template.outputs.artifacts {
            if let Some(name) = artifact["name"].as_str() {
                self.names.insert(format!("{prefix}.outputs.artifacts.{name}"));
            }
        }
        if template.http.is_some() {
            self.open.insert(format!("{prefix}.outputs."));
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
            || self
                .open
                .iter()
                .any(|beginning| name.starts_with(beginning.as_str()))
    }

    /// Whether an expression may speak of a name: of a part of one as well.
    fn has_part(&self, name: &str) -> bool {
        let dotted = format!("{name}.");
        self.has(name)
            || self
                .names
                .iter()
                .any(|known| known.starts_with(&dotted) || name.starts_with(&format!("{known}.")))
            || self.open.iter().any(|known| known.starts_with(&dotted))
    }
}

fn is_ours(name: &str) -> bool {
    name == "item" || SIDES.iter().any(|side| name.starts_with(side))
}

impl Check<'_> {
    /// Every text of a document.
    pub(super) fn texts(&mut self, value: &Value, field: &str, known: &Known) {
        match value {
            Value::String(text) => self.text(text, field, known),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.texts(item, &format!("{field}[{index}]"), known);
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    self.texts(value, &format!("{field}.{key}"), known);
                }
            }
            _ => {}
        }
    }

    pub(super) fn text(&mut self, text: &str, field: &str, known: &Known) {
        let Ok(parts) = tags::parts(text) else { return };
        for part in parts {
            match part {
                Part::Text(_) => {}
                Part::Name(name) => {
                    if is_ours(name) && !known.has(name) {
                        self.problem(
                            field,
                            format!("failed to resolve {{{{{name}}}}}{}", hint(name, known)),
                        );
                    }
                }
                Part::Expression(text) => match expression::read(text) {
                    Err(error) => self.problem(field, format!("expression `{text}`: {error}")),
                    Ok(read) => {
                        for name in read.names() {
                            if is_ours(&name) && !known.has_part(&name) {
                                self.problem(
                                    field,
                                    format!(
                                        "expression `{text}`: failed to resolve {name}{}",
                                        hint(&name, known)
                                    ),
                                );
                            }
                        }
                    }
                },
            }
        }
    }
}

/// A name beside it that is almost the same.
fn hint(name: &str, known: &Known) -> String {
    let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
    let beside = known.names.iter().filter_map(|known| {
        let (known_parent, known_last) = known.rsplit_once('.').unwrap_or(("", known));
        (known_parent == parent && known_last != "json").then_some(known_last)
    });
    match super::meant(last, beside) {
        Some(meant) => format!("; did you mean {{{{{parent}.{meant}}}}}?"),
        None => String::new(),
    }
}
