//! One use of a template: whether it may begin, what it is, and what becomes of it.

use jiff::Timestamp;

use super::{
    Unknown,
    assess::OUT_OF_TIME,
    limits::Limits,
    resolve::Base,
    walk::{Halt, NewNode, Walk, later},
};
use crate::{
    duration,
    model::{Arguments, RetryStrategy, Step, Template, TemplateType},
    names,
    node::{Node, NodeFlag, NodeType, Phase},
    scope::Scope,
};

/// Workflows may call themselves, but not for ever.
const DEEPEST: usize = 100;

/// Who uses a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    None,
    Step,
    Task,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// The id of the node around.
    pub(super) boundary: String,
    pub(super) is_on_exit: bool,
    pub(super) flag: Option<NodeFlag>,
    /// Attempts must not go on beyond this.
    pub(super) deadline: Option<Timestamp>,
}

/// What is being executed, as it is passed on.
pub(super) struct Use<'a> {
    pub(super) name: &'a str,
    pub(super) step: &'a Step,
    /// Where the step was found, as nodes have it.
    pub(super) scope: &'a str,
    /// Where names in the template are looked up.
    pub(super) base: &'a Base,
    pub(super) template: &'a Template,
    pub(super) options: &'a Options,
}

impl<'a> Use<'a> {
    pub(super) fn new_node(&self, kind: NodeType, phase: Phase) -> NewNode<'a> {
        let inputs = &self.template.inputs;
        let has_inputs = !inputs.parameters.is_empty() || !inputs.artifacts.is_empty();
        NewNode {
            name: self.name,
            kind,
            step: Some(self.step),
            scope: self.scope,
            boundary: &self.options.boundary,
            phase,
            flag: self.options.flag,
            inputs: has_inputs.then(|| inputs.clone()),
            message: String::new(),
        }
    }
}

