//! A walk over a workflow: what it is made of, the nodes that are there, and how they change.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Event, Locks, Plan, PodName, Unknown, finish, globals, limits::Limits, phase_label, progress};
use crate::{
    check,
    model::{Inputs, Spec, Step},
    names,
    node::{Node, NodeFlag, NodeType, Phase},
    observed::{Observed, Pod},
    scope::Scope,
    settings::Settings,
    status::Status,
};

/// Why something does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It may go on later: too much runs already, or something has to be looked up.
    Later,
    /// It took too long.
    TimedOut(String),
    /// It never will.
    Broken(String),
}

impl From<String> for Halt {
    fn from(message: String) -> Self {
        Self::Broken(message)
    }
}

/// How a workflow is being ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shutdown {
    None,
    /// Exit handlers still run.
    Stop,
    Terminate,
}

impl Shutdown {
    fn read(text: &str) -> Self {
        match text {
            "Stop" => Self::Stop,
            "Terminate" => Self::Terminate,
            _ => Self::None,
        }
    }

    pub(super) fn is_on(self) -> bool {
        self != Self::None
    }

    /// Whether something may still run.
    pub(super) fn allows(self, is_on_exit: bool) -> bool {
        match self {
            Self::None => true,
            Self::Stop => is_on_exit,
            Self::Terminate => false,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Stop => "Stop",
            Self::Terminate => "Terminate",
        }
    }
}

pub(super) struct Walk<'a> {
    pub(super) object: &'a Value,
    pub(super) name: String,
    pub(super) namespace: String,
    /// What is executed: the workflow's own specification, over that of the template it refers to.
    pub(super) spec: Spec,
    pub(super) status: Status,
    pub(super) observed: &'a Observed,
    pub(super) locks: &'a mut Locks,
    pub(super) settings: &'a Settings,
    pub(super) now: Timestamp,
    pub(super) globals: Scope,
    pub(super) plan: Plan,
    pub(super) shutdown: Shutdown,
    pub(super) deadline: Option<Timestamp>,
    /// Places in `spec.templates`.
    pub(super) templates: HashMap<String, usize>,
    /// By node id.
    pub(super) pods: HashMap<&'a str, &'a Pod>,
    pub(super) active_pods: i64,
    pub(super) depth: usize,
    /// Pods whose nodes nobody could note.
    pub(super) strays: Vec<&'a Pod>,
    /// Ids of nodes that were forgotten so that they are begun again, and whose pods from before are still there.
    pub(super) left_behind: HashSet<&'a str>,
    /// Of the templates that were gone through so far, by node id.
    pub(super) limits: HashMap<String, Limits>,
    /// Names of steps whose results others in the same template speak of, by the id of its node; none where the
    /// template is not known.
    pub(super) wanted_results: HashMap<String, Option<HashSet<String>>>,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
}

/// What a new node is.
pub(super) struct NewNode<'a> {
    pub(super) name: &'a str,
    pub(super) kind: NodeType,
    /// Empty for groups.
    pub(super) step: Option<&'a Step>,
    pub(super) scope: &'a str,
    pub(super) boundary: &'a str,
    pub(super) phase: Phase,
    pub(super) flag: Option<NodeFlag>,
    pub(super) inputs: Option<Inputs>,
    pub(super) message: String,
}

impl<'a> Walk<'a> {
    /// Puts together what is executed. A workflow that cannot be is ended here.
    pub(super) fn begin(
        object: &'a Value,
        status: Status,
        observed: &'a Observed,
        locks: &'a mut Locks,
        settings: &'a Settings,
        now: Timestamp,
    ) -> Result<Self, Box<Plan>> {
        let meta = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let mut walk = Self {
            object,
            name: text(&meta["name"]),
            namespace: text(&meta["namespace"]),
            spec: Spec::default(),
            status,
            observed,
            locks,
            settings,
            now,
            globals: Scope::default(),
            plan: Plan::default(),
            shutdown: Shutdown::None,
            deadline: None,
            templates: HashMap::new(),
            pods: HashMap::new(),
            active_pods: 0,
            depth: 0,
            strays: Vec::new(),
            left_behind: HashSet::new(),
            limits: HashMap::new(),
            wanted_results: HashMap::new(),
            labels: map(&meta["labels"]),
            annotations: map(&meta["annotations"]),
        };
        walk.sort_pods();
        match walk.read_spec() {
            Ok(()) => Ok(walk),
            Err(Halt::Later) => Err(Box::new(walk.plan)),
            Err(Halt::TimedOut(message) | Halt::Broken(message)) => {
                walk.complete(Phase::Failed, message);
                Err(Box::new(walk.end()))
            }
        }
    }

