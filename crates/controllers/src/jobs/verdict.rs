//! Whether a job is over, how, and why.

use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::JobCondition;

use super::{failure_policy::Reaction, observed::Observed, success_policy};
use crate::pods::health;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub is_success: bool,
    pub reason: String,
    pub message: String,
    /// Not yet on record. What is on record stands, whatever happens afterwards.
    pub is_new: bool,
}

impl Verdict {
    /// The condition that puts the verdict on record, while pods still end.
    pub(crate) fn interim(&self) -> &'static str {
        if self.is_success { SUCCESS } else { FAILURE }
    }

    /// The condition that says that all is over.
    pub(crate) fn terminal(&self) -> &'static str {
        if self.is_success { "Complete" } else { "Failed" }
    }
}

const SUCCESS: &str = "SuccessCriteriaMet";
const FAILURE: &str = "FailureTarget";

pub(crate) fn verdict(observed: &Observed<'_>) -> Option<Verdict> {
    on_record(observed)
        .or_else(|| failure_by_rule(observed))
        .or_else(|| failure_by_limits(observed))
        .or_else(|| failure_by_indexes(observed))
        .or_else(|| success_by_rule(observed))
        .or_else(|| success_by_count(observed))
}

fn on_record(observed: &Observed<'_>) -> Option<Verdict> {
    let recorded = |kind| {
        observed
            .condition(kind)
            .filter(|condition| condition.status == "True")
    };
    let known = |is_success, condition: &JobCondition| Verdict {
        is_success,
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
        is_new: false,
    };
    recorded(SUCCESS)
        .map(|condition| known(true, condition))
        .or_else(|| recorded(FAILURE).map(|condition| known(false, condition)))
}

fn failure_by_rule(observed: &Observed<'_>) -> Option<Verdict> {
    let mut failed = observed.pods.iter().filter(|pod| observed.is_failed(pod));
    failed.find_map(|pod| match observed.reaction(pod) {
        Reaction::FailJob(message) => Some(failure("PodFailurePolicy", &message)),
        _ => None,
    })
}

fn failure_by_limits(observed: &Observed<'_>) -> Option<Verdict> {
    if observed.failed > observed.backoff_limit() || is_past_restarts(observed) {
        let message = "Job has reached the specified backoff limit";
        return Some(failure("BackoffLimitExceeded", message));
    }
    let left = time_left(observed)?;
    (!left.is_positive()).then(|| {
        failure(
            "DeadlineExceeded",
            "Job was active longer than specified deadline",
        )
    })
}

/// How long the job may still run, if that is limited.
pub(crate) fn time_left(observed: &Observed<'_>) -> Option<SignedDuration> {
    let limit = observed.spec.active_deadline_seconds?;
    let started = observed.started_at().filter(|_| !observed.is_suspended())?;
    Some(SignedDuration::from_secs(limit) - observed.now.duration_since(started))
}

/// Containers that are started again in their pods count as failures too.
fn is_past_restarts(observed: &Observed<'_>) -> bool {
    let template = observed.spec.template.spec.as_ref();
    if template.and_then(|spec| spec.restart_policy.as_deref()) != Some("OnFailure") {
        return false;
    }
    let running = observed
        .pods
        .iter()
        .filter(|pod| matches!(health::phase(pod), "Running" | "Pending"));
    let statuses = running.filter_map(|pod| pod.status.as_ref()).flat_map(|status| {
        let init = status.init_container_statuses.iter().flatten();
        init.chain(status.container_statuses.iter().flatten())
    });
    let restarts: i64 = statuses.map(|container| i64::from(container.restart_count)).sum();
    restarts >= (observed.backoff_limit() as i64).max(1)
}

fn failure_by_indexes(observed: &Observed<'_>) -> Option<Verdict> {
    let failed = observed.failed_indexes.as_ref()?.count();
    let allowed = observed.spec.max_failed_indexes;
    if allowed.is_some_and(|allowed| failed > usize::try_from(allowed).unwrap_or_default()) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(failure("MaxFailedIndexesExceeded", message));
    }
    let is_done = failed + observed.succeeded >= observed.completions() as usize;
    (failed > 0 && is_done).then(|| failure("FailedIndexes", "Job has failed indexes"))
}

fn success_by_rule(observed: &Observed<'_>) -> Option<Verdict> {
    let policy = observed
        .spec
        .success_policy
        .as_ref()
        .filter(|_| observed.is_indexed());
    let rule = success_policy::met(policy, observed.completions(), &observed.succeeded_indexes)?;
    Some(success(
        "SuccessPolicy",
        &format!("Matched rules at index {rule}"),
    ))
}

/// The wanted number of successes or, without one, any; and nobody works any more.
fn success_by_count(observed: &Observed<'_>) -> Option<Verdict> {
    let wanted = match observed.spec.completions {
        Some(_) => observed.completions() as usize,
        None => 1,
    };
    (observed.active.is_empty() && observed.succeeded >= wanted)
        .then(|| success("CompletionsReached", "Reached expected number of succeeded pods"))
}

fn failure(reason: &str, message: &str) -> Verdict {
    Verdict {
        is_success: false,
        reason: reason.to_owned(),
        message: message.to_owned(),
        is_new: true,
    }
}

fn success(reason: &str, message: &str) -> Verdict {
    Verdict {
        is_success: true,
        ..failure(reason, message)
    }
}
