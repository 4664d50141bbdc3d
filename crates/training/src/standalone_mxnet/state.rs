//! From the batch Jobs of an MxJob and their pods to its status.

use std::collections::BTreeMap;

use resources::mxnet::{MxJobStatus, MxReplicaStatus};

use super::spec::{MxJob, Replica};
use crate::{
    BatchJob, Exit, Observed,
    observed::{Phase, Pod},
};

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    /// Its batch Job is there, and no pod of it runs yet. The original calls this running.
    Waiting,
    Running,
    Succeeded,
    /// Why.
    Failed(String),
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Waiting | Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed(_) => "Failed",
        }
    }

    /// Whether it runs or has done its work.
    fn is_busy(&self) -> bool {
        matches!(self, Self::Running | Self::Succeeded)
    }
}

pub(super) fn status(job: &MxJob, observed: &Observed) -> MxJobStatus {
    let sets: Vec<(&Replica, Vec<State>)> = job
        .replicas
        .iter()
        .map(|replica| {
            let indexes = job.indexes(replica);
            (
                replica,
                indexes
                    .map(|index| replica_state(job, replica, index, observed))
                    .collect(),
            )
        })
        .collect();
    let all = || sets.iter().flat_map(|(_, states)| states);
    let deciding = if job.is_distributed() {
        "SCHEDULER"
    } else {
        "WORKER"
    };
    let has_succeeded = sets.iter().any(|(replica, states)| {
        replica.role == deciding
            && !states.is_empty()
            && states.iter().all(|state| *state == State::Succeeded)
    });
    let failure = all().find_map(|state| match state {
        State::Failed(why) => Some(why.clone()),
        _ => None,
    });
    // The scheduler's success counts before anybody's failure.
    let (phase, state, reason) = match failure {
        _ if has_succeeded => ("Done", "Succeeded", String::new()),
        Some(why) => ("Done", "Failed", why),
        None if all().any(|state| *state == State::Unknown) => ("Creating", "", waiting(observed)),
        None => ("Running", "", waiting(observed)),
    };
    let busy = all().filter(|state| state.is_busy()).count();
    MxJobStatus {
        phase: phase.to_owned(),
        reason,
        state: state.to_owned(),
        replica_statuses: sets
            .iter()
            .map(|(replica, states)| set_status(replica, states))
            .collect(),
        progress: format!("{busy}/{}", all().count()),
        ..MxJobStatus::default()
    }
}

/// What keeps a pod from running, if anything does.
fn waiting(observed: &Observed) -> String {
    let waits = observed.pods.iter().find_map(|pod| {
        let stuck = pod
            .waiting
            .as_ref()
            .map(|(reason, message)| format!("{}: {reason}: {message}", pod.name));
        let unplaced = || {
            pod.unscheduled
                .as_ref()
                .map(|message| format!("{}: {message}", pod.name))
        };
        stuck.or_else(unplaced)
    });
    let refusal = observed
        .refusals
        .first()
        .map(|refusal| format!("{}: {}", refusal.name, refusal.message));
    refusal.or(waits).unwrap_or_default()
}

fn set_status(replica: &Replica, states: &[State]) -> MxReplicaStatus {
    let mut counts: BTreeMap<String, i32> = BTreeMap::new();
    for state in states {
        *counts.entry(state.name().to_owned()).or_default() += 1;
    }
    let any = |name: &str| counts.contains_key(name);
    let state = if any("Failed") {
        "Failed"
    } else if any("Running") {
        "Running"
    } else if counts.get("Succeeded") == Some(&(states.len() as i32)) {
        "Succeeded"
    } else {
        "Unknown"
    };
    MxReplicaStatus {
        replica_type: replica.role.clone(),
        state: state.to_owned(),
        replicas_states: counts,
    }
}

fn replica_state(job: &MxJob, replica: &Replica, index: u32, observed: &Observed) -> State {
    let name = job.child_name(&replica.role, index);
    let Some(batch) = observed.jobs.iter().find(|batch| batch.name == name) else {
        return State::Unknown;
    };
    if batch.succeeded >= 1 || batch.is_complete {
        return State::Succeeded;
    }
    let short = name
        .strip_prefix(&format!("{}-", job.identity.name))
        .unwrap_or(&name)
        .to_owned();
    let pod = newest_pod(batch, observed);
    // What a program makes of being stopped says nothing of its work; its batch Job makes another pod.
    let own = pod.filter(|pod| !pod.is_stopped() && !pod.is_disrupted);
    let exit = own.and_then(|pod| exit(pod, replica.container()));
    if let Some((reason, message)) = &batch.failure {
        let end = exit
            .map(|exit| format!(" after exit {}", exit.code))
            .unwrap_or_default();
        return State::Failed(format!("{short} {reason}{end}: {message}"));
    }
    match exit {
        Some(exit) if exit.code == 0 => State::Succeeded,
        Some(exit) if !is_retryable(exit) => {
            let reason = if exit.reason.is_empty() {
                String::new()
            } else {
                format!(", {}", exit.reason)
            };
            State::Failed(format!(
                "{short} exit {}{reason}: {}",
                exit.code,
                exit.message.trim_end()
            ))
        }
        _ if pod.is_some_and(|pod| pod.phase == Phase::Running) => State::Running,
        _ => State::Waiting,
    }
}

fn newest_pod<'a>(batch: &BatchJob, observed: &'a Observed) -> Option<&'a Pod> {
    let pods = observed
        .pods
        .iter()
        .filter(|pod| pod.controller.as_deref() == Some(batch.uid.as_str()));
    pods.max_by_key(|pod| (pod.created, pod.phase == Phase::Running))
}

fn exit<'a>(pod: &'a Pod, container: &str) -> Option<&'a Exit> {
    pod.exits.iter().find(|exit| exit.container == container)
}

/// The original's rule: a program that says why it ends means it.
fn is_retryable(exit: &Exit) -> bool {
    if exit.reason == "OOMKilled" {
        return false;
    }
    exit.message.is_empty() || exit.code >= 128
}