    fn read_spec(&mut self) -> Result<(), Halt> {
        let spec = self.executed_spec()?;
        if self.status.phase == Phase::Unknown {
            let problems = check::workflow(
                self.object,
                &spec,
                &self.observed.templates,
                &mut self.plan.unknown,
            );
            if !self.plan.unknown.is_empty() {
                return Err(Halt::Later);
            }
            if let Some(problem) = problems.first() {
                return Err(Halt::Broken(format!("invalid spec: {problem}")));
            }
            self.check_store(&spec)?;
        }
        self.spec = serde_json::from_value(spec).map_err(|error| format!("invalid spec: {error}"))?;
        globals::set(self)?;
        let names = self.spec.templates.iter().enumerate();
        self.templates = names
            .filter_map(|(at, template)| Some((template["name"].as_str()?.to_owned(), at)))
            .collect();
        self.shutdown = Shutdown::read(self.object["spec"]["shutdown"].as_str().unwrap_or_default());
        Ok(())
    }

    pub(super) fn set_deadline(&mut self) {
        let seconds = self
            .spec
            .active_deadline_seconds
            .as_ref()
            .and_then(crate::model::Number::integer);
        self.deadline = seconds
            .zip(self.status.started_at)
            .map(|(seconds, started)| later(started, seconds));
        if let Some(deadline) = self.deadline {
            self.wake_at(deadline);
        }
    }

