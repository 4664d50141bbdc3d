//! Groups of steps, one after the other; the steps of a group at the same time.

use std::collections::HashMap;

use super::{
    execute::{Caller, Options, Use},
    walk::{Halt, NewNode, Walk},
};
use crate::{
    items,
    model::Step,
    names,
    node::{Node, NodeType, Phase},
    scope::Scope,
    tags::{self, Stage, TagError},
    when,
};

impl Walk<'_> {
    pub(super) fn execute_steps(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        if self.node(used.name).is_none() {
            self.add_node(used.new_node(NodeType::Steps, Phase::Running));
        }
        let outcome = self.go_through_groups(used);
        let id = self.id(used.name);
        if self.node(used.name).is_some_and(|node| node.phase.is_fulfilled()) {
            self.kill_daemons(&id);
        }
        outcome
    }

    fn go_through_groups(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        let groups = used.template.steps.as_deref().unwrap_or_default();
        let mut scope = self.scope_of(used.template);
        for (index, group) in groups.iter().enumerate() {
            let name = names::group(used.name, index);
            self.connect_group(used, index, &name);
            self.execute_group(used, &group.0, &name, &mut scope)?;
            let Some(node) = self.node(&name).cloned() else {
                return Ok(());
            };
            if !node.phase.is_fulfilled() {
                return Ok(());
            }
            if node.phase.is_failure() {
                self.update_outbound(used.name, groups.len());
                self.mark(used.name, Phase::Failed, Some(&node.message));
                return Ok(());
            }
            for step in &group.0 {
                self.add_to_scope(&mut scope, &name, step, used)?;
            }
        }
        let outputs = self.template_outputs(used.template, &scope)?;
        if let Some(outputs) = outputs {
            self.publish(&outputs);
            if let Some(node) = self.node_mut(used.name) {
                node.outputs = Some(outputs);
            }
        }
        self.update_outbound(used.name, groups.len());
        self.mark(used.name, Phase::Succeeded, None);
        self.remember(used.name);
        Ok(())
    }

    /// The node of a group, with its place in the graph.
    fn connect_group(&mut self, used: &Use<'_>, index: usize, name: &str) {
        let boundary = self.id(used.name);
        let scope = used.base.text(&self.name);
        if self.node(name).is_none() {
            self.add_node(NewNode {
                name,
                kind: NodeType::StepGroup,
                step: None,
                scope: &scope,
                boundary: &boundary,
                phase: Phase::Running,
                flag: None,
                inputs: None,
                message: String::new(),
            });
        }
        let Some(before) = index.checked_sub(1) else {
            return self.add_child(used.name, name);
        };
        let before = names::group(used.name, before);
        let children = self
            .node(&before)
            .map(|node| node.children.clone())
            .unwrap_or_default();
        if children.is_empty() {
            return self.add_child(&before, name);
        }
        for child in children {
            for outbound in self.outbound(&child) {
                if let Some(parent) = self.status.nodes.get(&outbound).map(|node| node.name.clone()) {
                    self.add_child(&parent, name);
                }
            }
        }
    }

    fn update_outbound(&mut self, name: &str, groups: usize) {
        // The last group that was begun.
        let last = (0..groups).rev().map(|index| names::group(name, index));
        let last = last.into_iter().find_map(|group| self.node(&group).cloned());
        let Some(last) = last else { return };
        let mut outbound = Vec::new();
        for child in &last.children {
            for id in self.outbound(child) {
                if !outbound.contains(&id) {
                    outbound.push(id);
                }
            }
        }
        if let Some(node) = self.node_mut(name) {
            node.outbound_nodes = outbound;
        }
    }

    fn execute_group(
        &mut self,
        used: &Use<'_>,
        steps: &[Step],
        group: &str,
        scope: &mut Scope,
    ) -> Result<(), Halt> {
        if self.node(group).is_some_and(|node| node.phase.is_fulfilled()) {
            return Ok(());
        }
        let steps = match self.ready(steps, scope, used) {
            Ok(steps) => steps,
            Err(Halt::Broken(message)) => {
                self.mark(group, Phase::Error, Some(&message));
                return Ok(());
            }
            Err(halt) => return Err(halt),
        };
        let mut by_name = HashMap::new();
        for step in &steps {
            let name = names::child(group, &step.name);
            if !self.begin_step(used, step, group, &name)? {
                return Ok(());
            }
            by_name.insert(name, step);
        }
        self.finish_group(used, group, &by_name, scope)
    }

    /// Whether the group can go on with its other steps.
    fn begin_step(&mut self, used: &Use<'_>, step: &Step, group: &str, name: &str) -> Result<bool, Halt> {
        let boundary = self.id(used.name);
        let scope = used.base.text(&self.name);
        let skipped = |phase, message: String| NewNode {
            name,
            kind: NodeType::Skipped,
            step: Some(step),
            scope: &scope,
            boundary: &boundary,
            phase,
            flag: None,
            inputs: None,
            message,
        };
        if self.node(name).is_none() {
            match when::holds(&step.when) {
                Ok(true) => {}
                Ok(false) => {
                    let message = format!("when '{}' evaluated false", step.when);
                    self.add_node(skipped(Phase::Skipped, message));
                    self.add_child(group, name);
                    return Ok(true);
                }
                Err(error) => {
                    self.add_node(skipped(Phase::Error, error.to_string()));
                    self.add_child(group, name);
                    self.mark(group, Phase::Error, Some(&error.to_string()));
                    return Ok(false);
                }
            }
        }
        let options = Options {
            boundary: boundary.clone(),
            is_on_exit: used.options.is_on_exit,
            ..Options::default()
        };
        match self.execute(name, step, Caller::Step, used.base, &step.arguments, options) {
            Ok(()) | Err(Halt::TimedOut(_)) => {}
            Err(Halt::Later) if self.plan.unknown.is_empty() => {}
            Err(Halt::Later) => return Err(Halt::Later),
            Err(Halt::Broken(message)) => {
                self.add_child(group, name);
                let message = format!("step group deemed errored due to child {name} error: {message}");
                self.mark(group, Phase::Error, Some(&message));
                return Ok(false);
            }
        }
        if self.node(name).is_some() {
            self.add_child(group, name);
        }
        // A group ends early where its template is not to go on after failures.
        Ok(!self.node(group).is_some_and(|node| node.phase.is_fulfilled()))
    }

    fn finish_group(
        &mut self,
        used: &Use<'_>,
        group: &str,
        steps: &HashMap<String, &Step>,
        scope: &mut Scope,
    ) -> Result<(), Halt> {
        let boundary = self.id(used.name);
        let children = self.children_of(group);
        let mut is_done = steps.keys().all(|name| self.node(name).is_some());
        for child in &children {
            let Some(step) = steps.get(&child.name) else {
                continue;
            };
            // An item of a loop is called by the name of its step.
            let own_name = step.name.split('(').next().unwrap_or_default();
            let prefix = format!("steps.{own_name}");
            scope.set(format!("steps.{}.status", child.display_name), child.phase.text());
            scope.set(format!("{prefix}.status"), child.phase.text());
            is_done &= self.run_hooks(&step.hooks, child, &boundary, used.base, &prefix, scope)?;
            if !child.is_fulfilled() {
                is_done = false;
            } else if child.is_completed() {
                let hook = step.exit_hook(&self.spec.arguments);
                is_done &= self.run_exit_hook(hook.as_ref(), child, &boundary, used.base, &prefix, scope)?;
            }
        }
        if !is_done {
            return Ok(());
        }
        for child in &children {
            let Some(step) = steps.get(&child.name) else {
                continue;
            };
            if child.phase.is_failure() && !step.continues_on(child.phase) {
                let message = format!("child '{}' failed", child.id);
                self.mark(group, Phase::Failed, Some(&message));
                return Ok(());
            }
        }
        self.mark(group, Phase::Succeeded, None);
        Ok(())
    }

    pub(super) fn children_of(&self, name: &str) -> Vec<Node> {
        let ids = self
            .node(name)
            .map(|node| node.children.clone())
            .unwrap_or_default();
        ids.iter()
            .filter_map(|id| self.status.nodes.get(id).cloned())
            .collect()
    }

    /// The steps of a group with what they need from steps before, each item of a loop for itself.
    fn ready(&mut self, steps: &[Step], scope: &Scope, used: &Use<'_>) -> Result<Vec<Step>, Halt> {
        let scope = self.globals.with(scope);
        let mut ready = Vec::new();
        for step in steps {
            let step = self.fill_in(step, &scope, used).map_err(|halt| match halt {
                Halt::Broken(message) => Halt::Broken(format!("Failed to resolve references: {message}")),
                halt => halt,
            })?;
            ready.extend(items::expand(&step, &scope)?);
        }
        Ok(ready)
    }

    /// Replaces what a step or task says of others; its hooks speak of itself, and wait.
    pub(super) fn fill_in(&mut self, step: &Step, scope: &Scope, used: &Use<'_>) -> Result<Step, Halt> {
        let mut step = step.clone();
        let hooks = std::mem::take(&mut step.hooks);
        // A step that is skipped need not be complete.
        let resolved =
            tags::replace_text(&step.when, scope, Stage::Outputs).map_err(|error| error.to_string())?;
        if !step.is_loop() && matches!(when::holds(&resolved), Ok(false)) {
            step.when = resolved;
            step.hooks = hooks;
            return Ok(step);
        }
        self.drop_absent(&mut step, scope, used)?;
        let written = serde_json::to_value(&step).map_err(|error| error.to_string())?;
        let replaced = tags::replace(&written, scope, Stage::Outputs).map_err(|error| match error {
            TagError::Missing(name) => format!("failed to resolve {{{{{name}}}}}"),
            error => error.to_string(),
        })?;
        let mut filled: Step = serde_json::from_value(replaced).map_err(|error| error.to_string())?;
        filled.hooks = hooks;
        self.fill_in_artifacts(&mut filled, scope)?;
        Ok(filled)
    }

    /// Where an argument is nothing but an output that a skipped step did not give, the input's own default
    /// counts.
    fn drop_absent(&mut self, step: &mut Step, scope: &Scope, used: &Use<'_>) -> Result<(), Halt> {
        let is_absent = |text: &str| tags::only_name(text).is_some_and(|name| scope.is_absent(name));
        let mentions = step
            .arguments
            .parameters
            .iter()
            .any(|argument| argument.value.as_ref().is_some_and(|value| is_absent(&value.0)));
        if !mentions {
            return Ok(());
        }
        let (_, template) = self.resolve(step, used.base)?;
        let inputs = template["inputs"]["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        step.arguments.parameters.retain(|argument| {
            let input = inputs
                .iter()
                .find(|input| input["name"] == argument.name.as_str());
            let has_default =
                input.is_some_and(|input| !input["default"].is_null() || !input["value"].is_null());
            !(has_default && argument.value.as_ref().is_some_and(|value| is_absent(&value.0)))
        });
        Ok(())
    }

    pub(super) fn fill_in_artifacts(&self, step: &mut Step, scope: &Scope) -> Result<(), Halt> {
        let mut artifacts = Vec::new();
        for artifact in &step.arguments.artifacts {
            match self.artifact_from(artifact, scope) {
                Ok(Some(found)) => artifacts.push(found),
                Ok(None) => artifacts.push(artifact.clone()),
                Err(_) if artifact["optional"] == true => {}
                Err(problem) => {
                    return Err(Halt::Broken(format!("unable to resolve references: {problem}")));
                }
            }
        }
        step.arguments.artifacts = artifacts;
        Ok(())
    }
}
