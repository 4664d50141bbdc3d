//! From the name of a template to the template itself, with its inputs filled in.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Unknown, globals,
    walk::{Halt, Walk},
};
use crate::{
    model::{Arguments, Inputs, KeyRef, Parameter, Step, Template, TemplateType},
    observed::TemplateSource,
    scope::Scope,
    tags::{self, Stage},
};

/// Where the name of a template is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// In the workflow itself.
    Local,
    In(TemplateSource),
}

impl Base {
    /// How it is written in nodes.
    pub(super) fn text(&self, workflow: &str) -> String {
        match self {
            Self::Local => format!("local/{workflow}"),
            Self::In(source) => format!("{}/{}", scope_of(source), source.name),
        }
    }
}

fn scope_of(source: &TemplateSource) -> &'static str {
    if source.is_cluster {
        "cluster"
    } else {
        "namespaced"
    }
}

impl Walk<'_> {
    /// The template a step refers to, as it is written, and where names in it are looked up.
    pub(super) fn resolve(&mut self, step: &Step, base: &Base) -> Result<(Base, Value), Halt> {
        let (base, template) = self.find(step, base)?;
        let template = self.with_defaults(template);
        if TemplateType::of(&template).is_none() {
            let name = template["name"].as_str().unwrap_or_default();
            return Err(Halt::Broken(format!("template '{name}' type is unknown")));
        }
        Ok((base, template))
    }

    fn find(&mut self, step: &Step, base: &Base) -> Result<(Base, Value), Halt> {
        if !step.inline.is_null() {
            return Ok((base.clone(), step.inline.clone()));
        }
        let (base, name) = match &step.template_ref {
            Some(reference) => {
                let source = TemplateSource {
                    name: reference.name.clone(),
                    is_cluster: reference.cluster_scope,
                };
                (Base::In(source), reference.template.as_str())
            }
            None => (base.clone(), step.template.as_str()),
        };
        let source = match &base {
            Base::Local => {
                let place = self.templates.get(name);
                let mut template = place
                    .map(|place| self.spec.templates[*place].clone())
                    .ok_or_else(|| Halt::Broken(format!("template {name} not found")))?;
                add_pod_metadata(&mut template, &json!(self.spec.pod_metadata));
                return Ok((base, template));
            }
            Base::In(source) => source.clone(),
        };
        let key = format!("{}/{}/{name}", scope_of(&source), source.name);
        if let Some(stored) = self.status.stored_templates.get(&key) {
            return Ok((base, stored.clone()));
        }
        let found = match self.observed.templates.get(&source) {
            None => return Err(self.unknown(Unknown::Template(source))),
            Some(None) => return Err(Halt::Broken(globals::not_found(&source))),
            Some(Some(found)) => found,
        };
        let templates = found["spec"]["templates"].as_array().into_iter().flatten();
        let mut named = templates.filter(|template| template["name"] == name);
        let mut template = named.next().cloned().ok_or_else(|| {
            Halt::Broken(format!(
                "template {name} not found in workflow template {}",
                source.name
            ))
        })?;
        add_pod_metadata(&mut template, &found["spec"]["podMetadata"]);
        self.status.stored_templates.insert(key, template.clone());
        Ok((base, template))
    }

    /// What `templateDefaults` say counts where the template says nothing.
    fn with_defaults(&self, template: Value) -> Value {
        if self.spec.template_defaults.is_null() {
            return template;
        }
        let mut defaults = self.spec.template_defaults.clone();
        let kind = TemplateType::of(&template);
        for (field, other) in TemplateType::ALL {
            // What is for another type of template is not for this one.
            if Some(other) != kind
                && let Some(fields) = defaults.as_object_mut()
            {
                fields.remove(field);
            }
        }
        globals::over(&defaults, &template)
    }

    /// Fills in a template's inputs and replaces what is known by now.
    pub(super) fn process(
        &mut self,
        template: &Value,
        arguments: &Arguments,
        locals: &Scope,
    ) -> Result<Template, Halt> {
        let mut template = template.clone();
        let inputs: Inputs = read_inputs(&template)?;
        let inputs = self.fill(inputs, arguments)?;
        template["inputs"] = serde_json::to_value(&inputs).map_err(|error| error.to_string())?;
        let scope = self.globals.with(locals);
        let mut template = substitute(&template, &scope)?;
        let inputs = read_inputs(&template)?;
        let scope = scope.with(&input_scope(&template, &inputs));
        template = substitute(&template, &scope)?;
        serde_json::from_value(template).map_err(|error| Halt::Broken(error.to_string()))
    }

    fn fill(&mut self, mut inputs: Inputs, arguments: &Arguments) -> Result<Inputs, Halt> {
        for input in &mut inputs.parameters {
            let argument = arguments
                .parameters
                .iter()
                .find(|argument| argument.name == input.name);
            self.fill_parameter(input, argument)?;
        }
        for input in &mut inputs.artifacts {
            let name = input["name"].as_str().unwrap_or_default().to_owned();
            let argument = arguments
                .artifacts
                .iter()
                .find(|argument| argument["name"] == name.as_str());
            let is_optional = input["optional"] == true;
            if !is_optional && !has_location(input) {
                let Some(argument) = argument else {
                    return Err(Halt::Broken(format!("inputs.artifacts.{name} was not supplied")));
                };
                if !has_location(argument) && argument["optional"] != true {
                    return Err(Halt::Broken(format!(
                        "inputs.artifacts.{name} missing location information"
                    )));
                }
            }
            if let Some(argument) = argument {
                let mut filled = argument.clone();
                for field in ["path", "mode", "recurseMode", "optional"] {
                    if !input[field].is_null() {
                        filled[field] = input[field].clone();
                    }
                }
                *input = filled;
            }
        }
        Ok(inputs)
    }

    fn fill_parameter(&mut self, input: &mut Parameter, argument: Option<&Parameter>) -> Result<(), Halt> {
        if input.value.is_none() {
            input.value.clone_from(&input.default);
        }
        if let Some(argument) = argument {
            if argument.value.is_some() {
                input.value.clone_from(&argument.value);
                input.value_from = None;
            } else if argument.value_from.is_some() {
                input.value_from.clone_from(&argument.value_from);
                input.value = None;
            }
        }
        if input.value.is_some() {
            return Ok(());
        }
        let source = input.value_from.clone().unwrap_or_default();
        let Some(mut key) = source.config_map_key_ref else {
            if source.supplied.is_some() {
                return Ok(());
            }
            return Err(Halt::Broken(format!(
                "inputs.parameters.{} was not supplied",
                input.name
            )));
        };
        for text in [&mut key.name, &mut key.key] {
            *text =
                tags::replace_text(text, &self.globals, Stage::Lenient).map_err(|error| error.to_string())?;
        }
        input.value = match (self.config_map_value(&key)?, source.default) {
            (Ok(value), _) => Some(value.into()),
            (Err(_), Some(default)) => Some(default),
            (Err(problem), None) => {
                return Err(Halt::Broken(format!(
                    "unable to retrieve inputs.parameters.{} from ConfigMap: {problem}",
                    input.name
                )));
            }
        };
        Ok(())
    }

    /// A value of a ConfigMap of the workflow's namespace, or why there is none.
    pub(super) fn config_map_value(&mut self, key: &KeyRef) -> Result<Result<String, String>, Halt> {
        let found = self.config_map(&self.namespace.clone(), &key.name)?;
        let Some(data) = found else {
            return Ok(Err(format!("ConfigMap '{}' does not exist", key.name)));
        };
        Ok(data
            .get(&key.key)
            .cloned()
            .ok_or_else(|| format!("ConfigMap '{}' does not have the key '{}'", key.name, key.key)))
    }

    pub(super) fn config_map(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, Halt> {
        let key = (namespace.to_owned(), name.to_owned());
        match self.observed.config_maps.get(&key) {
            Some(found) => Ok(found.clone()),
            None => Err(self.unknown(Unknown::ConfigMap(key.0, key.1))),
        }
    }
}

