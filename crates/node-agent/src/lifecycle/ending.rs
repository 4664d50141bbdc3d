//! Whether a pod has to end, and why.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::{
    record::Records,
    roles::{self, Restart},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The node cannot keep it, for this reason.
    Evicted(String),
    /// Somebody deleted it.
    Deleted { grace: Duration },
    /// It ran longer than it may.
    TooLong,
    /// The work is done, well or badly; helpers are not needed any more.
    Completed,
    /// A first step failed for good.
    InitFailed,
}

/// What a pod gets that is in the way.
const EVICTION_GRACE: Duration = Duration::from_secs(1);

impl Ending {
    pub(crate) fn grace(&self, pod: &Pod) -> Duration {
        match self {
            Self::Deleted { grace } => *grace,
            Self::Evicted(_) => EVICTION_GRACE,
            _ => own_grace(pod),
        }
    }
}

/// Why the pod must end, if it must. `eviction` is why the node cannot keep it, if it cannot.
pub(crate) fn ending(pod: &Pod, records: &Records, eviction: Option<&str>, now: Timestamp) -> Option<Ending> {
    if let Some(why) = eviction {
        return Some(Ending::Evicted(why.to_owned()));
    }
    if pod.metadata.deletion_timestamp.is_some() {
        let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
        let grace = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        return Some(Ending::Deleted { grace });
    }
    if deadline(pod).is_some_and(|deadline| deadline <= now) {
        return Some(Ending::TooLong);
    }
    if has_failed_to_initialize(pod, records) {
        return Some(Ending::InitFailed);
    }
    is_work_done(pod, records).then_some(Ending::Completed)
}

/// When the pod has run as long as it may.
pub(crate) fn deadline(pod: &Pod) -> Option<Timestamp> {
    let seconds = roles::spec(pod).active_deadline_seconds?;
    let started = pod.status.as_ref()?.start_time.as_ref()?.0;
    started.saturating_add(SignedDuration::from_secs(seconds)).ok()
}

pub(crate) fn own_grace(pod: &Pod) -> Duration {
    let seconds = roles::spec(pod).termination_grace_period_seconds.unwrap_or(30);
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

fn has_failed_to_initialize(pod: &Pod, records: &Records) -> bool {
    let restart = Restart::of(roles::spec(pod));
    restart == Restart::Never
        && roles::steps(pod).any(|step| {
            let ended = records.get(&step.name).and_then(|record| record.ended());
            ended.is_some_and(|ended| ended.exit_code != 0)
        })
}

/// Every container of the work has ended and none will be started again.
fn is_work_done(pod: &Pod, records: &Records) -> bool {
    let restart = Restart::of(roles::spec(pod));
    let work = roles::work(pod);
    !work.is_empty()
        && work.iter().all(|container| {
            let ended = records.get(&container.name).and_then(|record| record.ended());
            ended.is_some_and(|ended| !restart.after(ended.exit_code))
        })
}