    pub(super) fn is_past_deadline(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.now >= deadline)
    }

    pub(super) fn wake_at(&mut self, time: Timestamp) {
        if time > self.now {
            self.plan.wake_at = Some(self.plan.wake_at.map_or(time, |known| known.min(time)));
        }
    }

    pub(super) fn unknown(&mut self, unknown: Unknown) -> Halt {
        self.plan.unknown.insert(unknown);
        Halt::Later
    }

    pub(super) fn event(&mut self, is_warning: bool, reason: &'static str, message: impl Into<String>) {
        self.plan.events.push(Event {
            is_warning,
            reason,
            message: message.into(),
        });
    }

    pub(super) fn set_label(&mut self, name: &str, value: impl Into<Value>) {
        self.labels.insert(name.to_owned(), value.into());
    }

    pub(super) fn set_annotation(&mut self, name: &str, value: impl Into<Value>) {
        self.annotations.insert(name.to_owned(), value.into());
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).and_then(Value::as_str)
    }

    // --- Nodes

    pub(super) fn id(&self, name: &str) -> String {
        names::node_id(&self.name, name)
    }

    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.status.nodes.get(&self.id(name))
    }

    pub(super) fn node_mut(&mut self, name: &str) -> Option<&mut Node> {
        let id = self.id(name);
        self.status.nodes.get_mut(&id)
    }

    pub(super) fn add_node(&mut self, new: NewNode<'_>) -> &mut Node {
        let id = self.id(new.name);
        let boundary = self.status.nodes.get(new.boundary);
        let display_name = names::display_name(new.name, boundary.map(|node| node.name.as_str()));
        let node = Node {
            id: id.clone(),
            name: new.name.to_owned(),
            display_name,
            r#type: new.kind,
            template_name: new.step.map(|step| step.template.clone()).unwrap_or_default(),
            template_ref: new.step.and_then(|step| step.template_ref.clone()),
            template_scope: new.scope.to_owned(),
            phase: new.phase,
            boundary_id: new.boundary.to_owned(),
            message: new.message,
            started_at: Some(self.now),
            finished_at: new.phase.is_fulfilled().then_some(self.now),
            node_flag: new.flag,
            inputs: new.inputs,
            ..Node::default()
        };
        self.status.nodes.insert(id.clone(), node);
        self.status.nodes.entry(id).or_default()
    }

    /// Puts a node into a phase; a message replaces the one before.
    pub(super) fn mark(&mut self, name: &str, phase: Phase, message: Option<&str>) {
        let now = self.now;
        let Some(node) = self.node_mut(name) else { return };
        node.phase = phase;
        if let Some(message) = message {
            message.clone_into(&mut node.message);
        }
        if phase.is_fulfilled() && node.finished_at.is_none() {
            node.finished_at = Some(now);
        }
    }

    /// An error where there may be no node yet.
    pub(super) fn mark_error(&mut self, new: NewNode<'_>, message: &str) {
        if self.node(new.name).is_some() {
            self.mark(new.name, Phase::Error, Some(message));
        } else {
            self.add_node(NewNode {
                kind: NodeType::Skipped,
                phase: Phase::Error,
                message: message.to_owned(),
                ..new
            });
        }
    }

    pub(super) fn add_child(&mut self, parent: &str, child: &str) {
        let id = self.id(child);
        if let Some(parent) = self.node_mut(parent)
            && !parent.children.contains(&id)
        {
            parent.children.push(id);
        }
    }

    /// The nodes that what comes after a node follows upon.
    pub(super) fn outbound(&self, id: &str) -> Vec<String> {
        let Some(node) = self.status.nodes.get(id) else {
            return Vec::new();
        };
        let itself = || vec![node.id.clone()];
        match node.r#type {
            NodeType::Skipped | NodeType::Suspend | NodeType::Http | NodeType::Plugin => itself(),
            // The containers of a set hang below their pod; other children belong to what follows.
            NodeType::Pod | NodeType::Container => {
                let inner = node.children.iter().filter(|child| self.is_container(child));
                let outbound: Vec<String> = inner.flat_map(|child| self.outbound(child)).collect();
                if outbound.is_empty() { itself() } else { outbound }
            }
            NodeType::TaskGroup => {
                let items = node.children.iter().filter(|child| !self.is_hook(child));
                let outbound: Vec<String> = items.flat_map(|child| self.outbound(child)).collect();
                if outbound.is_empty() { itself() } else { outbound }
            }
            NodeType::Retry => {
                let mut attempts = node.children.iter().filter(|child| !self.is_hook(child));
                attempts
                    .next_back()
                    .map_or_else(Vec::new, |last| vec![last.clone()])
            }
            NodeType::StepGroup => Vec::new(),
            NodeType::Steps | NodeType::Dag => {
                if node.memoization_status.as_ref().is_some_and(|memo| memo.hit) {
                    return itself();
                }
                // Where there was nothing to do inside, what comes after follows upon the whole.
                let outbound = node.outbound_nodes.iter();
                let outbound: Vec<String> = outbound.flat_map(|id| self.outbound(id)).collect();
                if outbound.is_empty() { itself() } else { outbound }
            }
        }
    }

    fn is_container(&self, id: &str) -> bool {
        let node = self.status.nodes.get(id);
        node.is_some_and(|node| node.r#type == NodeType::Container)
    }

    fn is_hook(&self, id: &str) -> bool {
        self.status.nodes.get(id).is_some_and(Node::is_hook)
    }

    /// Whether a node is an exit handler or belongs to one.
    pub(super) fn is_on_exit(&self, node: &Node) -> bool {
        let mut node = node;
        loop {
            if node.name.ends_with(".onExit") && node.is_hook() {
                return true;
            }
            let Some(boundary) = self.status.nodes.get(&node.boundary_id) else {
                return node.name.contains(".onExit");
            };
            node = boundary;
        }
    }

    pub(super) fn pod_name(&self, node: &Node) -> String {
        names::pod_name(&self.name, &node.name, node.template())
    }

    // --- The workflow

    /// The whole has come to an end.
    pub(super) fn complete(&mut self, phase: Phase, message: String) {
        self.set_phase(phase, message);
        self.status.finished_at = Some(self.now);
        self.set_label(names::COMPLETED, "true");
        self.status
            .set_condition(json!({"type": "Completed", "status": "True"}));
        self.status
            .set_condition(json!({"type": "PodRunning", "status": "False"}));
        self.locks.leave_all_queues(&self.namespace, &self.name);
        let entry = self.name.clone();
        if phase == Phase::Error && self.node(&entry).is_some_and(|node| node.phase == Phase::Running) {
            self.mark(&entry, Phase::Error, Some("Workflow operation error"));
        }
        self.end_what_is_left();
    }

    /// Nothing of a workflow goes on when it has ended.
    fn end_what_is_left(&mut self) {
        let open = self
            .status
            .nodes
            .values()
            .filter(|node| !node.phase.is_fulfilled());
        let open: Vec<Node> = open.cloned().collect();
        for node in open {
            if let Some(pod) = self.pods.get(node.id.as_str()).copied() {
                self.stop_pod(pod);
            }
            self.mark(&node.name, Phase::Failed, Some("the workflow has ended"));
        }
    }

    pub(super) fn set_phase(&mut self, phase: Phase, message: String) {
        if self.status.phase != phase {
            self.status.phase = phase;
            self.set_label(names::PHASE, phase_label(phase));
            if self.label(names::COMPLETED).is_none() {
                self.set_label(names::COMPLETED, "false");
            }
            match phase {
                Phase::Running => self.event(false, "WorkflowRunning", "Workflow Running"),
                Phase::Succeeded => self.event(false, "WorkflowSucceeded", "Workflow completed"),
                Phase::Failed | Phase::Error => self.event(true, "WorkflowFailed", message.clone()),
                _ => {}
            }
        }
        if self.status.started_at.is_none() && phase != Phase::Pending {
            self.status.started_at = Some(self.now);
        }
        self.status.message = message;
    }

    pub(super) fn stop_pod(&mut self, pod: &Pod) {
        if pod.has_ended() || pod.is_being_deleted {
            return;
        }
        self.plan.stop.push(PodName {
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        });
    }

    /// The plan, with the object as it is now.
    pub(super) fn end(mut self) -> Plan {
        if !self.plan.unknown.is_empty() {
            // Nothing is done by halves.
            return Plan {
                unknown: self.plan.unknown,
                left_queue: self.plan.left_queue,
                ..Plan::default()
            };
        }
        progress::update(&mut self.status);
        self.unlock_what_is_over();
        self.note_locks();
        self.locks
            .write(&self.namespace, &self.name, &mut self.status.synchronization);
        finish::clean(&mut self);
        let mut object = self.object.clone();
        object["status"] = self.status.write();
        if !self.labels.is_empty() {
            object["metadata"]["labels"] = Value::Object(self.labels);
        }
        if !self.annotations.is_empty() {
            object["metadata"]["annotations"] = Value::Object(self.annotations);
        }
        if object != *self.object {
            self.plan.object = Some(object);
        }
        self.plan
    }
}

pub(super) fn later(time: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(time.as_second().saturating_add(seconds)).unwrap_or(Timestamp::MAX)
}