fn read_inputs(template: &Value) -> Result<Inputs, Halt> {
    let inputs = &template["inputs"];
    if inputs.is_null() {
        return Ok(Inputs::default());
    }
    serde_json::from_value(inputs.clone()).map_err(|error| Halt::Broken(format!("inputs: {error}")))
}

pub(super) fn substitute(value: &Value, scope: &Scope) -> Result<Value, Halt> {
    tags::replace(value, scope, Stage::Lenient).map_err(|error| Halt::Broken(error.to_string()))
}

/// What a template may say of its own inputs and outputs.
fn input_scope(template: &Value, inputs: &Inputs) -> Scope {
    let mut scope = Scope::default();
    for parameter in &inputs.parameters {
        if let Some(value) = &parameter.value {
            scope.set(format!("inputs.parameters.{}", parameter.name), value.0.clone());
        }
    }
    let all = serde_json::to_string(&inputs.parameters).unwrap_or_default();
    scope.set("inputs.parameters", all);
    let mut paths = |side: &str, artifacts: &Value| {
        for artifact in artifacts.as_array().into_iter().flatten() {
            if let (Some(name), Some(path)) = (artifact["name"].as_str(), artifact["path"].as_str()) {
                scope.set(format!("{side}.artifacts.{name}.path"), path);
            }
        }
    };
    paths("inputs", &json!(inputs.artifacts));
    paths("outputs", &template["outputs"]["artifacts"]);
    for parameter in template["outputs"]["parameters"].as_array().into_iter().flatten() {
        if let (Some(name), Some(path)) = (
            parameter["name"].as_str(),
            parameter["valueFrom"]["path"].as_str(),
        ) {
            scope.set(format!("outputs.parameters.{name}.path"), path);
        }
    }
    scope
}

/// Fields of an artifact that say where it lies.
const LOCATIONS: [&str; 12] = [
    "s3",
    "gcs",
    "oss",
    "azure",
    "hdfs",
    "http",
    "git",
    "raw",
    "artifactory",
    "plugin",
    "trainyard",
    "volume",
];

pub(crate) fn has_location(artifact: &Value) -> bool {
    LOCATIONS.iter().any(|field| !artifact[*field].is_null())
}

/// What is said of all pods counts where a template says nothing.
fn add_pod_metadata(template: &mut Value, metadata: &Value) {
    for field in ["labels", "annotations"] {
        let Some(pairs) = metadata[field].as_object() else {
            continue;
        };
        for (key, value) in pairs {
            let known = &mut template["metadata"][field][key];
            if known.is_null() {
                *known = value.clone();
            }
        }
    }
}
