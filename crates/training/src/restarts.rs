//! Failed replicas: which of them end the job, which are replaced, and how often and how soon.
//!
//! A failure is first written into the status (counted, with the uid of the pod) and acted on only
//! by a later plan that finds it there. So whatever is interrupted, each failure counts once.

use jiff::{SignedDuration, Timestamp};
use resources::Restarts;

use crate::{
    account::{Account, Role},
    job::{Framework, Job, RestartPolicy},
    observed::{BatchJob, Phase, Pod},
    why,
};

/// The wait before the second restart in a row; it doubles up to the longest.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(300);
/// After this long without a failure the next one is the first of a row.
const QUIET: SignedDuration = SignedDuration::from_mins(10);
/// Exit codes from here on come from a signal and are worth another try.
const FIRST_RETRYABLE_CODE: i32 = 128;

pub(crate) struct Failure<'a> {
    pub role: &'static str,
    pub pod: &'a Pod,
    pub is_permanent: bool,
    /// Judged by its exit code.
    pub by_code: bool,
}

/// Failures that the status does not know of yet.
pub(crate) fn new_failures<'a>(job: &Job, account: &Account<'a>) -> Vec<Failure<'a>> {
    let roles = account.roles.iter().filter(|role| role.launcher.is_none());
    let failures = roles.flat_map(|role| {
        let pods = role.places.iter().copied().flatten();
        pods.filter(|pod| pod.has_failed() && !is_replaced(job, pod))
            .filter_map(|pod| failure(job, role.replica.role, role.replica.restart, pod))
    });
    failures.chain(failed_launcher(job, account)).collect()
}

/// The launcher of a batch Job that is a rank of a gang. Its Job would try it again, alone.
fn failed_launcher<'a>(job: &Job, account: &Account<'a>) -> Option<Failure<'a>> {
    if !job.launcher_is_of_the_gang() {
        return None;
    }
    Some(Failure {
        role: "Launcher",
        pod: ranks_of_batch_jobs(job, account)
            .filter(|pod| pod.has_failed())
            .max_by_key(|pod| pod.created)?,
        is_permanent: false,
        by_code: false,
    })
}

fn ranks_of_batch_jobs<'a>(job: &Job, account: &Account<'a>) -> impl Iterator<Item = &'a Pod> {
    let roles = account.roles.iter().filter(|role| role.launcher.is_some());
    let pods = roles.flat_map(|role| role.pods.iter().copied());
    pods.filter(|pod| !is_replaced(job, pod))
}

/// That a gang which was whole has lost a rank without a failure: somebody has deleted it, or its node was removed
/// with all that ran there. The others would wait for it for ever.
pub(crate) fn lost_rank(job: &Job, account: &Account<'_>) -> Option<String> {
    let was_whole = |role: &Role<'_>| {
        let counted = job.status.replica_statuses.get(role.replica.role);
        counted.is_some_and(|counted| (counted.active + counted.succeeded) as u32 >= role.replica.count)
    };
    let goes_on = |pod: &Pod| pod.phase == Phase::Running && !pod.is_deleted() && !is_replaced(job, pod);
    if !job.restarts_together() || !account.roles.iter().all(was_whole) || !account.pods().any(goes_on) {
        return None;
    }
    let is_lost = |pod: &Pod| pod.is_stopped() && !is_replaced(job, pod);
    let launcher = || {
        let mut pods = ranks_of_batch_jobs(job, account).filter(|_| job.launcher_is_of_the_gang());
        pods.find(|pod| is_lost(pod)).map(|pod| pod.name.clone())
    };
    let numbered = || {
        account.roles.iter().find_map(|role| {
            let places = (0_u32..).zip(&role.places);
            let mut gone = places.filter(|(_, pod)| pod.is_none_or(is_lost));
            // Those that have done their work may go.
            let counted = job.status.replica_statuses.get(role.replica.role);
            let done = counted.map_or(0, |counted| (counted.succeeded - role.done()).max(0));
            let (index, _) = gone.nth(done as usize)?;
            Some(job.child_name(role.replica.role, index))
        })
    };
    let lost = numbered().or_else(launcher)?;
    Some(format!("{} is gone", why::short_name(job, &lost)))
}

