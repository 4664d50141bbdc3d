//! What pods say of their nodes.

mod containers;

use kinds::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::{
    Unknown,
    execute::NOT_MADE,
    walk::{Walk, later},
};
use crate::{
    duration,
    model::Template,
    names,
    node::{Node, NodeOutputs, NodeType, Phase},
    observed::{Container, ContainerState, Pod, Termination},
    report::Report,
};

const POD_DELETED: &str = "pod deleted";
pub(super) const OUT_OF_TIME: &str = "Step exceeded its deadline";

/// What a pod's end means for its node.
struct Ending {
    phase: Phase,
    message: String,
}

impl Walk<'_> {
    /// Brings the nodes of pods up to date, and stops pods whose time is over.
    pub(super) fn assess_pods(&mut self) {
        let nodes: Vec<Node> = self
            .status
            .nodes
            .values()
            .filter(|node| node.r#type.has_pod() && !node.phase.is_fulfilled())
            .cloned()
            .collect();
        let mut is_running = false;
        for node in nodes {
            match self.pods.get(node.id.as_str()).copied() {
                Some(pod) => {
                    if !is_inline(&node) {
                        self.assess(&node, pod);
                    }
                    self.control(&node.name, pod);
                }
                None if is_not_made(&node) => {}
                None => self.miss(&node),
            }
            is_running |= self
                .node(&node.name)
                .is_some_and(|node| node.phase == Phase::Running);
        }
        let status = if is_running { "True" } else { "False" };
        self.status
            .set_condition(json!({"type": "PodRunning", "status": status}));
    }

    /// The pod of a node is not among those that are known. What is known may be late, as after a list that was begun
    /// before the pod was made, and a step that is given up is not taken up again: somebody looks first.
    fn miss(&mut self, node: &Node) {
        let pod = self.pod_name(node);
        if self.observed.absent.contains(&pod) {
            self.lose(node);
        } else {
            let node_id = node.id.clone();
            self.unknown(Unknown::Pod { name: pod, node_id });
        }
    }

    /// The pod is gone, and nobody knows what it did.
    fn lose(&mut self, node: &Node) {
        let Ok(template) = self.template_of_pod(node) else {
            return;
        };
        let over = self.over(self.is_on_exit(node));
        let (phase, message) = match over.or_else(|| self.timed_out(node, &template)) {
            // It was deleted because it was to end; that could not be noted any more.
            Some(message) => (Phase::Failed, message),
            None => (Phase::Error, POD_DELETED.to_owned()),
        };
        if let Some(node) = self.node_mut(&node.name) {
            node.daemoned = None;
        }
        self.mark(&node.name, phase, Some(&message));
        self.end_containers(&node.name, "container deleted");
    }

    /// Why the node may not go on, if its own time is over.
    fn timed_out(&self, node: &Node, template: &Template) -> Option<String> {
        let timeout = duration::parse(&template.timeout).ok()?;
        let seconds = i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX);
        let deadline = later(node.started_at?, seconds);
        (deadline <= self.now).then(|| OUT_OF_TIME.to_owned())
    }

    fn assess(&mut self, node: &Node, pod: &Pod) {
        if let Ok(template) = self.template_of_pod(node) {
            self.assess_as(node, pod, &template);
        }
    }

    /// What a pod says of its node, whose template is this.
    pub(super) fn assess_as(&mut self, node: &Node, pod: &Pod, template: &Template) {
        let ending = match pod.phase.as_str() {
            "Succeeded" if template.is_daemon() => Ending {
                phase: Phase::Failed,
                message: String::new(),
            },
            "Succeeded" => Ending {
                phase: Phase::Succeeded,
                message: String::new(),
            },
            // Whatever its containers made of that.
            "Failed" if pod.is_being_deleted => Ending {
                phase: Phase::Error,
                message: POD_DELETED.to_owned(),
            },
            "Failed" => failure(pod, template),
            "Running" => {
                let is_ready = pod.containers.iter().all(|container| container.is_ready);
                if template.is_daemon() && !is_ready {
                    return;
                }
                Ending {
                    phase: Phase::Running,
                    message: String::new(),
                }
            }
            _ => Ending {
                phase: Phase::Pending,
                message: waits_for(pod),
            },
        };
        self.assess_containers(node, pod);
        let mut updated = node.clone();
        updated.host_node_name.clone_from(&pod.host);
        updated.phase = ending.phase;
        updated.daemoned = (ending.phase == Phase::Running && template.is_daemon()).then_some(true);
        if ending.phase == Phase::Running && updated.daemoned.is_some() {
            updated.pod_ip.clone_from(&pod.ip);
        }
        if ending.phase != Phase::Running || node.phase == Phase::Pending {
            updated.message = ending.message;
        }
        if ending.phase.is_completed() && !self.take_report(&mut updated, pod, template) {
            // What it has reported is not there yet.
            return;
        }
        if updated.phase.is_completed() {
            updated.finished_at = pod.finished_at().or(Some(self.now));
            updated.resources_duration = Some(resources_duration(pod));
            if let Some(outputs) = updated.outputs.clone() {
                self.publish(&outputs);
            }
        }
        let name = updated.name.clone();
        self.status.nodes.insert(updated.id.clone(), updated);
        self.remember_pod(&name, template);
    }

    /// The template of a node that has a pod, as far as its end is concerned.
    fn template_of_pod(&mut self, node: &Node) -> Result<Template, ()> {
        match self.template_of(node) {
            Ok(template) => Ok(template),
            Err(super::walk::Halt::Later) => Err(()),
            // It was there when the pod was made; of what it said nothing but a container is known.
            Err(_) => Ok(Template::default()),
        }
    }

    /// Outputs, as the step has reported them; whether they are known.
    fn take_report(&mut self, node: &mut Node, pod: &Pod, template: &Template) -> bool {
        let mut outputs = NodeOutputs::default();
        let main = main_container(pod, template);
        let termination = main.and_then(Container::termination);
        let code = termination.map(|termination| termination.exit_code.to_string());
        outputs.exit_code = code;
        for container in reporting(pod, template) {
            let Some(termination) = container.termination() else {
                continue;
            };
            let mut report = match Report::read_last_words(&termination.message) {
                None => continue,
                Some(Ok(report)) => report,
                Some(Err(error)) => {
                    node.phase = Phase::Error;
                    node.message = format!("the step's report cannot be read: {error}");
                    continue;
                }
            };
            if report.is_elsewhere {
                match self.report_of(&node.id) {
                    Some(found) => report = found,
                    None => return false,
                }
            }
            take(report, &mut outputs, template);
        }
        if node.phase == Phase::Succeeded && node.r#type == NodeType::Pod {
            let missing = template.outputs.parameters.iter().find(|parameter| {
                let has_path = parameter
                    .value_from
                    .as_ref()
                    .is_some_and(|source| !source.path.is_empty());
                has_path
                    && !outputs
                        .parameters
                        .iter()
                        .any(|known| known.name == parameter.name)
            });
            if let Some(missing) = missing {
                node.phase = Phase::Error;
                node.message = format!("the step has not reported its output parameter {}", missing.name);
            }
        }
        node.outputs = Some(outputs);
        true
    }

    /// Pods whose workflow is being ended, or is out of time.
    fn control(&mut self, name: &str, pod: &Pod) {
        let Some(node) = self.node(name) else { return };
        if node.phase.is_fulfilled() || pod.has_ended() {
            return;
        }
        let Some(message) = self.over(pod.is_on_exit) else {
            return;
        };
        self.stop_pod(pod);
        if let Some(node) = self.node_mut(name) {
            node.daemoned = None;
        }
        self.mark(name, Phase::Failed, Some(&message));
        self.end_containers(name, &message);
    }

    /// Why nothing may run any more, if that is so.
    fn over(&self, is_on_exit: bool) -> Option<String> {
        if !self.shutdown.allows(is_on_exit) {
            return Some(format!(
                "workflow shutdown with strategy:  {}",
                self.shutdown.text()
            ));
        }
        (self.is_past_deadline() && !is_on_exit).then(|| OUT_OF_TIME.to_owned())
    }

    /// Nodes that wait without a pod end too.
    pub(super) fn fail_what_has_no_pod(&mut self) {
        let waiting: Vec<Node> = self
            .status
            .nodes
            .values()
            .filter(|node| !node.phase.is_fulfilled() && !self.pods.contains_key(node.id.as_str()))
            .cloned()
            .collect();
        for node in waiting {
            let is_on_exit = self.is_on_exit(&node);
            let waits_for_lock = node.synchronization_status.is_some();
            let is_waiting = node.is_waiting_for_somebody()
                || waits_for_lock
                || (node.r#type.has_pod() && node.phase == Phase::Pending);
            if !self.shutdown.allows(is_on_exit) && is_waiting {
                let message = format!("Stopped with strategy '{}'", self.shutdown.text());
                self.mark(&node.name, Phase::Failed, Some(&message));
            } else if self.is_past_deadline() && !is_on_exit && is_waiting {
                self.mark(&node.name, Phase::Failed, Some(OUT_OF_TIME));
            }
        }
    }
}

