//! Whether a job has come to its end, and if not, which failures are answered by restarts.

use jiff::SignedDuration;
use resources::conditions::{EVICTED, FAILED, RESTARTING, SUCCEEDED, reason};

use super::Draft;
use crate::{
    BatchJob, Phase,
    account::{Account, Role},
    job::{Job, MpiVersion},
    restarts::{self, Failure},
    verdict, why,
};

impl Draft<'_> {
    /// Success first: what fails after the work is done does not undo it.
    pub(super) fn judge(&mut self, account: &Account<'_>) {
        let job = self.job;
        // Somebody deletes the launcher's Job. What it has used is counted now: its pod is about to be stopped, which
        // is no failure of the program.
        if let Some(launcher) = account.launcher().filter(|launcher| launcher.is_being_deleted) {
            self.replace_launcher(account, launcher);
        }
        if verdict::has_succeeded(job, account) {
            let why = reason(job.kind.kind, SUCCEEDED);
            self.end(SUCCEEDED, &why, &verdict::succeeded(job), "Normal");
        } else if self.is_past_deadline() {
            self.fail(&verdict::overdue(job));
        } else if let Some((why, message)) = launcher_failure(job, account) {
            self.end(FAILED, &why, &message, "Warning");
        } else {
            self.judge_failures(account);
        }
    }

    fn is_past_deadline(&mut self) -> bool {
        let Some(seconds) = self.job.policy.deadline_seconds else {
            return false;
        };
        let start = self.status.start_time.unwrap_or(self.now);
        let deadline = start
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap_or(self.now);
        if deadline > self.now {
            self.wake(deadline);
        }
        deadline <= self.now
    }

    fn judge_failures(&mut self, account: &Account<'_>) {
        let job = self.job;
        let failures = restarts::new_failures(job, account);
        self.tell_exit_codes(&failures);
        if let Some(permanent) = failures.iter().find(|failure| failure.is_permanent) {
            self.give_up(permanent, &failures);
            return;
        }
        let lost = restarts::lost_rank(job, account).filter(|_| failures.is_empty());
        let used = restarts::used(job, account) + restarts::cost(job, &failures) + i32::from(lost.is_some());
        if restarts::exceeds(job, used) {
            let cause = match restarts::cause(job, &failures) {
                cause if cause.is_empty() => lost.unwrap_or_else(|| restarts::last_cause(job, account)),
                cause => cause,
            };
            let message = "has failed because it has reached the specified backoff limit";
            self.fail(&format!("Job {} {message}: {cause}", job.name()));
        } else if let Some(first) = failures.first() {
            let remembered = restarts::remember(job, account, &failures, self.now);
            let said = restarts::announcement(job, used, &remembered.cause);
            let message = verdict::restarting(job, first.role, of_role(&failures, first.role));
            let message = format!("{message} {said}");
            let why = reason(job.kind.kind, RESTARTING);
            self.set(RESTARTING, true, &why, &message);
            self.tell("Warning", &why, &message);
            self.status.restarts = Some(remembered);
        } else if let Some(lost) = lost {
            self.restart_without(lost, used, account);
        } else if is_between_launchers(job, account) {
            let message = verdict::restarting(job, "Launcher", 1);
            let said = restarts::announcement(job, used, &restarts::last_cause(job, account));
            let message = format!("{message} {said}");
            let why = reason(job.kind.kind, RESTARTING);
            if !self.is_restarting_because(&message) && self.set(RESTARTING, true, &why, &message) {
                self.tell("Warning", &why, &message);
            }
        }
    }

    /// Starts a gang anew that has lost a rank.
    fn restart_without(&mut self, cause: String, used: i32, account: &Account<'_>) {
        let job = self.job;
        let said = restarts::announcement(job, used, &cause);
        let message = format!(
            "{} {} is restarting because a rank is missing. {said}",
            job.kind.kind,
            job.name()
        );
        let why = reason(job.kind.kind, RESTARTING);
        self.set(RESTARTING, true, &why, &message);
        self.tell("Warning", &why, &message);
        let mut remembered = restarts::remember(job, account, &[], self.now);
        (remembered.cause, remembered.count) = (cause, remembered.count + 1);
        self.status.restarts = Some(remembered);
    }

    fn tell_exit_codes(&mut self, failures: &[Failure<'_>]) {
        let job = self.job;
        for failure in failures.iter().filter(|failure| failure.by_code) {
            if let Some(exit) = failure.pod.exit(job.kind.container) {
                let pod = &failure.pod.name;
                let message = format!("Pod: {}.{pod} exited with code {}", job.namespace(), exit.code);
                self.tell("Normal", "ExitedWithCode", &message);
            }
        }
    }

    /// A failure that no restart would mend, or that the policy does not want mended.
    fn give_up(&mut self, permanent: &Failure<'_>, failures: &[Failure<'_>]) {
        let (job, role) = (self.job, permanent.role);
        let evicted = failures
            .iter()
            .filter(|failure| failure.pod.reason == "Evicted")
            .count();
        if job.mpi().is_some() && evicted > 0 && role == "Worker" {
            let message = format!("{evicted}/{} workers are evicted", job.count("Worker"));
            self.end(FAILED, &reason(job.kind.kind, EVICTED), &message, "Warning");
            return;
        }
        let message = if permanent.by_code {
            format!(
                "job {:?} is failing because {role:?} replica(s) failed.",
                job.name()
            )
        } else {
            verdict::failed(job, role, of_role(failures, role))
        };
        self.fail(&format!("{message} {}", why::ending(job, permanent.pod)));
    }

    fn fail(&mut self, message: &str) {
        let why = reason(self.job.kind.kind, FAILED);
        self.end(FAILED, &why, message, "Warning");
    }

    /// Writes a verdict down. It is acted on when it has been stored.
    fn end(&mut self, kind: &str, why: &str, message: &str, severity: &'static str) {
        self.forget_waiting();
        self.forget_doubt();
        if self.set(kind, true, why, message) {
            self.tell(severity, why, message);
        }
        self.status.completion_time.get_or_insert(self.now);
    }
}