fn failure<'a>(job: &Job, role: &'static str, policy: RestartPolicy, pod: &'a Pod) -> Option<Failure<'a>> {
    let by_code = policy == RestartPolicy::ExitCode;
    let is_permanent = match policy {
        RestartPolicy::Never => {
            // The others go on without a worker that may come and go.
            let is_expected =
                matches!(job.framework, Framework::TensorFlow { dynamic: true, .. }) && role == "Worker";
            if is_expected {
                return None;
            }
            true
        }
        RestartPolicy::ExitCode => {
            // A pod that never came to an end of its own (evicted, lost) may try again, however its programs took it.
            let exit = pod.exit(job.kind.container).filter(|_| !pod.is_disrupted);
            exit.is_some_and(|exit| exit.code < FIRST_RETRYABLE_CODE)
        }
        RestartPolicy::Always | RestartPolicy::OnFailure => false,
    };
    Some(Failure {
        role,
        pod,
        is_permanent,
        by_code,
    })
}

/// Whether a pod has been counted, by the stored status, and makes room for its successor.
pub(crate) fn is_replaced(job: &Job, pod: &Pod) -> bool {
    is_replaced_by(job, job.status.restarts.as_ref(), pod)
}

/// The same by a status that is not stored yet.
pub(crate) fn is_replaced_by(job: &Job, restarts: Option<&Restarts>, pod: &Pod) -> bool {
    restarts.is_some_and(|restarts| {
        // A launcher that is replaced takes its pods along.
        let is_counted = |uid: &String| *uid == pod.uid || Some(uid) == pod.controller.as_ref();
        restarts.replaced.iter().any(is_counted) || (job.restarts_together() && pod.gang < restarts.gang)
    })
}

/// Whether what a launcher has used is counted, by this status, and it makes room for its successor.
pub(crate) fn is_launcher_replaced(job: &Job, restarts: Option<&Restarts>, launcher: &BatchJob) -> bool {
    restarts.is_some_and(|restarts| {
        restarts.replaced.contains(&launcher.uid)
            || (job.restarts_together() && launcher.gang < restarts.gang)
    })
}

/// How often the launcher has failed and was tried again by its batch Job, as far as that is not counted yet.
fn by_batch(job: &Job, account: &Account<'_>) -> i32 {
    let launcher = account.launcher();
    let known = job.status.restarts.as_ref();
    let failed = launcher
        .filter(|launcher| !is_launcher_replaced(job, known, launcher))
        .map_or(0, |launcher| launcher.failed);
    if job.launcher_is_of_the_gang() {
        // Those that are there are failures of the gang, or were taken away from it.
        let ended = ranks_of_batch_jobs(job, account).filter(|pod| pod.phase == Phase::Failed);
        return (failed - ended.count() as i32).max(0);
    }
    failed
}

/// Restarts so far: those that were written down, and those the kubelet makes, or is about to make, in pods that live.
pub(crate) fn used(job: &Job, account: &Account<'_>) -> i32 {
    let counted = job.status.restarts.as_ref().map_or(0, |restarts| restarts.count);
    let live = account
        .pods()
        .chain(account.surplus.iter().copied())
        .filter(|pod| !is_replaced(job, pod))
        .map(|pod| pod.restarts + i32::from(pod.waits_to_restart()));
    counted + live.sum::<i32>() + by_batch(job, account)
}

pub(crate) fn exceeds(job: &Job, used: i32) -> bool {
    job.policy.backoff_limit.is_some_and(|limit| used > limit)
}

