//! Pods: how many containers are ready, one word for what the pod is doing, and how often it restarted.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    AGE, Column, NAME, Table,
    row::{NONE, Row, cells, condition, is_condition_true, number, or, timestamp},
    string, wide,
};
use crate::read::{at, flag, get, has, list, text};

pub(super) static POD: Table = Table {
    columns: COLUMNS,
    cells,
};

const COLUMNS: &[Column] = &[
    NAME,
    string("Ready", "Containers that are ready, of all that keep running."),
    string("Status", "What the pod is doing, or what keeps it from running."),
    string("Restarts", "How often containers were restarted, and when last."),
    AGE,
    wide(string("IP", "Address of the pod.")),
    wide(string("Node", "Node the pod runs on.")),
    wide(string(
        "Nominated Node",
        "Node being cleared for the pod by preemption.",
    )),
    wide(string(
        "Readiness Gates",
        "Extra conditions for readiness that are met, of all.",
    )),
];

fn cells(row: &Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let Summary {
        reason,
        ready,
        restarts,
    } = summarize(row);
    cells![
        row.name(),
        format!("{ready}/{}", lasting_containers(spec)),
        reason,
        restarts.text(row),
        row.age(),
        or(address(status), NONE),
        or(text(spec, "nodeName"), NONE),
        or(text(status, "nominatedNodeName"), NONE),
        readiness_gates(spec, status),
    ]
}

/// The row condition of a pod that has run to its end.
pub(super) fn completion(pod: &Value) -> Option<Value> {
    let phase = text(get(pod, "status"), "phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": phase, "message": message}))
}

/// What the container statuses of a pod add up to.
struct Summary<'a> {
    reason: Cow<'a, str>,
    ready: usize,
    restarts: Restarts,
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += number(container, "restartCount");
        self.last = self.last.max(timestamp(at(
            container,
            &["lastState", "terminated", "finishedAt"],
        )));
    }

    fn text(self, row: &Row<'_>) -> String {
        match self {
            Self {
                count,
                last: Some(last),
            } if count != 0 => {
                format!("{count} ({} ago)", row.elapsed(Some(last)))
            }
            Self { count, .. } => count.to_string(),
        }
    }
}

fn summarize<'a>(row: &Row<'a>) -> Summary<'a> {
    let (spec, status) = (row.spec(), row.status());
    let phase = text(status, "phase");
    let mut summary = Summary {
        reason: pod_reason(status, phase),
        ready: 0,
        restarts: Restarts::default(),
    };

    let (initialized, sidecar_restarts) = summary.add_init_containers(spec, status);
    if initialized || is_condition_true(status, "Initialized") {
        // Init containers are done: from here on only those that keep running count as restarts.
        summary.restarts = sidecar_restarts;
        summary.add_containers(status);
    }
    if row.is_deleted() {
        if text(status, "reason") == "NodeLost" {
            summary.reason = "Unknown".into();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            summary.reason = "Terminating".into();
        }
    }
    summary
}

/// What the pod itself says, before its containers are asked.
fn pod_reason<'a>(status: &'a Value, phase: &'a str) -> Cow<'a, str> {
    let is_gated = |condition: &Value| {
        text(condition, "type") == "PodScheduled" && text(condition, "reason") == "SchedulingGated"
    };
    if list(status, "conditions").iter().any(is_gated) {
        return "SchedulingGated".into();
    }
    or(text(status, "reason"), phase).into()
}

impl<'a> Summary<'a> {
    /// Goes through the init containers up to the first that is not done. Answers whether all are, and
    /// the restarts of those that keep running.
    fn add_init_containers(&mut self, spec: &'a Value, status: &'a Value) -> (bool, Restarts) {
        let mut sidecar_restarts = Restarts::default();
        for (i, container) in list(status, "initContainerStatuses").iter().enumerate() {
            let sidecar = is_named_sidecar(spec, text(container, "name"));
            self.restarts.add(container);
            if sidecar {
                sidecar_restarts.add(container);
            }
            let state = get(container, "state");
            let terminated = get(state, "terminated");
            if !terminated.is_null() && number(terminated, "exitCode") == 0 {
                continue;
            }
            if sidecar && flag(container, "started") {
                self.ready += usize::from(flag(container, "ready"));
                continue;
            }
            self.reason = match text(get(state, "waiting"), "reason") {
                _ if !terminated.is_null() => format!("Init:{}", exit(terminated)),
                "" | "PodInitializing" => format!("Init:{i}/{}", list(spec, "initContainers").len()),
                waiting => format!("Init:{waiting}"),
            }
            .into();
            return (false, sidecar_restarts);
        }
        (true, sidecar_restarts)
    }

    /// Goes through the main containers; the first one with something to say gives the reason.
    fn add_containers(&mut self, status: &'a Value) {
        let mut any_running = false;
        for container in list(status, "containerStatuses").iter().rev() {
            self.restarts.add(container);
            let state = get(container, "state");
            let waiting = text(get(state, "waiting"), "reason");
            if !waiting.is_empty() {
                self.reason = waiting.into();
            } else if has(state, "terminated") {
                self.reason = exit(get(state, "terminated"));
            } else if flag(container, "ready") && has(state, "running") {
                any_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" && any_running {
            let ready = list(status, "conditions")
                .iter()
                .any(|condition| text(condition, "type") == "Ready" && text(condition, "status") == "True");
            self.reason = if ready { "Running" } else { "NotReady" }.into();
        }
    }
}

/// Why a container ended.
fn exit(terminated: &Value) -> Cow<'_, str> {
    match (text(terminated, "reason"), number(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "exitCode")).into(),
        ("", signal) => format!("Signal:{signal}").into(),
        (reason, _) => reason.into(),
    }
}

/// Main containers, and init containers that run beside them.
fn lasting_containers(spec: &Value) -> usize {
    let sidecars = list(spec, "initContainers")
        .iter()
        .filter(|container| is_sidecar(container))
        .count();
    list(spec, "containers").len() + sidecars
}

fn is_named_sidecar(spec: &Value, name: &str) -> bool {
    list(spec, "initContainers")
        .iter()
        .any(|container| text(container, "name") == name && is_sidecar(container))
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

fn address(status: &Value) -> &str {
    let first = list(status, "podIPs")
        .first()
        .map_or("", |address| text(address, "ip"));
    or(text(status, "podIP"), first)
}

fn readiness_gates(spec: &Value, status: &Value) -> String {
    let gates = list(spec, "readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let is_met = |gate: &&Value| {
        condition(status, text(gate, "conditionType"))
            .is_some_and(|condition| text(condition, "status") == "True")
    };
    format!("{}/{}", gates.iter().filter(is_met).count(), gates.len())
}
