//! What steps give each other: outputs become variables, and templates' outputs are made of those.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    execute::Use,
    walk::{Halt, Walk},
};
use crate::{
    expression,
    model::{Parameter, Step, Template, ValueFrom},
    names,
    node::{Node, NodeOutputs, NodeType, Phase},
    scope::Scope,
    tags::{self, Stage},
};

impl Walk<'_> {
    /// What a template may speak of from its beginning.
    pub(super) fn scope_of(&self, template: &Template) -> Scope {
        let mut scope = Scope::default();
        for input in &template.inputs.parameters {
            if let Some(value) = &input.value {
                scope.set(format!("inputs.parameters.{}", input.name), value.0.clone());
            }
        }
        for input in &template.inputs.artifacts {
            if let Some(name) = input["name"].as_str() {
                scope.set_artifact(format!("inputs.artifacts.{name}"), input.clone());
            }
        }
        let outputs = self.status.outputs.clone().unwrap_or_default();
        for parameter in outputs.parameters {
            if let Some(value) = parameter.value {
                scope.set(format!("workflow.outputs.parameters.{}", parameter.name), value.0);
            }
        }
        for artifact in outputs.artifacts {
            let name = artifact["name"].as_str().unwrap_or_default();
            scope.set_artifact(format!("workflow.outputs.artifacts.{name}"), artifact.clone());
        }
        scope
    }

    /// The outputs of a step that has ended, or of all its items.
    pub(super) fn add_to_scope(
        &mut self,
        scope: &mut Scope,
        group: &str,
        step: &Step,
        used: &Use<'_>,
    ) -> Result<(), Halt> {
        let name = names::child(group, &step.name);
        let prefix = format!("steps.{}", step.name);
        if let Some(node) = self.node(&name).cloned() {
            self.add_node_to_scope(scope, &prefix, &node);
            self.add_absent(scope, &prefix, &node, step, used);
            return Ok(());
        }
        let start = format!("{name}(");
        let boundary = self.id(used.name);
        let items: Vec<Node> = self
            .status
            .nodes
            .values()
            .filter(|node| node.boundary_id == boundary && node.name.starts_with(&start))
            .cloned()
            .collect();
        add_aggregate(scope, &prefix, items)
    }

    pub(super) fn add_node_to_scope(&self, scope: &mut Scope, prefix: &str, node: &Node) {
        // Of several attempts the last counts.
        let node = match node.r#type {
            NodeType::Retry => self.last_attempt(node).unwrap_or(node),
            _ => node,
        };
        scope.set(format!("{prefix}.id"), node.id.clone());
        scope.set(format!("{prefix}.status"), node.phase.text());
        for (field, time) in [("startedAt", node.started_at), ("finishedAt", node.finished_at)] {
            if let Some(time) = time {
                scope.set(format!("{prefix}.{field}"), time.to_string());
            }
        }
        for (field, text) in [("ip", &node.pod_ip), ("hostNodeName", &node.host_node_name)] {
            if !text.is_empty() {
                scope.set(format!("{prefix}.{field}"), text.clone());
            }
        }
        if let Some(outputs) = &node.outputs {
            add_outputs(scope, prefix, outputs);
        }
    }

    pub(super) fn last_attempt(&self, node: &Node) -> Option<&Node> {
        let mut attempts = node.children.iter().filter_map(|id| self.status.nodes.get(id));
        attempts.rfind(|child| !child.is_hook())
    }

    /// The outputs that a step would have given had it not been skipped: their defaults, or nothing.
    pub(super) fn add_absent(
        &mut self,
        scope: &mut Scope,
        prefix: &str,
        node: &Node,
        step: &Step,
        used: &Use<'_>,
    ) {
        if !matches!(node.phase, Phase::Skipped | Phase::Omitted) || node.outputs.is_some() {
            return;
        }
        scope.set_absent(format!("{prefix}.outputs.result"));
        let Ok((_, template)) = self.resolve(step, used.base) else {
            return;
        };
        let parameters = template["outputs"]["parameters"].as_array().cloned();
        for parameter in parameters.unwrap_or_default() {
            let Ok(parameter) = serde_json::from_value::<Parameter>(parameter) else {
                continue;
            };
            let name = format!("{prefix}.outputs.parameters.{}", parameter.name);
            let default = parameter.value_from.and_then(|source| source.default);
            match default.or(parameter.default) {
                Some(default) => scope.set(name, default.0),
                None => scope.set_absent(name),
            }
        }
    }

    /// The outputs of a steps or DAG template, made of those inside.
    pub(super) fn template_outputs(
        &self,
        template: &Template,
        scope: &Scope,
    ) -> Result<Option<NodeOutputs>, Halt> {
        if template.outputs.parameters.is_empty() && template.outputs.artifacts.is_empty() {
            return Ok(None);
        }
        let mut outputs = NodeOutputs::default();
        for parameter in &template.outputs.parameters {
            let Some(source) = &parameter.value_from else {
                return Err(Halt::Broken(
                    "output parameters must have a valueFrom specified".to_owned(),
                ));
            };
            let value = match (value_from(source, scope), &source.default) {
                (Ok(value), _) => value,
                (Err(_), Some(default)) => default.0.clone(),
                (Err(problem), None) => return Err(Halt::Broken(problem)),
            };
            outputs.parameters.push(Parameter {
                value: Some(value.into()),
                value_from: None,
                ..parameter.clone()
            });
        }
        for artifact in &template.outputs.artifacts {
            match self.artifact_from(artifact, scope) {
                Ok(Some(mut found)) => {
                    for field in ["globalName", "archive"] {
                        if !artifact[field].is_null() {
                            found[field] = artifact[field].clone();
                        }
                    }
                    outputs.artifacts.push(found);
                }
                Ok(None) => {}
                Err(_) if artifact["optional"] == true => {}
                Err(problem) => {
                    return Err(Halt::Broken(format!(
                        "unable to resolve outputs from scope: {problem}"
                    )));
                }
            }
        }
        Ok(Some(outputs))
    }

    /// The artifact that another one is; none where it says itself where it lies.
    pub(super) fn artifact_from(&self, artifact: &Value, scope: &Scope) -> Result<Option<Value>, String> {
        let from = artifact["from"].as_str().unwrap_or_default();
        let by_expression = artifact["fromExpression"].as_str().unwrap_or_default();
        let whole = self.globals.with(scope);
        let mut found = if !by_expression.is_empty() {
            let text = by_expression
                .trim()
                .trim_start_matches("{{=")
                .trim_end_matches("}}");
            expression::evaluate(text, &whole.environment()).map_err(|error| error.to_string())?
        } else if from.is_empty() {
            return Ok(None);
        } else {
            let name = tags::only_name(from).unwrap_or(from);
            whole
                .artifact(name)
                .cloned()
                .ok_or_else(|| format!("Unable to resolve: {{{{{name}}}}}"))?
        };
        if !found.is_object() {
            return Err(format!("{} is not an artifact", artifact["name"]));
        }
        found["name"] = artifact["name"].clone();
        if let Some(below) = artifact["subPath"].as_str().filter(|below| !below.is_empty()) {
            let below =
                tags::replace_text(below, &whole, Stage::Lenient).map_err(|error| error.to_string())?;
            found["subPath"] = match found["subPath"].as_str() {
                Some(above) => json!(format!("{above}/{below}")),
                None => json!(below),
            };
        }
        Ok(Some(found))
    }

    /// Outputs that have a name for the whole workflow.
    pub(super) fn publish(&mut self, outputs: &NodeOutputs) {
        for parameter in outputs
            .parameters
            .iter()
            .filter(|parameter| !parameter.global_name.is_empty())
        {
            let name = parameter.global_name.clone();
            let value = parameter.value.clone();
            if let Some(value) = &value {
                self.globals
                    .set(format!("workflow.outputs.parameters.{name}"), value.0.clone());
            }
            let all = &mut self.status.outputs.get_or_insert_default().parameters;
            let published = Parameter {
                name: name.clone(),
                value,
                ..Parameter::default()
            };
            match all.iter_mut().find(|known| known.name == name) {
                Some(known) => *known = published,
                None => all.push(published),
            }
        }
        for artifact in &outputs.artifacts {
            let Some(name) = artifact["globalName"].as_str().filter(|name| !name.is_empty()) else {
                continue;
            };
            let mut published = artifact.clone();
            if let Some(fields) = published.as_object_mut() {
                fields.remove("globalName");
                fields.remove("path");
                fields.insert("name".to_owned(), json!(name));
            }
            self.globals
                .set_artifact(format!("workflow.outputs.artifacts.{name}"), published.clone());
            let all = &mut self.status.outputs.get_or_insert_default().artifacts;
            match all.iter_mut().find(|known| known["name"] == name) {
                Some(known) => *known = published,
                None => all.push(published),
            }
        }
    }
}

