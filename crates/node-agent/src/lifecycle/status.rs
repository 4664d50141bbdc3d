//! The status users see.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{
        Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
        ContainerStatus, EphemeralContainer, Pod, PodCondition, PodStatus,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::{
    backoff,
    ending::{self, Ending},
    phase,
    record::{Ended, Record, Records, State},
    roles::{self, Restart},
};

/// The reason of a pod that ran longer than it may.
pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";

/// The status of a pod, as far as its containers decide it; addresses are the caller's.
pub fn status(
    pod: &Pod,
    records: &Records,
    eviction: Option<&str>,
    has_sandbox: bool,
    now: Timestamp,
) -> PodStatus {
    let before = pod.status.clone().unwrap_or_default();
    let ending = ending::ending(pod, records, eviction, now);
    let phase = match before.phase.as_deref() {
        // What is over stays over.
        Some(phase @ ("Succeeded" | "Failed")) => phase.to_owned(),
        _ => phase::phase(pod, records, ending.as_ref()).to_owned(),
    };
    let mut status = PodStatus {
        container_statuses: Some(statuses(pod, roles::work(pod), records, now)),
        init_container_statuses: match roles::init(pod) {
            [] => None,
            containers => Some(statuses(pod, containers, records, now)),
        },
        ephemeral_container_statuses: match roles::visitors(pod) {
            [] => None,
            visitors => Some(
                visitors
                    .iter()
                    .map(|visitor| visitor_status(visitor, records))
                    .collect(),
            ),
        },
        start_time: before.start_time.clone().or(Some(Time(now))),
        observed_generation: pod.metadata.generation,
        ..before
    };
    let told = match ending {
        Some(Ending::TooLong) => Some((
            DEADLINE_EXCEEDED,
            "Pod was active on the node longer than the specified deadline".to_owned(),
        )),
        Some(Ending::Evicted(why)) => Some(("Evicted", why)),
        _ => None,
    };
    if let Some((reason, message)) = told {
        status.reason = Some(reason.to_owned());
        status.message = Some(message);
    }
    status.conditions = Some(conditions(pod, records, &phase, has_sandbox, now));
    status.phase = Some(phase);
    status
}

fn statuses(pod: &Pod, containers: &[Container], records: &Records, now: Timestamp) -> Vec<ContainerStatus> {
    let untouched = Record::default();
    containers
        .iter()
        .map(|container| {
            let record = records.get(&container.name).unwrap_or(&untouched);
            container_status(pod, container, record, now)
        })
        .collect()
}

fn container_status(pod: &Pod, container: &Container, record: &Record, now: Timestamp) -> ContainerStatus {
    let is_running = matches!(record.state, State::Running { .. });
    let is_step = roles::steps(pod).any(|step| step.name == container.name);
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: image_id(record),
        container_id: (!record.container_id.is_empty()).then(|| record.container_id.clone()),
        ready: if is_step {
            record.has_succeeded()
        } else {
            is_running && record.is_ready
        },
        started: Some(is_running && record.is_started),
        restart_count: i32::try_from(record.attempts.saturating_sub(1)).unwrap_or(i32::MAX),
        state: Some(state(pod, container, record, now)),
        last_state: Some(last_state(pod, container, record, now)),
        ..ContainerStatus::default()
    }
}

/// What a container runs, told when it does: a moment before that it would be a change of its own, of which nobody makes
/// anything.
fn image_id(record: &Record) -> String {
    match record.attempts {
        0 => String::new(),
        _ => record.image_id.clone(),
    }
}

