//! What every text of a workflow may speak of: `workflow.name`, `workflow.parameters.x` and so on, and the
//! specification that is executed.

use jiff::{Timestamp, fmt::strtime, tz::TimeZone};
use serde_json::{Value, json};

use super::{
    Unknown,
    walk::{Halt, Walk},
};
use crate::{
    expression,
    model::{Arguments, Spec, WorkflowTemplateRef},
    names,
    observed::TemplateSource,
    tags::{self, Stage},
};

impl Walk<'_> {
    /// The workflow's own specification over that of the template it refers to. What the template was at
    /// the beginning counts until the end.
    pub(super) fn executed_spec(&mut self) -> Result<Value, Halt> {
        let own = &self.object["spec"];
        if own["workflowTemplateRef"].is_null() {
            return Ok(own.clone());
        }
        if let Some(stored) = &self.status.stored_workflow_template_spec {
            return Ok(stored.clone());
        }
        let reference: WorkflowTemplateRef = serde_json::from_value(own["workflowTemplateRef"].clone())
            .map_err(|error| format!("invalid spec: {error}"))?;
        let source = TemplateSource {
            name: reference.name.clone(),
            is_cluster: reference.cluster_scope,
        };
        let found = match self.observed.templates.get(&source) {
            None => return Err(self.unknown(Unknown::Template(source))),
            Some(None) => return Err(Halt::Broken(not_found(&source))),
            Some(Some(template)) => template,
        };
        let spec = over(&found["spec"], own);
        self.status.stored_workflow_template_spec = Some(spec.clone());
        let label = if source.is_cluster {
            names::CLUSTER_WORKFLOW_TEMPLATE
        } else {
            names::WORKFLOW_TEMPLATE
        };
        self.set_label(label, source.name);
        Ok(spec)
    }
}

pub(super) fn not_found(source: &TemplateSource) -> String {
    let kind = if source.is_cluster {
        "clusterworkflowtemplates"
    } else {
        "workflowtemplates"
    };
    format!("{kind}.argoproj.io {:?} not found", source.name)
}

/// Lists whose entries are recognised by their names.
const NAMED: [&str; 6] = [
    "parameters",
    "artifacts",
    "templates",
    "volumes",
    "volumeClaimTemplates",
    "imagePullSecrets",
];

/// One specification over another: what a workflow executes that refers to a template for all of it.
pub fn over(base: &Value, own: &Value) -> Value {
    let mut merged = base.clone();
    lay(&mut merged, own, "");
    merged
}

fn lay(base: &mut Value, own: &Value, field: &str) {
    match (base, own) {
        (Value::Object(base), Value::Object(own)) => {
            // A value takes the place of a source of values.
            if own.contains_key("value") {
                base.remove("valueFrom");
            }
            for (key, value) in own {
                lay(base.entry(key.clone()).or_insert(Value::Null), value, key);
            }
        }
        (Value::Array(base), Value::Array(own)) if NAMED.contains(&field) => {
            for entry in own {
                let same = base
                    .iter_mut()
                    .find(|known| name_of(known).is_some() && name_of(known) == name_of(entry));
                match same {
                    Some(known) if field == "templates" => *known = entry.clone(),
                    Some(known) => lay(known, entry, ""),
                    None => base.push(entry.clone()),
                }
            }
        }
        (base, own) => *base = own.clone(),
    }
}

fn name_of(entry: &Value) -> Option<&Value> {
    let name = if entry["name"].is_null() {
        &entry["metadata"]["name"]
    } else {
        &entry["name"]
    };
    (!name.is_null()).then_some(name)
}

/// Sets the variables, and replaces them in the specification but for its templates, whose turn comes when
/// they are used.
pub(super) fn set(walk: &mut Walk<'_>) -> Result<(), Halt> {
    facts(walk);
    parameters(walk)?;
    let templates = std::mem::take(&mut walk.spec.templates);
    let written = serde_json::to_value(&walk.spec).map_err(|error| error.to_string())?;
    let replaced =
        tags::replace(&written, &walk.globals, Stage::Lenient).map_err(|error| error.to_string())?;
    walk.spec = serde_json::from_value::<Spec>(replaced).map_err(|error| format!("invalid spec: {error}"))?;
    walk.spec.templates = templates;
    // Parameters may speak of each other's surroundings: they have their last values now.
    parameters(walk)?;
    metadata(walk)?;
    walk.globals.set("workflow.status", walk.status.phase.text());
    Ok(())
}