/// The template of a node that refers to none stands in its step, and is known when that is gone through.
fn is_inline(node: &Node) -> bool {
    node.template().is_empty()
}

/// Its pod could not be made so far, so none is missing. A node that has never started is one that somebody has
/// written down to be begun: `argo resubmit --memoized` does.
fn is_not_made(node: &Node) -> bool {
    let waits_for_lock = node.synchronization_status.is_some();
    let is_refused = node.message.starts_with(NOT_MADE);
    node.phase == Phase::Pending && (is_refused || waits_for_lock || node.started_at.is_none())
}

/// `main: Error (exit code 1)`, with what the container itself said.
fn told(container: &Container, termination: &Termination) -> String {
    let reason = if termination.reason.is_empty() {
        "Error"
    } else {
        &termination.reason
    };
    let mut text = format!(
        "{}: {reason} (exit code {})",
        container.name, termination.exit_code
    );
    let words = match Report::read_last_words(&termination.message) {
        Some(Ok(report)) if !report.error.is_empty() => report.error,
        Some(Ok(report)) => report.message,
        Some(Err(_)) => String::new(),
        None => termination.message.clone(),
    };
    let words = words.trim();
    if !words.is_empty() {
        text.push_str(": ");
        text.push_str(words);
    }
    text
}

fn is_main(name: &str, template: &Template) -> bool {
    match &template.container_set {
        Some(set) => set
            .containers
            .iter()
            .any(|container| container.get("name").and_then(Value::as_str) == Some(name)),
        None => name == names::MAIN,
    }
}