/// A visitor is never restarted and never ready; there is nothing but how its only run goes.
fn visitor_status(visitor: &EphemeralContainer, records: &Records) -> ContainerStatus {
    let untouched = Record::default();
    let record = records.get(&visitor.name).unwrap_or(&untouched);
    let state = match &record.state {
        State::New => waiting("ContainerCreating", ""),
        State::Refused { reason, message, .. } => waiting(reason, message),
        State::Running { since } | State::Stopping { since, .. } => running(*since),
        State::Ended(ended) => terminated(ended),
    };
    ContainerStatus {
        name: visitor.name.clone(),
        image: visitor.image.clone().unwrap_or_default(),
        image_id: image_id(record),
        container_id: (!record.container_id.is_empty()).then(|| record.container_id.clone()),
        state: Some(state),
        last_state: Some(ContainerState::default()),
        ..ContainerStatus::default()
    }
}

fn state(pod: &Pod, container: &Container, record: &Record, now: Timestamp) -> ContainerState {
    match &record.state {
        State::New => waiting(unstarted(pod), ""),
        State::Refused { reason, message, .. } => waiting(reason, message),
        State::Running { since } | State::Stopping { since, .. } => running(*since),
        State::Ended(ended) if is_backing_off(pod, container, record, ended, now) => {
            waiting("CrashLoopBackOff", &crash_loop(pod, container, record))
        }
        State::Ended(ended) => terminated(ended),
    }
}

/// While a crashed container waits, how it crashed is its last state.
fn last_state(pod: &Pod, container: &Container, record: &Record, now: Timestamp) -> ContainerState {
    let last = match &record.state {
        State::Ended(ended) if is_backing_off(pod, container, record, ended, now) => Some(ended),
        _ => record.previous.as_ref(),
    };
    last.map(terminated).unwrap_or_default()
}

fn is_backing_off(pod: &Pod, container: &Container, record: &Record, ended: &Ended, now: Timestamp) -> bool {
    let restart = if roles::is_sidecar(container) {
        Restart::Always
    } else {
        Restart::of(roles::spec(pod))
    };
    pod.metadata.deletion_timestamp.is_none()
        && restart.after(ended.exit_code)
        && backoff::ready_at(record, ended) > now
}

fn crash_loop(pod: &Pod, container: &Container, record: &Record) -> String {
    let wait = backoff::wait(record.streak).as_secs();
    let shown = match (wait / 60, wait % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    };
    let meta = &pod.metadata;
    format!(
        "back-off {shown} restarting failed container={} pod={}_{}({})",
        container.name,
        meta.name.as_deref().unwrap_or_default(),
        meta.namespace.as_deref().unwrap_or_default(),
        meta.uid.as_deref().unwrap_or_default(),
    )
}

fn unstarted(pod: &Pod) -> &'static str {
    match roles::init(pod) {
        [] => "ContainerCreating",
        _ => "PodInitializing",
    }
}

fn running(since: Timestamp) -> ContainerState {
    ContainerState {
        running: Some(ContainerStateRunning {
            started_at: Some(Time(since)),
        }),
        ..ContainerState::default()
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message: (!message.is_empty()).then(|| message.to_owned()),
        }),
        ..ContainerState::default()
    }
}

fn terminated(ended: &Ended) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            container_id: (!ended.container_id.is_empty()).then(|| ended.container_id.clone()),
            exit_code: ended.exit_code,
            signal: None,
            reason: Some(ended.reason.clone()),
            message: (!ended.message.is_empty()).then(|| ended.message.clone()),
            started_at: ended.started.map(Time),
            finished_at: Some(Time(ended.at)),
        }),
        ..ContainerState::default()
    }
}