fn facts(walk: &mut Walk<'_>) {
    let meta = &walk.object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let created = text(&meta["creationTimestamp"]);
    let globals = &mut walk.globals;
    globals.set("workflow.name", walk.name.clone());
    globals.set("workflow.namespace", walk.namespace.clone());
    globals.set("workflow.uid", text(&meta["uid"]));
    globals.set("workflow.mainEntrypoint", walk.spec.entrypoint.clone());
    globals.set(
        "workflow.serviceAccountName",
        walk.spec.service_account_name.clone(),
    );
    globals.set("workflow.creationTimestamp", created.clone());
    if let Ok(time) = created.parse::<Timestamp>() {
        let name = |form: &str| format!("workflow.creationTimestamp.{form}");
        globals.set(name("RFC3339"), created);
        globals.set(name("s"), time.as_second().to_string());
        let zoned = time.to_zoned(TimeZone::UTC);
        for letter in "YmdHMSBbAaFyjpIeTRcDZz".chars() {
            if let Ok(shown) = strtime::format(format!("%{letter}"), &zoned) {
                globals.set(name(&letter.to_string()), shown);
            }
        }
    }
    if let Some(priority) = &walk.spec.priority {
        globals.set("workflow.priority", priority.to_string());
    }
    if let Some(time) = meta["annotations"][names::SCHEDULED_TIME].as_str() {
        globals.set("workflow.scheduledTime", time);
    }
    let duration = walk.status.started_at.map_or(0.0, |started| {
        let until = walk.status.finished_at.unwrap_or(walk.now);
        (until.as_second() - started.as_second()) as f64
    });
    globals.set("workflow.duration", format!("{duration:.6}"));
    for field in ["labels", "annotations"] {
        let pairs = meta[field].as_object().cloned().unwrap_or_default();
        let json = Value::Object(pairs.clone()).to_string();
        globals.set(format!("workflow.{field}"), json.clone());
        globals.set(format!("workflow.{field}.json"), json);
        for (key, value) in &pairs {
            globals.set(format!("workflow.{field}.{key}"), text(value));
        }
    }
    let outputs = walk.status.outputs.clone().unwrap_or_default();
    for parameter in outputs.parameters {
        if let Some(value) = parameter.value {
            globals.set(format!("workflow.outputs.parameters.{}", parameter.name), value.0);
        }
    }
    for artifact in outputs.artifacts {
        let name = text(&artifact["name"]);
        globals.set_artifact(format!("workflow.outputs.artifacts.{name}"), artifact);
    }
}

fn parameters(walk: &mut Walk<'_>) -> Result<(), Halt> {
    let arguments: Arguments = walk.spec.arguments.clone();
    for parameter in &arguments.parameters {
        let name = format!("workflow.parameters.{}", parameter.name);
        if let Some(value) = parameter.value.as_ref().or(parameter.default.as_ref()) {
            walk.globals.set(name, value.0.clone());
            continue;
        }
        let source = parameter.value_from.clone().unwrap_or_default();
        let Some(key) = source.config_map_key_ref else {
            if source.supplied.is_some() {
                continue;
            }
            return Err(Halt::Broken(format!(
                "failed to set global parameters: either value or valueFrom must be specified in order to set global parameter {}",
                parameter.name
            )));
        };
        match walk.config_map_value(&key)? {
            Ok(value) => walk.globals.set(name, value),
            Err(_) if source.default.is_some() => {
                walk.globals.set(name, source.default.unwrap_or_default().0);
            }
            Err(problem) => {
                return Err(Halt::Broken(format!(
                    "failed to set global parameters: failed to set global parameter {} from configmap with name {} and key {}: {problem}",
                    parameter.name, key.name, key.key
                )));
            }
        }
    }
    let json = serde_json::to_string(&arguments.parameters).unwrap_or_default();
    walk.globals.set("workflow.parameters", json.clone());
    walk.globals.set("workflow.parameters.json", json);
    for artifact in &arguments.artifacts {
        if let Some(name) = artifact["name"].as_str() {
            walk.globals
                .set_artifact(format!("workflow.artifacts.{name}"), artifact.clone());
        }
    }
    Ok(())
}

/// Labels and annotations that the specification wants for the workflow itself.
fn metadata(walk: &mut Walk<'_>) -> Result<(), Halt> {
    let Some(metadata) = walk.spec.workflow_metadata.clone() else {
        return Ok(());
    };
    let is_new = walk.status.phase == crate::node::Phase::Unknown;
    for (name, value) in &metadata.labels {
        walk.globals
            .set(format!("workflow.labels.{name}"), value.0.clone());
        if is_new {
            walk.set_label(name, json!(value.0));
        }
    }
    for (name, value) in &metadata.annotations {
        walk.globals
            .set(format!("workflow.annotations.{name}"), value.0.clone());
        if is_new {
            walk.set_annotation(name, json!(value.0));
        }
    }
    for (name, source) in &metadata.labels_from {
        let value = expression::evaluate(&source.expression, &walk.globals.environment())
            .map_err(|error| format!("failed to evaluate label {name}: {error}"))?;
        let Value::String(text) = value else {
            return Err(Halt::Broken(format!(
                "failed to evaluate label {name}: it is no text"
            )));
        };
        walk.globals.set(format!("workflow.labels.{name}"), text.clone());
        if is_new {
            walk.set_label(name, json!(text));
        }
    }
    Ok(())
}