fn main_container<'p>(pod: &'p Pod, template: &Template) -> Option<&'p Container> {
    pod.container(names::MAIN).or_else(|| {
        pod.containers
            .iter()
            .find(|container| is_main(&container.name, template))
    })
}

/// Containers that may have reported something.
fn reporting<'p>(pod: &'p Pod, template: &'p Template) -> impl Iterator<Item = &'p Container> {
    pod.containers
        .iter()
        .filter(|container| is_main(&container.name, template))
}

fn failure(pod: &Pod, template: &Template) -> Ending {
    let failed = |message: String| Ending {
        phase: Phase::Failed,
        message,
    };
    if !pod.message.is_empty() {
        return failed(pod.message.clone());
    }
    let rank = |container: &&Container| i32::from(!is_main(&container.name, template));
    let mut containers: Vec<&Container> = pod.containers.iter().collect();
    containers.sort_by_key(rank);
    let mut is_main_done = false;
    for container in pod.init_containers.iter().chain(containers) {
        if let ContainerState::Waiting { reason, message } = &container.state {
            return Ending {
                phase: Phase::Error,
                message: format!(
                    "Pod failed before {} container starts due to {reason}: {message}",
                    container.name
                ),
            };
        }
        let Some(termination) = container.termination() else {
            continue;
        };
        let is_main = is_main(&container.name, template);
        if termination.exit_code == 0 {
            is_main_done |= is_main;
            continue;
        }
        let is_user_init = template
            .init_containers
            .iter()
            .any(|init| init["name"] == container.name.as_str());
        let is_sidecar = template
            .sidecars
            .iter()
            .any(|sidecar| sidecar["name"] == container.name.as_str());
        // Sidecars are stopped when what they are for has ended.
        if is_sidecar && (matches!(termination.exit_code, 137 | 143) || is_main_done) {
            continue;
        }
        let is_init = pod.init_containers.iter().any(|init| init.name == container.name);
        let is_report = Report::read_last_words(&termination.message);
        let is_broken = matches!(is_report, Some(Ok(report)) if !report.error.is_empty());
        let phase = if (is_init && !is_user_init && !is_sidecar) || is_broken {
            Phase::Error
        } else {
            Phase::Failed
        };
        return Ending {
            phase,
            message: told(container, termination),
        };
    }
    if pod.containers.is_empty() {
        return failed(format!("can't find failed message for pod {}", pod.name));
    }
    if is_main_done {
        return Ending {
            phase: Phase::Succeeded,
            message: String::new(),
        };
    }
    let reason = if pod.reason.is_empty() {
        "pod failed"
    } else {
        &pod.reason
    };
    failed(format!("{reason}: main container did not complete successfully"))
}

