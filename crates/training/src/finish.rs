//! A job that has ended: what is cleaned up, and when it goes itself.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use resources::conditions::{FAILED, SUCCEEDED};

use crate::{
    account::Account,
    conditions,
    job::CleanPodPolicy,
    observed::{Phase, Pod},
    plan::Draft,
    verdict,
};

/// Acts on a verdict that has been written down before.
pub(crate) fn finish(draft: &mut Draft<'_>, account: &Account<'_>) {
    let policy = draft.job.policy.clean.unwrap_or_else(|| unsaid(draft));
    let goes = |pod: &Pod| match policy {
        CleanPodPolicy::None => false,
        // One that is asked to stop goes whatever it says of itself: its node may be lost.
        CleanPodPolicy::Running => matches!(pod.phase, Phase::Running | Phase::Pending) || pod.is_deleted(),
        CleanPodPolicy::All => true,
    };
    // The pods of a batch Job are its own affair.
    let uid = draft.job.identity.uid.as_str();
    let own = account.pods().chain(account.surplus.iter().copied());
    let own = own.filter(|pod| pod.controller.as_deref() == Some(uid));
    let (gone, left): (Vec<&Pod>, Vec<&Pod>) = own.partition(|pod| goes(pod));
    for pod in gone {
        draft.delete_pod(pod);
    }
    if policy != CleanPodPolicy::None {
        let left: HashSet<&str> = left.iter().map(|pod| pod.name.as_str()).collect();
        draft.delete_addresses(|name| left.contains(name));
    }
    if policy != CleanPodPolicy::None
        && let Some(launcher) = account.launcher()
        && !launcher.is_over()
    {
        draft.delete_batch_job(launcher);
    }
    draft.delete_pod_group();
    if let Some(seconds) = draft.job.policy.ttl_seconds {
        let due = ended(draft)
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap_or(draft.now);
        if due <= draft.now {
            draft.delete_job = true;
        } else {
            draft.wake(due);
        }
    }
}

/// What is done where nothing is said: as with the originals, nothing, for what still runs of a failed job may tell
/// why. But a deadline is there to end what runs; what has ended stays for its logs.
fn unsaid(draft: &Draft<'_>) -> CleanPodPolicy {
    let failed = conditions::find(&draft.status.conditions, FAILED);
    if failed.is_some_and(verdict::is_overdue) {
        CleanPodPolicy::Running
    } else {
        CleanPodPolicy::None
    }
}

/// Jobs that another operator has ended may lack their completion time.
fn ended(draft: &Draft<'_>) -> Timestamp {
    let conditions = &draft.status.conditions;
    let end = conditions::find(conditions, SUCCEEDED).or_else(|| conditions::find(conditions, FAILED));
    let noted = draft.status.completion_time.or_else(|| end?.last_transition_time);
    noted.unwrap_or(draft.now)
}
