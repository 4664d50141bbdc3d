//! The whole of a workflow, once: pods are assessed, the entry point is gone through, handlers of its end run.

use serde_json::{Value, json};

use super::{
    execute::{Caller, Options},
    resolve::Base,
    walk::{Halt, Walk},
};
use crate::{
    model::{Hook, Step, exit_hook},
    names,
    node::{Node, NodeFlag, Phase},
};

/// The handler of a workflow's end.
enum Handler {
    NotWanted,
    Runs,
    Done(Box<Node>),
}

impl Walk<'_> {
    pub(super) fn operate(&mut self) {
        if self.status.phase == Phase::Unknown && self.is_waiting_at_the_gate() {
            return;
        }
        if self.status.phase == Phase::Pending && self.is_waiting_at_the_gate() {
            return;
        }
        if matches!(self.status.phase, Phase::Unknown | Phase::Pending) {
            self.set_phase(Phase::Running, String::new());
            self.set_annotation(names::POD_NAME_FORMAT, "v2");
        }
        self.set_deadline();
        self.assess_pods();
        self.fail_what_has_no_pod();
        if !self.plan.unknown.is_empty() || self.is_suspended() {
            return;
        }
        self.active_pods = self.count_active_pods(None);
        if self.make_claims() {
            self.go_through();
        }
    }

    /// The lock of the workflow as a whole.
    fn is_waiting_at_the_gate(&mut self) -> bool {
        let Some(synchronization) = self.spec.synchronization.clone() else {
            return false;
        };
        match self.try_lock("", &synchronization) {
            Ok(None) => false,
            Ok(Some(waiting)) => {
                if self.shutdown.is_on() {
                    self.complete(
                        Phase::Failed,
                        format!("Stopped with strategy '{}'", self.shutdown.text()),
                    );
                } else {
                    self.set_phase(Phase::Pending, waiting.message);
                }
                true
            }
            Err(Halt::Later) => true,
            Err(Halt::Broken(message) | Halt::TimedOut(message)) => {
                let message = format!("Failed to acquire the synchronization lock. {message}");
                self.complete(Phase::Failed, message);
                true
            }
        }
    }

    /// A suspended workflow begins nothing new. What is being stopped is not suspended any more.
    fn is_suspended(&self) -> bool {
        self.object["spec"]["suspend"] == true && !self.shutdown.is_on() && !self.is_past_deadline()
    }

    fn go_through(&mut self) {
        let entry = Step {
            template: self.spec.entrypoint.clone(),
            ..Step::default()
        };
        let (name, arguments) = (self.name.clone(), self.spec.arguments.clone());
        let outcome = self.execute(
            &name,
            &entry,
            Caller::None,
            &Base::Local,
            &arguments,
            Options::default(),
        );
        if !self.plan.unknown.is_empty() {
            return;
        }
        match outcome {
            Ok(()) | Err(Halt::Later) => {}
            Err(Halt::Broken(message) | Halt::TimedOut(message)) => {
                let message = format!("error in entry template execution: {message}");
                return self.complete(Phase::Error, message);
            }
        }
        let Some(node) = self.node(&name).cloned() else {
            return;
        };
        self.tell_of_state(&node);
        match self.run_workflow_hooks() {
            Ok(true) => {}
            Ok(false) | Err(Halt::Later) => return,
            Err(Halt::Broken(message) | Halt::TimedOut(message)) => {
                self.mark(&name, Phase::Error, Some(&message));
            }
        }
        let Some(node) = self.node(&name).cloned() else {
            return;
        };
        if !node.is_fulfilled() {
            return;
        }
        match self.run_exit_handler() {
            Ok(Handler::NotWanted) => self.conclude(&node, None),
            Ok(Handler::Done(exit)) => self.conclude(&node, Some(&exit)),
            Ok(Handler::Runs) | Err(Halt::Later) => {}
            Err(Halt::Broken(message) | Halt::TimedOut(message)) => {
                self.complete(
                    Phase::Error,
                    format!("error in exit template execution : {message}"),
                );
            }
        }
    }

    /// What handlers may ask about the workflow.
    fn tell_of_state(&mut self, node: &Node) {
        let phase = match node.phase {
            Phase::Skipped | Phase::Omitted => Phase::Succeeded,
            phase => phase,
        };
        self.globals.set("workflow.status", phase.text());
        let failures: Vec<Value> = self
            .status
            .nodes
            .values()
            .filter(|node| node.phase.is_failure())
            .map(|node| {
                json!({
                    "displayName": node.display_name,
                    "message": node.message,
                    "templateName": node.template(),
                    "phase": node.phase.text(),
                    "podName": self.pod_name(node),
                    "finishedAt": node.finished_at,
                })
            })
            .collect();
        // It is put into JSON by users, as a text.
        let text = if failures.is_empty() {
            "null".to_owned()
        } else {
            json!(failures).to_string()
        };
        self.globals.set("workflow.failures", json!(text).to_string());
    }

    /// What has become of the handler of the workflow's end.
    fn run_exit_handler(&mut self) -> Result<Handler, Halt> {
        let Some(hook) = exit_hook(&self.spec.hooks, &self.spec.on_exit, &self.spec.arguments) else {
            return Ok(Handler::NotWanted);
        };
        let name = names::on_exit(&self.name);
        if self.node(&name).is_none() && !self.shutdown.allows(true) {
            return Ok(Handler::NotWanted);
        }
        if !self.is_hook_wanted(&hook)? && self.node(&name).is_none() {
            return Ok(Handler::NotWanted);
        }
        let step = Step {
            template: hook.template,
            template_ref: hook.template_ref,
            ..Step::default()
        };
        let options = Options {
            is_on_exit: true,
            flag: Some(NodeFlag {
                hooked: true,
                retried: false,
            }),
            ..Options::default()
        };
        self.execute(&name, &step, Caller::None, &Base::Local, &hook.arguments, options)?;
        let node = self.node(&name).cloned();
        Ok(node
            .filter(Node::is_fulfilled)
            .map_or(Handler::Runs, |node| Handler::Done(Box::new(node))))
    }

    fn is_hook_wanted(&self, hook: &Hook) -> Result<bool, Halt> {
        if hook.expression.is_empty() {
            return Ok(true);
        }
        crate::expression::holds(&hook.expression, &self.globals.environment())
            .map_err(|error| Halt::Broken(error.to_string()))
    }

    fn conclude(&mut self, node: &Node, exit: Option<&Node>) {
        self.kill_daemons("");
        let phase = match node.phase {
            Phase::Skipped | Phase::Omitted | Phase::Running => Phase::Succeeded,
            phase => phase,
        };
        if phase == Phase::Succeeded {
            return match exit.filter(|exit| exit.phase.is_failure()) {
                Some(exit) => self.complete(exit.phase, exit.message.clone()),
                None => self.complete(Phase::Succeeded, String::new()),
            };
        }
        let message = if self.shutdown.is_on() {
            format!("Stopped with strategy '{}'", self.shutdown.text())
        } else {
            node.message.clone()
        };
        self.complete(phase, message);
    }

    /// Daemons end with what they were for.
    pub(super) fn kill_daemons(&mut self, boundary: &str) {
        let daemons: Vec<String> = self
            .status
            .nodes
            .values()
            .filter(|node| node.is_daemoned() && (boundary.is_empty() || node.boundary_id == boundary))
            .map(|node| node.name.clone())
            .collect();
        for name in daemons {
            let id = self.id(&name);
            if let Some(pod) = self.pods.get(id.as_str()).copied() {
                self.stop_pod(pod);
            }
            if let Some(node) = self.node_mut(&name) {
                node.daemoned = None;
            }
            self.mark(&name, Phase::Succeeded, None);
        }
    }
}
