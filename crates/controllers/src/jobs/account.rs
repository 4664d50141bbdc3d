//! What a job's status should say, and which pods it has then taken note of. Pure.
//!
//! An end is counted in three steps, each of which may be the last before a crash: the pod's uid goes
//! into the status as uncounted; the pod loses its finalizer; the uid gives way to a count. A uid in
//! the status without a tracked pod is therefore one to count, and a tracked pod whose uid is there is
//! not to be noted again.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        batch::v1::{JobCondition, JobStatus, UncountedTerminatedPods},
        core::v1::Pod,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::{
    failure_policy::Reaction,
    notice::Notice,
    observed::{Observed, is_success},
    tracking,
    verdict::{Verdict, verdict},
};
use crate::pods::health;

/// So many ends are noted at most in one status, so that it stays small.
const MOST_UNCOUNTED: usize = 500;

#[derive(Debug)]
pub(crate) struct Account {
    pub status: JobStatus,
    /// Pods that need not be tracked once the status is written.
    pub release: Vec<Arc<Pod>>,
    pub notices: Vec<Notice>,
}

pub(crate) fn account(observed: &Observed<'_>) -> Account {
    let verdict = verdict(observed);
    let ending = verdict.as_ref().filter(|_| observed.active.is_empty());
    let mut status = observed.status.clone();
    let mut uncounted = count_released(observed, &mut status);
    let release = note_ends(observed, ending, &mut uncounted);
    set_numbers(observed, &mut status);
    let is_settled = release.is_empty()
        && observed.stopping.is_empty()
        && uncounted.succeeded.is_none()
        && uncounted.failed.is_none();
    status.uncounted_terminated_pods = Some(uncounted);

    let mut account = Account {
        status,
        release,
        notices: Vec::new(),
    };
    match (&verdict, ending) {
        (Some(verdict), _) if verdict.is_new => {
            account.set_condition(
                verdict.interim(),
                "True",
                &verdict.reason,
                &verdict.message,
                observed.now,
            );
        }
        (_, Some(verdict)) if is_settled => account.close(verdict, observed),
        (None, _) if !observed.is_being_deleted() => account.tell_suspension(observed),
        _ => {}
    }
    account
}

/// Turns noted ends whose pods are released into counts, and returns the notes that remain.
fn count_released(observed: &Observed<'_>, status: &mut JobStatus) -> UncountedTerminatedPods {
    let pods = observed.pods.iter();
    let tracked: HashSet<&str> = pods
        .filter(|pod| tracking::is_tracked(pod))
        .map(|pod| tracking::uid(pod))
        .collect();
    let settle = |uids: Option<Vec<String>>, count: &mut Option<i32>| {
        let before = uids.as_ref().map_or(0, Vec::len);
        let left: Vec<String> = uids
            .into_iter()
            .flatten()
            .filter(|uid| tracked.contains(uid.as_str()))
            .collect();
        let counted = count.unwrap_or_default() + (before - left.len()) as i32;
        *count = (counted != 0).then_some(counted);
        (!left.is_empty()).then_some(left)
    };
    let noted = observed.uncounted();
    UncountedTerminatedPods {
        succeeded: settle(noted.succeeded, &mut status.succeeded),
        failed: settle(noted.failed, &mut status.failed),
    }
}

/// Notes new ends, and returns the pods that may be released for it.
fn note_ends(
    observed: &Observed<'_>,
    ending: Option<&Verdict>,
    uncounted: &mut UncountedTerminatedPods,
) -> Vec<Arc<Pod>> {
    let mut pods: Vec<&Arc<Pod>> = observed
        .pods
        .iter()
        .filter(|pod| tracking::is_tracked(pod) && is_releasable(observed, ending, pod))
        .collect();
    pods.sort_by_key(|pod| tracking::index(pod));
    let mut release = Vec::new();
    for pod in pods {
        // The string of completed indexes is note enough of a success.
        let is_counted_by_index = observed.is_indexed() && is_success(pod);
        if observed.has_place(pod) && !is_counted_by_index {
            note_end(observed, ending, uncounted, pod);
        }
        release.push(pod.clone());
        let lists = [&uncounted.succeeded, &uncounted.failed];
        let noted: usize = lists.iter().map(|uids| uids.as_ref().map_or(0, Vec::len)).sum();
        if noted >= MOST_UNCOUNTED || release.len() >= MOST_UNCOUNTED {
            break;
        }
    }
    release
}