/// What a pod waits for.
fn waits_for(pod: &Pod) -> String {
    if let Some(message) = &pod.unschedulable {
        return format!("Unschedulable: {message}");
    }
    for container in pod.init_containers.iter().chain(&pod.containers) {
        if let ContainerState::Waiting { reason, message } = &container.state {
            return match (reason.as_str(), message.as_str()) {
                ("", message) => message.to_owned(),
                (reason, "") => reason.to_owned(),
                (reason, message) => format!("{reason}: {message}"),
            };
        }
    }
    String::new()
}

fn take(report: Report, outputs: &mut NodeOutputs, template: &Template) {
    if report.result.is_some() {
        outputs.result = report.result;
    }
    for (name, value) in report.parameters {
        let declared = template
            .outputs
            .parameters
            .iter()
            .find(|known| known.name == name);
        let mut parameter = declared.cloned().unwrap_or_default();
        parameter.name = name;
        parameter.value = Some(value.into());
        outputs.parameters.push(parameter);
    }
    outputs.artifacts.extend(report.artifacts);
}

/// Seconds of the usual amounts: one processor, and 100 MiB of memory.
fn resources_duration(pod: &Pod) -> Map<String, Value> {
    let (mut cpu, mut memory) = (0i64, 0i64);
    for container in &pod.containers {
        let Some(termination) = container.termination() else {
            continue;
        };
        let (Some(from), Some(to)) = (termination.started_at, termination.finished_at) else {
            continue;
        };
        let seconds = (to.as_second() - from.as_second()).max(0);
        let parsed = |text: Option<&str>, default: &str| Quantity::parse(text.unwrap_or(default)).ok();
        let asked_cpu = parsed(container.cpu.as_deref(), "100m").map_or(100, |amount| amount.milli_value());
        let asked_memory =
            parsed(container.memory.as_deref(), "100Mi").map_or(1, |amount| amount.value() / (100 << 20));
        cpu += (seconds * asked_cpu / 1000).max(i64::from(seconds > 0));
        memory += seconds * asked_memory.max(1);
    }
    Map::from_iter([
        ("cpu".to_owned(), json!(cpu)),
        ("memory".to_owned(), json!(memory)),
    ])
}