impl Walk<'_> {
    /// Goes on with a node, or begins it. What has become of it is found in the nodes; there may be none yet.
    pub(super) fn execute(
        &mut self,
        name: &str,
        step: &Step,
        caller: Caller,
        base: &Base,
        arguments: &Arguments,
        options: Options,
    ) -> Result<(), Halt> {
        if self.node(name).is_some_and(|node| node.phase.is_fulfilled()) {
            self.unlock(name);
            return Ok(());
        }
        if self.depth >= DEEPEST {
            return Err(Halt::Broken(format!(
                "Maximum recursion depth exceeded. {DEEPEST} templates call each other"
            )));
        }
        self.depth += 1;
        let outcome = self.execute_inner(name, step, caller, base, arguments, options.clone());
        self.depth -= 1;
        if let Err(Halt::Broken(message) | Halt::TimedOut(message)) = &outcome {
            let scope = base.text(&self.name);
            let phase = if matches!(outcome, Err(Halt::TimedOut(_))) {
                Phase::Failed
            } else {
                Phase::Error
            };
            let new = NewNode {
                name,
                kind: NodeType::Skipped,
                step: Some(step),
                scope: &scope,
                boundary: &options.boundary,
                phase,
                flag: options.flag,
                inputs: None,
                message: String::new(),
            };
            if phase == Phase::Failed {
                self.mark(name, phase, Some(message));
            } else if !self.node(name).is_some_and(|node| node.phase.is_fulfilled()) {
                self.mark_error(new, message);
                if let Some(pod) = self.pods.get(self.id(name).as_str()).copied() {
                    self.stop_pod(pod);
                }
            }
            self.unlock(name);
        }
        outcome
    }

    fn execute_inner(
        &mut self,
        name: &str,
        step: &Step,
        caller: Caller,
        base: &Base,
        arguments: &Arguments,
        options: Options,
    ) -> Result<(), Halt> {
        let scope = base.text(&self.name);
        let (base, written) = self.resolve(step, base)?;
        let mut locals = Scope::default();
        let template_name = written["name"].as_str().unwrap_or_default();
        let is_retried = self.spec.retry_strategy.is_some() || !written["retryStrategy"].is_null();
        if !is_retried {
            locals.set(
                "pod.name",
                names::pod_name(&self.name, name, template_in_pod_name(step, template_name)),
            );
        }
        match caller {
            Caller::Task => locals.set("tasks.name", step.name.clone()),
            Caller::Step => locals.set("steps.name", step.name.clone()),
            Caller::None => {}
        }
        locals.set("node.name", name);
        let template = self.process(&written, arguments, &locals)?;
        self.show_as(name, &template);
        let retries = self.retry_strategy(&template);
        if retries.is_none() {
            self.check_timeout(name, &template)?;
        }
        if let Err(halt) = self.check_limits(name, &template, &options.boundary) {
            self.leave_queues(name);
            return Err(halt);
        }
        let used = Use {
            name,
            step,
            scope: &scope,
            base: &base,
            template: &template,
            options: &options,
        };
        if let Some(synchronization) = &template.synchronization
            && !self.lock_node(&used, synchronization)?
        {
            return Ok(());
        }
        if template.memoize.is_some() && self.recall(&used)? {
            self.unlock(name);
            return Ok(());
        }
        if let Some(node) = self.node_mut(name)
            && node.phase == Phase::Pending
            && !node.r#type.has_pod()
        {
            // It has waited for a lock or for its turn, and goes on now.
            node.phase = Phase::Running;
        }
        let outcome = match retries {
            Some(strategy) => self.retry(&used, &strategy),
            None => self.perform(&used),
        };
        if self.node(name).is_some_and(|node| node.phase.is_fulfilled()) {
            self.unlock(name);
        }
        outcome
    }

    pub(super) fn retry_strategy(&self, template: &Template) -> Option<RetryStrategy> {
        // Of the workflow's own strategy each attempt counts, not each group of them.
        let is_pod = template.kind().is_some_and(TemplateType::is_pod);
        let own = template.retry_strategy.clone();
        own.or_else(|| self.spec.retry_strategy.clone().filter(|_| is_pod))
    }

    /// What the template does, without locks and attempts.
    pub(super) fn perform(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        let kind = used.template.kind();
        if matches!(kind, Some(TemplateType::Steps | TemplateType::Dag)) {
            let limits = Limits::of(used.template);
            self.limits.insert(self.id(used.name), limits);
        }
        match kind {
            Some(TemplateType::Steps) => self.execute_steps(used),
            Some(TemplateType::Dag) => self.execute_dag(used),
            Some(TemplateType::Suspend) => self.execute_suspend(used),
            Some(TemplateType::Plugin) => Err(Halt::Broken("plugin templates are not supported".to_owned())),
            Some(TemplateType::Data) => Err(Halt::Broken("data templates are not supported".to_owned())),
            Some(_) => self.execute_pod(used),
            None => Err(Halt::Broken(format!(
                "Template '{}' missing specification",
                used.template.name
            ))),
        }
    }

    fn execute_pod(&mut self, used: &Use<'_>) -> Result<(), Halt> {
        let is_http = used.template.kind() == Some(TemplateType::Http);
        let is_new = self.node(used.name).is_none();
        if is_new && self.left_behind.contains(self.id(used.name).as_str()) {
            return Err(Halt::Later);
        }
        if is_new {
            let kind = if is_http { NodeType::Http } else { NodeType::Pod };
            self.add_node(used.new_node(kind, Phase::Pending));
            self.add_container_nodes(used);
        }
        let id = self.id(used.name);
        if let Some(pod) = self.pods.get(id.as_str()).copied() {
            // Others were assessed before. One that nobody could note may have ended, and takes no room then.
            let node = self
                .node(used.name)
                .filter(|_| is_new || !used.step.inline.is_null());
            if let Some(node) = node.cloned() {
                self.assess_as(&node, pod, used.template);
            }
            return Ok(());
        }
        if !self.shutdown.allows(used.options.is_on_exit) {
            let message = format!("workflow shutdown with strategy: {}", self.shutdown.text());
            self.mark(used.name, Phase::Failed, Some(&message));
            return Ok(());
        }
        if self.is_past_deadline() && !used.options.is_on_exit {
            self.mark(used.name, Phase::Failed, Some(OUT_OF_TIME));
            return Ok(());
        }
        let pod = self.build_pod(used)?;
        let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default();
        if let Some(refusal) = self.observed.refusals.get(pod_name) {
            if !refusal.is_passing {
                return Err(Halt::Broken(refusal.message.clone()));
            }
            let message = format!("{NOT_MADE}{}", refusal.message);
            self.mark(used.name, Phase::Pending, Some(&message));
        }
        let now = self.now;
        if let Some(node) = self.node_mut(used.name) {
            node.started_at.get_or_insert(now);
        }
        self.active_pods += 1;
        self.plan.make.push(pod);
        Ok(())
    }

    /// A template may say what people are to see.
    fn show_as(&mut self, name: &str, template: &Template) {
        let shown = template
            .annotations
            .get("workflows.argoproj.io/display-name")
            .map(|shown| shown.0.clone());
        if let (Some(shown), Some(node)) = (shown, self.node_mut(name))
            && !shown.is_empty()
        {
            node.display_name = shown;
        }
    }

    pub(super) fn check_timeout(&mut self, name: &str, template: &Template) -> Result<(), Halt> {
        let is_leaf = !matches!(template.kind(), Some(TemplateType::Steps | TemplateType::Dag));
        if template.timeout.is_empty() || !is_leaf {
            return Ok(());
        }
        let Some(node) = self.node(name) else {
            return Ok(());
        };
        let timeout = duration::parse(&template.timeout).map_err(Halt::Broken)?;
        let Some(started) = node.started_at else {
            return Ok(());
        };
        let deadline = later(started, i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX));
        if self.now < deadline {
            self.wake_at(deadline);
            return Ok(());
        }
        let id = self.id(name);
        if let Some(pod) = self.pods.get(id.as_str()).copied() {
            self.stop_pod(pod);
        }
        Err(Halt::TimedOut(OUT_OF_TIME.to_owned()))
    }

    /// The template of a node, with the inputs the node has.
    pub(super) fn template_of(&mut self, node: &Node) -> Result<Template, Halt> {
        let step = Step {
            template: node.template_name.clone(),
            template_ref: node.template_ref.clone(),
            ..Step::default()
        };
        let base = base_of(node);
        let (_, written) = self.resolve(&step, &base)?;
        let inputs = node.inputs.clone().unwrap_or_default();
        let arguments = Arguments {
            parameters: inputs.parameters,
            artifacts: inputs.artifacts,
        };
        let mut locals = Scope::default();
        locals.set("node.name", node.name.clone());
        self.process(&written, &arguments, &locals)
    }

    /// What a node has reported elsewhere, once it is known.
    pub(super) fn report_of(&mut self, id: &str) -> Option<crate::report::Report> {
        let known = self.observed.reports.get(id).cloned();
        if known.is_none() {
            self.unknown(Unknown::Report(id.to_owned()));
        }
        known
    }
}

/// How the message of a pending node begins whose pod could not be made so far.
pub(super) const NOT_MADE: &str = "pod not created: ";

/// Names of pods tell the template's name, unless it stands in the step itself.
fn template_in_pod_name<'t>(step: &Step, template: &'t str) -> &'t str {
    if step.inline.is_null() { template } else { "" }
}

/// Where the step of a node was found.
pub(super) fn base_of(node: &Node) -> Base {
    match node.template_scope.split_once('/') {
        Some((scope @ ("namespaced" | "cluster"), name)) => Base::In(crate::observed::TemplateSource {
            name: name.to_owned(),
            is_cluster: scope == "cluster",
        }),
        _ => Base::Local,
    }
}