fn conditions(
    pod: &Pod,
    records: &Records,
    phase: &str,
    has_sandbox: bool,
    now: Timestamp,
) -> Vec<PodCondition> {
    let is_over = matches!(phase, "Succeeded" | "Failed");
    let unready = unready(pod, records);
    let uninitialized = uninitialized(pod, records);
    let ready = match (is_over, phase, unready.as_slice()) {
        (true, "Succeeded", _) => no("PodCompleted", String::new()),
        (true, ..) => no("PodFailed", String::new()),
        (false, _, []) => yes(),
        (false, _, names) => no("ContainersNotReady", listed("unready", names)),
    };
    let initialized = match uninitialized.as_slice() {
        _ if phase == "Succeeded" => Verdict {
            reason: Some("PodCompleted"),
            ..yes()
        },
        [] => yes(),
        names => no("ContainersNotInitialized", listed("incomplete", names)),
    };
    let gates_are_open = open_gates(pod);
    let pod_ready = match (&ready, gates_are_open) {
        (Verdict { is_true: true, .. }, Err(closed)) => no("ReadinessGatesNotReady", closed),
        _ => ready.clone(),
    };
    let wanted = [
        (
            "PodReadyToStartContainers",
            if has_sandbox { yes() } else { Verdict::default() },
        ),
        ("Initialized", initialized),
        ("Ready", pod_ready),
        ("ContainersReady", ready),
        ("PodScheduled", yes()),
    ];
    let before = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let before = before.unwrap_or_default();
    let own = wanted.map(|(kind, verdict)| condition(kind, verdict, before, pod, now));
    let others = before
        .iter()
        .filter(|condition| own.iter().all(|own| own.type_ != condition.type_))
        .cloned();
    own.clone().into_iter().chain(others).collect()
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Verdict {
    is_true: bool,
    reason: Option<&'static str>,
    message: String,
}

fn yes() -> Verdict {
    Verdict {
        is_true: true,
        ..Verdict::default()
    }
}

fn no(reason: &'static str, message: String) -> Verdict {
    Verdict {
        is_true: false,
        reason: Some(reason),
        message,
    }
}

fn condition(
    kind: &str,
    verdict: Verdict,
    before: &[PodCondition],
    pod: &Pod,
    now: Timestamp,
) -> PodCondition {
    let status = if verdict.is_true { "True" } else { "False" };
    let known = before.iter().find(|condition| condition.type_ == kind);
    let since = known
        .filter(|known| known.status == status)
        .and_then(|known| known.last_transition_time.clone());
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: verdict.reason.map(str::to_owned),
        message: (!verdict.message.is_empty()).then_some(verdict.message),
        last_transition_time: since.or(Some(Time(now))),
        observed_generation: pod.metadata.generation,
        ..PodCondition::default()
    }
}

fn listed(what: &str, names: &[&str]) -> String {
    format!("containers with {what} status: [{}]", names.join(" "))
}

fn unready<'a>(pod: &'a Pod, records: &Records) -> Vec<&'a str> {
    let is_ready = |container: &Container| {
        records
            .get(&container.name)
            .is_some_and(|record| matches!(record.state, State::Running { .. }) && record.is_ready)
    };
    roles::sidecars(pod)
        .chain(roles::work(pod))
        .filter(|container| !is_ready(container))
        .map(|container| container.name.as_str())
        .collect()
}

fn uninitialized<'a>(pod: &'a Pod, records: &Records) -> Vec<&'a str> {
    let is_done = |container: &Container| {
        let record = records.get(&container.name);
        if roles::is_sidecar(container) {
            record.is_some_and(|record| record.is_started)
        } else {
            record.is_some_and(Record::has_succeeded)
        }
    };
    roles::init(pod)
        .iter()
        .filter(|container| !is_done(container))
        .map(|container| container.name.as_str())
        .collect()
}

/// Conditions that others set and that the pod waits for.
fn open_gates(pod: &Pod) -> Result<(), String> {
    let gates = roles::spec(pod).readiness_gates.iter().flatten();
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    for gate in gates {
        let known = conditions
            .iter()
            .find(|condition| condition.type_ == gate.condition_type);
        match known {
            None => {
                return Err(format!(
                    "corresponding condition of pod readiness gate \"{}\" does not exist.",
                    gate.condition_type
                ));
            }
            Some(condition) if condition.status != "True" => {
                return Err(format!(
                    "the status of pod readiness gate \"{}\" is not \"True\", but {}",
                    gate.condition_type, condition.status
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