pub(super) fn add_outputs(scope: &mut Scope, prefix: &str, outputs: &NodeOutputs) {
    if let Some(result) = &outputs.result {
        scope.set(format!("{prefix}.outputs.result"), result.clone());
    }
    if let Some(code) = &outputs.exit_code {
        scope.set(format!("{prefix}.exitCode"), code.clone());
    }
    for parameter in &outputs.parameters {
        if let Some(value) = &parameter.value {
            scope.set(
                format!("{prefix}.outputs.parameters.{}", parameter.name),
                value.0.clone(),
            );
        }
    }
    for artifact in &outputs.artifacts {
        if let Some(name) = artifact["name"].as_str() {
            scope.set_artifact(format!("{prefix}.outputs.artifacts.{name}"), artifact.clone());
        }
    }
}

fn value_from(source: &ValueFrom, scope: &Scope) -> Result<String, String> {
    if !source.expression.is_empty() {
        let value = expression::evaluate(&source.expression, &scope.environment());
        return match value.map_err(|error| error.to_string())? {
            Value::String(text) => Ok(text),
            Value::Null => Err(format!("`{}` has no value", source.expression)),
            other => Ok(expression::to_json(&other)),
        };
    }
    if !source.parameter.is_empty() {
        let name = tags::only_name(&source.parameter);
        if let Some(name) = name {
            return scope
                .get(name)
                .map(str::to_owned)
                .ok_or_else(|| format!("Unable to resolve: {{{{{name}}}}}"));
        }
        return tags::replace_text(&source.parameter, scope, Stage::Outputs)
            .map_err(|error| error.to_string());
    }
    Ok(String::new())
}