fn note_end(
    observed: &Observed<'_>,
    ending: Option<&Verdict>,
    uncounted: &mut UncountedTerminatedPods,
    pod: &Pod,
) {
    let uid = tracking::uid(pod).to_owned();
    let lists = [&uncounted.succeeded, &uncounted.failed];
    if lists.into_iter().flatten().any(|uids| uids.contains(&uid)) {
        return;
    }
    // With a job that has failed, whatever still runs has failed too.
    let is_failure = observed.is_failed(pod) || ending.is_some_and(|verdict| !verdict.is_success);
    if is_success(pod) {
        uncounted.succeeded.get_or_insert_default().push(uid);
    } else if is_failure && observed.reaction(pod) != Reaction::Ignore {
        uncounted.failed.get_or_insert_default().push(uid);
    }
}

fn is_releasable(observed: &Observed<'_>, ending: Option<&Verdict>, pod: &Arc<Pod>) -> bool {
    if ending.is_some() || observed.is_being_deleted() || is_success(pod) {
        return true;
    }
    let predecessor = tracking::index(pod).and_then(|index| observed.predecessors.get(&index));
    observed.is_failed(pod) && predecessor.is_none_or(|predecessor| !Arc::ptr_eq(predecessor, pod))
}

fn set_numbers(observed: &Observed<'_>, status: &mut JobStatus) {
    let ready = observed.active.iter().filter(|pod| health::is_ready(pod)).count();
    let active = observed.active.len() as i32;
    status.active = (active != 0).then_some(active);
    status.ready = Some(ready as i32);
    status.terminating = Some(observed.stopping.len() as i32);
    status.start_time = observed.started_at().map(whole_second);
    if observed.is_indexed() {
        let succeeded = observed.succeeded as i32;
        status.succeeded = (succeeded != 0).then_some(succeeded);
        let completed = observed.succeeded_indexes.to_string();
        status.completed_indexes = (!completed.is_empty()).then_some(completed);
        status.failed_indexes = observed.failed_indexes.as_ref().map(ToString::to_string);
    }
}

impl Account {
    /// Every pod has ended, been counted and been released.
    fn close(&mut self, verdict: &Verdict, observed: &Observed<'_>) {
        self.set_condition(
            verdict.terminal(),
            "True",
            &verdict.reason,
            &verdict.message,
            observed.now,
        );
        if !verdict.is_success {
            self.notices
                .push(Notice::warning(&verdict.reason, &verdict.message));
            return;
        }
        self.status.completion_time = Some(whole_second(observed.now));
        let succeeded = self.status.succeeded.unwrap_or_default();
        if observed.spec.completions.is_some_and(|wanted| succeeded > wanted) {
            let text = "Too many succeeded pods running after completion count reached";
            self.notices.push(Notice::warning("TooManySucceededPods", text));
        }
        self.notices.push(Notice::normal("Completed", "Job completed"));
    }

    fn tell_suspension(&mut self, observed: &Observed<'_>) {
        let (wanted, reason, notice, text) = if observed.is_suspended() {
            ("True", "JobSuspended", "Suspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Resumed", "Job resumed")
        };
        let told = observed.condition("Suspended").map(|told| told.status.as_str());
        // That a job was never suspended need not be said.
        if told.unwrap_or("False") != wanted {
            self.set_condition("Suspended", wanted, reason, text, observed.now);
            self.notices.push(Notice::normal(notice, text));
        }
    }

    fn set_condition(&mut self, kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
        let condition = JobCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_probe_time: Some(whole_second(now)),
            last_transition_time: Some(whole_second(now)),
        };
        let conditions = self.status.conditions.get_or_insert_default();
        match conditions.iter_mut().find(|known| known.type_ == kind) {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
    }
}

/// The API's times are whole seconds: what is written should be what is read again.
fn whole_second(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}
