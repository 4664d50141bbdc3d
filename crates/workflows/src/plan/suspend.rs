//! Steps that wait: for a while, or for somebody.

use super::{
    execute::Use,
    walk::{Halt, Walk, later},
};
use crate::{
    duration,
    model::{Parameter, Template},
    node::{NodeOutputs, NodeType, Phase},
};

impl Walk<'_> {
    pub(super) fn execute_suspend(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        if self.node(used.name).is_none() {
            let supplied = supplied(used.template);
            let node = self.add_node(used.new_node(NodeType::Suspend, Phase::Running));
            if !supplied.is_empty() {
                node.outputs = Some(NodeOutputs {
                    parameters: supplied,
                    ..NodeOutputs::default()
                });
            }
        }
        let text = used
            .template
            .suspend
            .as_ref()
            .map(|suspend| suspend.duration.0.clone());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        let length = duration::parse(&text).map_err(Halt::Broken)?;
        let started = self
            .node(used.name)
            .and_then(|node| node.started_at)
            .unwrap_or(self.now);
        let until = later(started, i64::try_from(length.as_secs()).unwrap_or(i64::MAX));
        if self.now < until {
            self.wake_at(until);
            return Ok(());
        }
        self.resume_with_defaults(used.name)?;
        Ok(())
    }

    /// Nobody said anything: outputs that somebody was to supply have their defaults.
    fn resume_with_defaults(&mut self, name: &str) -> Result<(), Halt> {
        let Some(node) = self.node_mut(name) else {
            return Ok(());
        };
        for parameter in node
            .outputs
            .iter_mut()
            .flat_map(|outputs| &mut outputs.parameters)
        {
            if parameter.value.is_some() {
                continue;
            }
            let default = parameter.value_from.take().and_then(|source| source.default);
            let Some(default) = default else {
                return Err(Halt::Broken(format!(
                    "raw output parameter '{}' has not been set and does not have a default value",
                    parameter.name
                )));
            };
            parameter.value = Some(default);
        }
        self.mark(name, Phase::Succeeded, None);
        let outputs = self.node(name).and_then(|node| node.outputs.clone());
        if let Some(outputs) = outputs {
            self.publish(&outputs);
        }
        Ok(())
    }
}

/// What somebody is to supply. Where nobody does, the default of the input of the same name will do too.
fn supplied(template: &Template) -> Vec<Parameter> {
    let is_supplied = |parameter: &&Parameter| {
        let source = parameter.value_from.as_ref();
        source.is_some_and(|source| source.supplied.is_some())
    };
    let mut supplied: Vec<Parameter> = template
        .outputs
        .parameters
        .iter()
        .filter(is_supplied)
        .cloned()
        .collect();
    for parameter in &mut supplied {
        let mut inputs = template.inputs.parameters.iter();
        let input = inputs.find(|input| input.name == parameter.name);
        if let Some(source) = &mut parameter.value_from
            && source.default.is_none()
        {
            source.default = input.and_then(|input| input.default.clone());
        }
    }
    supplied
}