/// The number of an item: `w[0].s(12:x)` is the twelfth.
fn number_of(name: &str) -> usize {
    let inner = name.rsplit_once('(').map(|(_, inner)| inner).unwrap_or_default();
    let digits = inner.split(':').next().unwrap_or_default();
    digits.parse().unwrap_or_default()
}

/// The outputs of the items of a loop, as lists.
pub(super) fn add_aggregate(scope: &mut Scope, prefix: &str, items: Vec<Node>) -> Result<(), Halt> {
    let mut items: Vec<Node> = items
        .into_iter()
        .filter(|item| !item.is_hook() && !item.is_attempt())
        .collect();
    if items.is_empty() {
        return Ok(());
    }
    items.sort_by_key(|item| number_of(&item.name));
    let mut all = Vec::new();
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut results = Vec::new();
    for item in items.iter().filter(|item| item.phase == Phase::Succeeded) {
        let Some(outputs) = &item.outputs else { continue };
        let mut own = Map::new();
        for parameter in &outputs.parameters {
            let value = parameter.value.clone().unwrap_or_default().0;
            own.insert(parameter.name.clone(), json!(value));
            by_name.entry(parameter.name.clone()).or_default().push(value);
        }
        if !own.is_empty() {
            all.push(Value::Object(own));
        }
        if let Some(result) = &outputs.result {
            let value: Value = serde_json::from_str(result).map_err(|error| {
                format!(
                    "the result of {} is no JSON, which those of a loop must be: {error}",
                    item.display_name
                )
            })?;
            results.push(value);
        }
    }
    scope.set(format!("{prefix}.outputs.result"), json!(results).to_string());
    scope.set(format!("{prefix}.outputs.parameters"), json!(all).to_string());
    for (name, values) in by_name {
        // A list of JSON values is a list of those, not of texts.
        let parsed: Result<Vec<Value>, _> = values.iter().map(|value| serde_json::from_str(value)).collect();
        let list = parsed.map_or_else(|_| json!(values), |parsed| json!(parsed));
        scope.set(format!("{prefix}.outputs.parameters.{name}"), list.to_string());
    }
    Ok(())
}
