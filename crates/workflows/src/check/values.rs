//! What templates are given and what they give: each by a name of its own, and from somewhere.

use std::collections::BTreeSet;

use super::Check;
use crate::model::{Template, TemplateType};

impl Check<'_> {
    pub(super) fn inputs(&mut self, template: &Template, field: &str) {
        let mut names = BTreeSet::new();
        for (index, parameter) in template.inputs.parameters.iter().enumerate() {
            let at = format!("{field}.inputs.parameters[{index}].name");
            if parameter.name.is_empty() {
                self.problem(at.clone(), "name is required");
            }
            if !names.insert(parameter.name.as_str()) {
                self.problem(at, format!("name '{}' is not unique", parameter.name));
            }
        }
        let mut names = BTreeSet::new();
        for (index, artifact) in template.inputs.artifacts.iter().enumerate() {
            let at = format!("{field}.inputs.artifacts[{index}]");
            let name = artifact["name"].as_str().unwrap_or_default();
            if name.is_empty() || !names.insert(name) {
                self.problem(format!("{at}.name"), "artifacts need names of their own");
            }
            let is_pod = template.kind().is_some_and(TemplateType::is_pod);
            if is_pod && artifact["path"].as_str().is_none_or(str::is_empty) {
                self.problem(
                    format!("{at}.path"),
                    format!("inputs.artifacts.{name}.path is required"),
                );
            }
        }
    }

    pub(super) fn outputs(&mut self, template: &Template, field: &str) {
        let kind = template.kind();
        let is_pod = kind.is_some_and(TemplateType::is_pod);
        let mut names = BTreeSet::new();
        for (index, parameter) in template.outputs.parameters.iter().enumerate() {
            let at = format!("{field}.outputs.parameters[{index}]");
            if parameter.name.is_empty() || !names.insert(parameter.name.as_str()) {
                self.problem(format!("{at}.name"), "output parameters need names of their own");
            }
            let Some(source) = &parameter.value_from else {
                if parameter.value.is_none() {
                    self.problem(
                        format!("{at}.valueFrom"),
                        format!(
                            "outputs.parameters.{} does not have valueFrom or value specified",
                            parameter.name
                        ),
                    );
                }
                continue;
            };
            let is_fine = match kind {
                Some(TemplateType::Suspend) => source.supplied.is_some(),
                Some(TemplateType::Resource) => !source.json_path.is_empty() || !source.jq_filter.is_empty(),
                Some(TemplateType::Steps | TemplateType::Dag) => {
                    !source.parameter.is_empty() || !source.expression.is_empty()
                }
                _ => !source.path.is_empty(),
            };
            if !is_fine {
                let wanted = match kind {
                    Some(TemplateType::Suspend) => "supplied",
                    Some(TemplateType::Resource) => "jsonPath or jqFilter",
                    Some(TemplateType::Steps | TemplateType::Dag) => "parameter or expression",
                    _ => "path",
                };
                self.problem(
                    format!("{at}.valueFrom"),
                    format!(
                        "outputs.parameters.{}.valueFrom needs {wanted} in a template of this type",
                        parameter.name
                    ),
                );
            }
            if !source.expression.is_empty()
                && let Err(error) = crate::expression::read(&source.expression)
            {
                self.problem(format!("{at}.valueFrom.expression"), error.to_string());
            }
        }
        for (index, artifact) in template.outputs.artifacts.iter().enumerate() {
            let at = format!("{field}.outputs.artifacts[{index}]");
            let name = artifact["name"].as_str().unwrap_or_default();
            if name.is_empty() {
                self.problem(format!("{at}.name"), "name is required");
            }
            let has_path = artifact["path"].as_str().is_some_and(|path| !path.is_empty());
            let has_from = !artifact["from"].is_null() || !artifact["fromExpression"].is_null();
            if is_pod && !has_path {
                self.problem(
                    format!("{at}.path"),
                    format!("outputs.artifacts.{name}.path is required"),
                );
            }
            if !is_pod && !has_from {
                self.problem(
                    format!("{at}.from"),
                    format!("outputs.artifacts.{name}.from is required"),
                );
            }
            if !artifact["archive"]["zip"].is_null() {
                self.problem(
                    format!("{at}.archive.zip"),
                    "archives are made by tar, or not at all: write tar or none",
                );
            }
        }
    }
}
