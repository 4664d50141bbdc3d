//! Steps, tasks and hooks that use templates: what they must supply, and what they may speak of.

use std::borrow::Cow;

use serde_json::Value;

use super::{Check, Place, kind_of, variables::Known};
use crate::{
    graph::Graph,
    model::{Arguments, Step, Template, TemplateType},
    tags,
};

impl Check<'_> {
    /// Whether a template gets what it needs, and what is wrong inside of it.
    pub(super) fn call(
        &mut self,
        step: &Step,
        place: &Place,
        arguments: &Arguments,
        field: &str,
        arguments_field: &str,
        known: &Known,
    ) {
        let Some((place, written, at)) = self.resolve(step, place, field) else {
            return;
        };
        if place.source.is_some() {
            self.shape(&written, &at);
        }
        let inputs: crate::model::Inputs =
            serde_json::from_value(written["inputs"].clone()).unwrap_or_default();
        for input in &inputs.parameters {
            let given = arguments
                .parameters
                .iter()
                .position(|argument| argument.name == input.name);
            let argument = given.map(|index| &arguments.parameters[index]);
            let has_argument = argument.is_some_and(|argument| {
                argument.value.is_some() || argument.value_from.is_some() || argument.default.is_some()
            });
            let has_own = input.value.is_some() || input.default.is_some() || input.value_from.is_some();
            if !has_argument && !has_own {
                self.problem(
                    arguments_field,
                    format!("inputs.parameters.{} was not supplied", input.name),
                );
            }
            if let (Some(value), Some(allowed)) = (
                argument.and_then(|argument| argument.value.as_ref()),
                &input.r#enum,
            ) && !tags::has_tags(&value.0)
                && !allowed.contains(value)
            {
                let index = given.unwrap_or_default();
                self.problem(
                    format!("{arguments_field}.parameters[{index}].value"),
                    format!(
                        "'{}' is not in the enum of inputs.parameters.{}",
                        value.0, input.name
                    ),
                );
            }
        }
        for input in &inputs.artifacts {
            let name = input["name"].as_str().unwrap_or_default();
            let is_given = arguments
                .artifacts
                .iter()
                .any(|argument| argument["name"] == name);
            let is_needed = input["optional"] != true && !crate::plan::has_location(input);
            if is_needed && !is_given {
                self.problem(
                    arguments_field,
                    format!("inputs.artifacts.{name} was not supplied"),
                );
            }
        }
        self.inside(&written, &place, &at, known);
    }

    /// A template's own parts, each template once.
    pub(super) fn inside(&mut self, written: &Value, place: &Place, field: &str, known: &Known) {
        if !self.visited.insert(field.to_owned()) {
            return;
        }
        let Ok(template) = serde_json::from_value::<Template>(written.clone()) else {
            return;
        };
        let known = known.inside(&template);
        match kind_of(written) {
            Some(TemplateType::Steps) => self.inside_steps(&template, place, field, &known),
            Some(TemplateType::Dag) => self.inside_dag(&template, place, field, &known),
            _ => {
                // Everything but what has names of its own is text that may speak of variables.
                let mut rest = written.clone();
                for own in ["inputs", "outputs"] {
                    rest[own] = Value::Null;
                }
                self.texts(&rest, field, &known.in_a_pod(&template));
            }
        }
    }

    fn inside_steps(&mut self, template: &Template, place: &Place, field: &str, known: &Known) {
        let mut known = known.clone();
        for (group_index, group) in template.steps.iter().flatten().enumerate() {
            for (index, step) in group.0.iter().enumerate() {
                let at = format!("{field}.steps[{group_index}][{index}]");
                self.step(step, place, &at, &known, "steps");
            }
            for step in &group.0 {
                self.learn(&mut known, step, place, "steps");
            }
        }
        self.own_outputs(template, field, &known);
    }

    fn inside_dag(&mut self, template: &Template, place: &Place, field: &str, known: &Known) {
        let Some(dag) = &template.dag else { return };
        let graph = Graph::of(&dag.tasks);
        for (index, task) in dag.tasks.iter().enumerate() {
            let at = format!("{field}.dag.tasks[{index}]");
            let mut own = known.clone();
            for other in graph.spoken_of(task) {
                self.learn(&mut own, other, place, "tasks");
            }
            self.step(task, place, &at, &own, "tasks");
        }
        let mut all = known.clone();
        for task in &dag.tasks {
            self.learn(&mut all, task, place, "tasks");
        }
        self.own_outputs(template, field, &all);
    }

    fn own_outputs(&mut self, template: &Template, field: &str, known: &Known) {
        for (index, parameter) in template.outputs.parameters.iter().enumerate() {
            let at = format!("{field}.outputs.parameters[{index}].valueFrom");
            let Some(source) = &parameter.value_from else {
                continue;
            };
            if !source.parameter.is_empty() {
                self.text(&source.parameter, &format!("{at}.parameter"), known);
            }
        }
        for (index, artifact) in template.outputs.artifacts.iter().enumerate() {
            if let Some(from) = artifact["from"].as_str() {
                self.text(from, &format!("{field}.outputs.artifacts[{index}].from"), known);
            }
        }
    }

    fn step(&mut self, step: &Step, place: &Place, field: &str, known: &Known, side: &str) {
        let inner = if step.is_loop() {
            Cow::Owned(known.with_item(step))
        } else {
            Cow::Borrowed(known)
        };
        self.text(&step.when, &format!("{field}.when"), &inner);
        self.text(&step.with_param, &format!("{field}.withParam"), known);
        for (index, argument) in step.arguments.parameters.iter().enumerate() {
            if let Some(value) = &argument.value {
                self.text(
                    &value.0,
                    &format!("{field}.arguments.parameters[{index}].value"),
                    &inner,
                );
            }
        }
        for (index, artifact) in step.arguments.artifacts.iter().enumerate() {
            let at = format!("{field}.arguments.artifacts[{index}]");
            if let Some(from) = artifact["from"].as_str() {
                self.text(from, &format!("{at}.from"), &inner);
            }
        }
        self.call(
            step,
            place,
            &step.arguments,
            field,
            &format!("{field}.arguments"),
            known,
        );
        if !step.hooks.is_empty() {
            let mut own = inner.into_owned();
            self.learn(&mut own, step, place, side);
            for (name, hook) in &step.hooks {
                self.hook(hook, place, &format!("{field}.hooks.{name}"), &own);
            }
        }
        if !step.on_exit.is_empty() {
            let exit = Step {
                template: step.on_exit.clone(),
                ..Step::default()
            };
            self.resolve(&exit, place, &format!("{field}.onExit"));
        }
    }

    /// What others may say of a step.
    fn learn(&mut self, known: &mut Known, step: &Step, place: &Place, side: &str) {
        let problems = self.problems.len();
        let found = self.resolve(step, place, "");
        // That it is not there is told where it is called.
        self.problems.truncate(problems);
        let template = found.and_then(|(_, written, _)| serde_json::from_value::<Template>(written).ok());
        known.learn(side, step, template.as_ref());
    }
}
