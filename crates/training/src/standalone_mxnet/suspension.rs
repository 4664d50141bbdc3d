//! A suspended MxJob: it has no batch Jobs, and says so.

use resources::mxnet::MxJobStatus;

use super::{group, running, spec::MxJob};
use crate::{Delete, Event, Observed, Plan};

const SUSPENDED: &str = "Suspended";

pub(super) fn is_told(stored: &MxJobStatus) -> bool {
    stored.phase == SUSPENDED
}

/// A resumed job begins when what was stopped is gone: the names of its batch Jobs are taken until then.
pub(super) fn is_stopping(job: &MxJob, stored: &MxJobStatus, observed: &Observed) -> bool {
    is_told(stored) && running::batch_jobs(&job.identity, observed).any(|batch| batch.is_being_deleted)
}

/// Lets go of every batch Job, and of the group when they are gone. The scheduler's Service stays.
pub(super) fn suspend(
    job: &MxJob,
    stored: &MxJobStatus,
    observed: &Observed,
    plan: &mut Plan,
) -> MxJobStatus {
    let message = format!("MxJob {} is suspended", job.identity.name);
    if !is_told(stored) {
        tell(plan, "MxJobSuspended", message.clone());
    }
    plan.delete = running::batch_jobs(&job.identity, observed)
        .filter(|batch| !batch.is_being_deleted)
        .map(|batch| Delete {
            kind: "Job",
            name: batch.name.clone(),
            uid: batch.uid.clone(),
            force: false,
            tell_failed: false,
        })
        .collect();
    plan.delete.extend(group::give_back(&job.identity, observed));
    let replicas: usize = job
        .replicas
        .iter()
        .map(|replica| job.indexes(replica).len())
        .sum();
    MxJobStatus {
        phase: SUSPENDED.to_owned(),
        reason: message,
        control_paused: true,
        progress: format!("0/{replicas}"),
        ..MxJobStatus::default()
    }
}

pub(super) fn tell_resumed(job: &MxJob, plan: &mut Plan) {
    tell(
        plan,
        "MxJobResumed",
        format!("MxJob {} is resumed", job.identity.name),
    );
}

fn tell(plan: &mut Plan, reason: &str, message: String) {
    plan.events.push(Event {
        severity: "Normal",
        reason: reason.to_owned(),
        message,
    });
}