/// What is remembered once these failures are to be answered by restarts.
pub(crate) fn remember(
    job: &Job,
    account: &Account<'_>,
    failures: &[Failure<'_>],
    now: Timestamp,
) -> Restarts {
    let mut restarts = job.status.restarts.clone().unwrap_or_default();
    let together = job.restarts_together();
    let gone = account.pods().filter(|pod| {
        !is_replaced(job, pod) && (together || failures.iter().any(|failure| failure.pod.uid == pod.uid))
    });
    let mut carried: i32 = gone.map(|pod| pod.restarts).sum();
    if together {
        // It goes with the rest.
        carried += by_batch(job, account);
    }
    restarts.count += carried + cost(job, failures);
    let wait = wait(&restarts, now);
    restarts.not_before = (!wait.is_zero()).then(|| now.saturating_add(wait).unwrap_or(now));
    restarts.last_time = Some(now);
    if together {
        restarts.gang += 1;
        restarts.replaced.clear();
    } else {
        restarts
            .replaced
            .extend(failures.iter().map(|failure| failure.pod.uid.clone()));
    }
    restarts.cause = cause(job, failures);
    restarts
}

/// How many restarts these failures take.
pub(crate) fn cost(job: &Job, failures: &[Failure<'_>]) -> i32 {
    let failures = failures.len() as i32;
    if job.restarts_together() {
        failures.min(1)
    } else {
        failures
    }
}

/// `restart 2 of 5: worker-7 exit 137, OOMKilled`.
pub(crate) fn announcement(job: &Job, number: i32, cause: &str) -> String {
    let limit = job.policy.backoff_limit;
    let limit = limit.map_or(String::new(), |limit| format!(" of {limit}"));
    let cause = if cause.is_empty() {
        String::new()
    } else {
        format!(": {cause}")
    };
    format!("restart {number}{limit}{cause}")
}

/// What is to be said of a job that runs and did not from its start on without a break.
pub(crate) fn story(job: &Job, account: &Account<'_>) -> Option<String> {
    let used = used(job, account);
    (used > 0).then(|| announcement(job, used, &last_cause(job, account)))
}

/// Why the last restart was made, by whomever: the kubelet's are seen in pods that live, a batch Job's in
/// pods that do not.
pub(crate) fn last_cause(job: &Job, account: &Account<'_>) -> String {
    let retried = account.roles.iter().find_map(|role| {
        let failed = role
            .pods
            .iter()
            .filter(|pod| pod.phase == Phase::Failed && !is_replaced(job, pod));
        role.launcher.and(failed.max_by_key(|pod| pod.created))
    });
    let by_kubelet = || {
        account
            .pods()
            .find(|pod| pod.restarts > 0 && !is_replaced(job, pod))
    };
    let remembered = job
        .status
        .restarts
        .as_ref()
        .map(|restarts| restarts.cause.clone());
    retried
        .copied()
        .or_else(by_kubelet)
        .map(|pod| why::ending(job, pod))
        .or(remembered)
        .unwrap_or_default()
}

pub(crate) fn cause(job: &Job, failures: &[Failure<'_>]) -> String {
    let Some(first) = failures.first() else {
        return String::new();
    };
    let ending = why::ending(job, first.pod);
    match failures.len() {
        1 => ending,
        more => format!("{ending} (and {} more)", more - 1),
    }
}

/// Until when new pods wait. A time that is further ahead than any wait was written by a clock that has been set
/// back since.
pub(crate) fn waits_until(restarts: &Restarts, now: Timestamp) -> Option<Timestamp> {
    let until = restarts.not_before?;
    (until > now && until.duration_since(now) <= LONGEST_WAIT).then_some(until)
}

/// The first restart is at once; those that follow soon after each other wait longer and longer.
fn wait(restarts: &Restarts, now: Timestamp) -> SignedDuration {
    let Some(last) = restarts
        .last_time
        .filter(|last| now.duration_since(*last) < QUIET)
    else {
        return SignedDuration::ZERO;
    };
    let previous = restarts
        .not_before
        .map_or(SignedDuration::ZERO, |until| until.duration_since(last));
    if previous.is_zero() {
        FIRST_WAIT
    } else {
        (previous * 2).min(LONGEST_WAIT)
    }
}
