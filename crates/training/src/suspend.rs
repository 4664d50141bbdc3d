//! A suspended job: it has no pods, and says so.

use resources::conditions::{RESTARTING, RESUMED, RUNNING, SUSPENDED, reason};

use crate::{account::Account, conditions, job::MpiVersion, plan::Draft, restarts, verdict};

/// Lets go of every pod. What a v2beta1 job needs besides pods is made already, as the original does.
pub(crate) fn suspend(draft: &mut Draft<'_>, account: &Account<'_>) {
    let job = draft.job;
    let why = reason(job.kind.kind, SUSPENDED);
    let message = match job.mpi() {
        Some(mpi) if mpi.version == MpiVersion::V2Beta1 => "MPIJob suspended".to_owned(),
        _ => format!("{} {} is suspended.", job.kind.kind, job.name()),
    };
    if conditions::is_true(&draft.status.conditions, RUNNING) {
        draft.set(RUNNING, false, &why, &message);
    }
    // It is made anew when it is resumed, whatever it was about to be.
    draft
        .status
        .conditions
        .retain(|condition| condition.kind != RESTARTING);
    if draft.set(SUSPENDED, true, &why, &message) {
        draft.tell("Normal", &why, &message);
    }
    for pod in account.pods().chain(account.surplus.iter().copied()) {
        // The pods of a batch Job go with its suspension.
        if pod.controller.as_deref() == Some(job.identity.uid.as_str()) {
            draft.delete_pod(pod);
        }
    }
    draft.delete_addresses(|_| false);
    draft.delete_pod_group();
    if job.mpi().is_some_and(|mpi| mpi.version == MpiVersion::V2Beta1) {
        prepare(draft, account);
    } else if account.launcher().is_some() {
        draft.suspend_launcher(account, true);
    }
}

/// Nothing is made while a name is not free, as of a job that runs; what runs already is stopped all the same.
fn prepare(draft: &mut Draft<'_>, account: &Account<'_>) {
    let conflict = draft.conflict(account);
    // Nor is anything made of what cannot be run.
    let may_make = conflict.is_none() && !draft.is_doubted();
    if let Some(conflict) = &conflict {
        draft.tell("Warning", "ErrResourceExists", conflict);
    } else if may_make {
        draft.make_supports(account);
    }
    if may_make || account.launcher().is_some() {
        draft.suspend_launcher(account, true);
    }
}

/// The job goes on: its time starts anew, when it begins. Pods that still stop make room for others whatever becomes
/// of them, which is written down before anything else is decided; whether there are none.
pub(crate) fn resume(draft: &mut Draft<'_>, account: &Account<'_>) -> bool {
    let job = draft.job;
    let why = reason(job.kind.kind, RESUMED);
    let message = verdict::resumed(job);
    if draft.set(SUSPENDED, false, &why, &message) {
        draft.tell("Normal", &why, &message);
    }
    draft.status.start_time = None;
    let own = account.pods().chain(account.surplus.iter().copied());
    let own = own.filter(|pod| pod.controller.as_deref() == Some(job.identity.uid.as_str()));
    let stopping = own.filter(|pod| pod.is_deleted() && !restarts::is_replaced(job, pod));
    let stopping: Vec<String> = stopping.map(|pod| pod.uid.clone()).collect();
    let is_settled = stopping.is_empty();
    if !is_settled {
        let restarts = draft.status.restarts.get_or_insert_default();
        restarts.replaced.extend(stopping);
    }
    is_settled
}