fn of_role(failures: &[Failure<'_>], role: &str) -> i32 {
    failures.iter().filter(|failure| failure.role == role).count() as i32
}

/// A launcher has failed, and its batch Job has yet to start the next.
fn is_between_launchers(job: &Job, account: &Account<'_>) -> bool {
    let starts_another = |launcher: &BatchJob| {
        let is_replaced = restarts::is_launcher_replaced(job, job.status.restarts.as_ref(), launcher);
        launcher.failed > 0 && !launcher.is_suspended && !launcher.is_being_deleted && !is_replaced
    };
    let is_between = |role: &Role<'_>| role.active() == 0 && role.launcher.is_some_and(starts_another);
    account.roles.iter().any(is_between)
}

/// How the batch Job of a launcher has failed, if it has.
fn launcher_failure(job: &Job, account: &Account<'_>) -> Option<(String, String)> {
    let role = account.roles.iter().find(|role| role.launcher.is_some())?;
    let launcher = role.launcher?;
    if restarts::is_launcher_replaced(job, job.status.restarts.as_ref(), launcher) {
        return None;
    }
    let (mut why, mut message) = launcher.failure.clone()?;
    if why.is_empty() {
        why = reason(job.kind.kind, FAILED);
    }
    let failed = format!("MPIJob {}/{} has failed", job.namespace(), job.name());
    if job.mpi().is_some_and(|mpi| mpi.version == MpiVersion::V1Alpha2) {
        // That version has one word for every failure.
        why = reason(job.kind.kind, FAILED);
        message = if message.is_empty() {
            failed
        } else {
            format!("{failed}: {message}")
        };
    } else if message.is_empty() {
        message = failed;
    }
    let failed = role.pods.iter().filter(|pod| pod.phase == Phase::Failed);
    if let Some(last) = failed.max_by_key(|pod| pod.created) {
        if why == "BackoffLimitExceeded" && !last.reason.is_empty() {
            why = format!("{why}/{}", last.reason);
        }
        message = format!("{message}: {}", why::ending(job, last));
    }
    Some((why, message))
}
