//! What runs beside a node: hooks while a condition holds, and handlers of its end.

use std::collections::BTreeMap;

use super::{
    execute::{Caller, Options},
    outputs::add_outputs,
    resolve::Base,
    walk::{Halt, Walk},
};
use crate::{
    expression,
    model::{Arguments, Hook, Step},
    names,
    node::{Node, NodeFlag, NodeType},
    scope::Scope,
    tags::{self, Stage},
};

const HOOKED: NodeFlag = NodeFlag {
    hooked: true,
    retried: false,
};

impl Walk<'_> {
    /// Whether all hooks of the workflow that were begun have ended.
    pub(super) fn run_workflow_hooks(&mut self) -> Result<bool, Halt> {
        let hooks = self.spec.hooks.clone();
        let mut is_done = true;
        for (hook_name, hook) in hooks.iter().filter(|(name, _)| *name != "exit") {
            let name = names::hook(&self.name, hook_name);
            if hook.expression.is_empty() {
                return Err(Halt::Broken(format!("Expression required for hook {name}")));
            }
            if !self.is_triggered(hook, &name, &self.globals.clone())? {
                continue;
            }
            let options = Options {
                flag: Some(HOOKED),
                ..Options::default()
            };
            self.execute(
                &name,
                &step_of(hook),
                Caller::None,
                &Base::Local,
                &hook.arguments,
                options,
            )?;
            let parent = self.name.clone();
            self.add_child(&parent, &name);
            is_done &= self.node(&name).is_some_and(Node::is_fulfilled);
        }
        Ok(is_done)
    }

    /// Whether all hooks of a node that were begun have ended.
    pub(super) fn run_hooks(
        &mut self,
        hooks: &BTreeMap<String, Hook>,
        node: &Node,
        boundary: &str,
        base: &Base,
        prefix: &str,
        scope: &Scope,
    ) -> Result<bool, Halt> {
        let mut is_done = true;
        for (hook_name, hook) in hooks.iter().filter(|(name, _)| *name != "exit") {
            let name = names::hook(&node.name, hook_name);
            if hook.expression.is_empty() {
                return Err(Halt::Broken(format!("Expression required for hook {name}")));
            }
            let whole = self.globals.with(scope);
            if !self.is_triggered(hook, &name, &whole)? {
                continue;
            }
            let arguments = self.hook_arguments(hook, node, prefix, scope)?;
            let options = Options {
                boundary: boundary.to_owned(),
                flag: Some(HOOKED),
                ..Options::default()
            };
            self.execute(&name, &step_of(hook), Caller::None, base, &arguments, options)?;
            self.add_child(&node.name, &name);
            is_done &= self.node(&name).is_some_and(Node::is_fulfilled);
        }
        Ok(is_done)
    }

    /// A hook that was begun is gone on with.
    fn is_triggered(&self, hook: &Hook, name: &str, scope: &Scope) -> Result<bool, Halt> {
        if self.node(name).is_some() {
            return Ok(true);
        }
        expression::holds(&hook.expression, &scope.environment())
            .map_err(|error| Halt::Broken(error.to_string()))
    }

    /// Whether the handler of a node's end has ended, if there is one.
    pub(super) fn run_exit_hook(
        &mut self,
        hook: Option<&Hook>,
        node: &Node,
        boundary: &str,
        base: &Base,
        prefix: &str,
        scope: &Scope,
    ) -> Result<bool, Halt> {
        let Some(hook) = hook else { return Ok(true) };
        let name = names::on_exit(&node.name);
        if self.node(&name).is_none() {
            if !self.shutdown.allows(true) {
                return Ok(true);
            }
            if !hook.expression.is_empty() {
                let environment = self.globals.with(scope).environment();
                let holds = expression::holds(&hook.expression, &environment);
                if !holds.map_err(|error| Halt::Broken(error.to_string()))? {
                    return Ok(true);
                }
            }
        }
        let arguments = self.hook_arguments(hook, node, prefix, scope)?;
        let options = Options {
            boundary: boundary.to_owned(),
            is_on_exit: true,
            flag: Some(HOOKED),
            ..Options::default()
        };
        let outcome = self.execute(&name, &step_of(hook), Caller::None, base, &arguments, options);
        if self.node(&name).is_some() {
            self.add_child(&node.name, &name);
        }
        match outcome {
            Ok(()) => Ok(self.node(&name).is_some_and(Node::is_fulfilled)),
            Err(Halt::Later) if self.plan.unknown.is_empty() => Ok(false),
            Err(Halt::Later) => Err(Halt::Later),
            // The handler's own node tells of it.
            Err(_) => Ok(true),
        }
    }

    fn hook_arguments(
        &self,
        hook: &Hook,
        node: &Node,
        prefix: &str,
        scope: &Scope,
    ) -> Result<Arguments, Halt> {
        if hook.arguments.is_empty() {
            return Ok(hook.arguments.clone());
        }
        let node = match node.r#type {
            NodeType::Retry => self.last_attempt(node).unwrap_or(node),
            _ => node,
        };
        let mut scope = self.globals.with(scope);
        if let Some(outputs) = &node.outputs {
            add_outputs(&mut scope, prefix, outputs);
        }
        let written = serde_json::to_value(&hook.arguments).map_err(|error| error.to_string())?;
        let replaced = tags::replace(&written, &scope, Stage::Lenient).map_err(|error| error.to_string())?;
        let arguments: Arguments = serde_json::from_value(replaced).map_err(|error| error.to_string())?;
        let mut step = Step {
            arguments,
            ..Step::default()
        };
        self.fill_in_artifacts(&mut step, &scope)?;
        Ok(step.arguments)
    }
}

fn step_of(hook: &Hook) -> Step {
    Step {
        template: hook.template.clone(),
        template_ref: hook.template_ref.clone(),
        ..Step::default()
    }
}
