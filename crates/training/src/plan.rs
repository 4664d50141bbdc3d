//! What to do about a job: one function from what is to what to do next.

mod draft;
mod judge;
mod launcher;
mod mend;

use std::collections::HashSet;

use jiff::Timestamp;
use manifests::field::FieldError;
use resources::{
    JobCondition, Kind, Restarts,
    conditions::{
        CREATED, FAILED, FAILED_VALIDATION, RESTARTING, RESUMED, RUNNING, SUCCEEDED, SUSPENDED, reason,
    },
    kinds::MX_JOB,
};
use serde_json::Value;

use crate::{
    Child, Observed, Pod, Settings,
    account::{Account, Role},
    check::{check_with, of_begun},
    conditions, finish, read, restarts, standalone_mxnet, suspend, verdict, why,
};

pub(crate) use draft::Draft;
pub(crate) use mend::{demand, mend, scaling};

/// Stands between what has happened and what a job waits for since.
const NOW: &str = "; now ";

/// Everything one look at a job has decided, in the order in which it is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// What to make; what pods need comes before them.
    pub make: Vec<Child>,
    pub delete: Vec<Delete>,
    /// The whole new status, where it differs from the one the job has.
    pub status: Option<Value>,
    pub events: Vec<Event>,
    /// The job's time is over: delete it, with everything it owns.
    pub delete_job: bool,
    /// When to look again although nothing has happened.
    pub wake_at: Option<Timestamp>,
}

/// An object to delete, if it is still the one that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    pub kind: &'static str,
    pub name: String,
    pub uid: String,
    /// Without waiting for a node that is lost.
    pub force: bool,
    /// After saying that it has failed, as such a node will not: a batch Job waits for that.
    pub tell_failed: bool,
}

/// Something to tell about the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub severity: &'static str,
    pub reason: String,
    pub message: String,
}

/// Decides. Total: any object of any kind gets a plan, if only an empty one.
pub fn plan(object: &Value, observed: &Observed, settings: &Settings, now: Timestamp) -> Plan {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let Some(kind) = Kind::of(text("apiVersion"), text("kind")) else {
        return Plan::default();
    };
    // Times are written to the second; what is decided by must be what is written.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    if kind.kind == MX_JOB.kind {
        return standalone_mxnet::plan(object, observed, settings, now);
    }
    let is_new = object["status"]["observedGeneration"].as_i64() != object["metadata"]["generation"].as_i64()
        || object["status"]["observedGeneration"].is_null();
    let mut errors = match is_new {
        true if was_found_fine(object) => of_begun(object, kind, settings),
        true => check_with(object, settings),
        false => Vec::new(),
    };
    let job = read::job(object, kind).unwrap_or_else(|error| {
        errors.push(error);
        read::unreadable(object, kind)
    });
    if job.identity.is_being_deleted || job.is_managed_by_another() {
        return Plan::default();
    }
    let mut draft = Draft::new(&job, observed, settings, now);
    let account = Account::new(&job, observed);
    if errors.is_empty() {
        draft.decide(&account, is_new);
    } else if draft.has_begun() {
        draft.doubt(&errors);
        // Of a specification that cannot be read nothing is known.
        if !job.replicas.is_empty() {
            draft.decide(&account, false);
        }
    } else {
        draft.refuse(&errors);
    }
    draft.finish(&account, object)
}

/// Whether all of a job was looked at once and nothing was wrong with it.
fn was_found_fine(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|conditions| conditions.iter().any(|found| found["type"] == CREATED))
}

impl Draft<'_> {
    fn decide(&mut self, account: &Account<'_>, is_new: bool) {
        let job = self.job;
        if is_new {
            for warning in &job.warnings {
                self.tell("Warning", warning.reason, &warning.message);
            }
        }
        if is_new && self.is_refused() {
            self.status
                .conditions
                .retain(|condition| condition.kind != FAILED);
            self.status.completion_time = None;
        }
        if is_new {
            self.forget_doubt();
        }
        if self.has_ended() {
            finish::finish(self, account);
            return;
        }
        if is_new || conditions::find(&self.status.conditions, CREATED).is_none() {
            self.set(
                CREATED,
                true,
                &reason(job.kind.kind, CREATED),
                &verdict::created(job),
            );
        }
        if job.policy.suspend {
            if !self.has_more_to_write(account) {
                suspend::suspend(self, account);
            }
            return;
        }
        if conditions::is_true(&self.status.conditions, SUSPENDED) && !suspend::resume(self, account) {
            return;
        }
        self.begin(account);
        self.forget_replaced(account);
        self.judge(account);
        if !self.has_ended() {
            if !self.is_doubted() {
                self.bring_in_line(account);
            }
            self.describe(account);
        }
    }

    /// Whether something has come to pass in a job that is about to be suspended which its pods alone tell: it is
    /// written down before they go.
    fn has_more_to_write(&mut self, account: &Account<'_>) -> bool {
        if conditions::is_true(&self.status.conditions, SUSPENDED) {
            return false;
        }
        let before = self.status.restarts.clone();
        self.judge(account);
        self.has_ended() || self.status.restarts != before
    }

    /// Its time starts when its pods may be made: a group that waits in a queue uses up nothing of it.
    fn begin(&mut self, account: &Account<'_>) {
        if self.status.start_time.is_none() && self.is_queued(account) {
            return;
        }
        let start = self.status.start_time.get_or_insert(self.now);
        // A clock that was set back gives nobody more time.
        *start = self.now.min(*start);
    }

    fn is_queued(&self, account: &Account<'_>) -> bool {
        self.waits_for_pod_group() && account.pods().next().is_none()
    }

    /// A job that cannot be run stays as it is until its specification changes.
    fn refuse(&mut self, errors: &[FieldError]) {
        if self.has_ended() && !self.is_refused() {
            return;
        }
        let (why, message) = self.findings(errors);
        if self.set(FAILED, true, &why, &message) {
            self.tell("Warning", &why, &message);
        }
        self.status.completion_time.get_or_insert(self.now);
    }

    /// A job that has begun is looked after as far as its pods go, and nothing is made of a specification that cannot
    /// be run. It has not failed, and so this is not its last condition, which is its state.
    fn doubt(&mut self, errors: &[FieldError]) {
        let (why, message) = self.findings(errors);
        if conditions::put_first(&mut self.status.conditions, FAILED, &why, &message, self.now) {
            self.tell("Warning", &why, &message);
        }
    }

    fn findings(&self, errors: &[FieldError]) -> (String, String) {
        let kind = self.job.kind.kind;
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let message = format!("{kind} failed validation because {}", texts.join("; "));
        (reason(kind, FAILED_VALIDATION), message)
    }

    /// Whether pods may have been made of a specification that could be run.
    fn has_begun(&self) -> bool {
        conditions::find(&self.status.conditions, CREATED).is_some() && !self.has_ended()
    }

    fn is_refused(&self) -> bool {
        self.has_findings(true)
    }

    /// Whether the specification was found wrong after the job had begun.
    pub(crate) fn is_doubted(&self) -> bool {
        self.has_findings(false)
    }

    pub(crate) fn forget_doubt(&mut self) {
        let is_doubt = |condition: &JobCondition| condition.kind == FAILED && !condition.is_true();
        self.status.conditions.retain(|condition| !is_doubt(condition));
    }

    fn has_findings(&self, has_failed: bool) -> bool {
        let failed = conditions::find(&self.status.conditions, FAILED);
        failed.is_some_and(|failed| {
            failed.is_true() == has_failed && failed.reason.ends_with(FAILED_VALIDATION)
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        [SUCCEEDED, FAILED]
            .iter()
            .any(|kind| conditions::is_true(&self.status.conditions, kind))
    }

    /// What was replaced and is gone need not be remembered.
    fn forget_replaced(&mut self, account: &Account<'_>) {
        let Some(restarts) = &mut self.status.restarts else {
            return;
        };
        let launcher = account.launcher().map(|launcher| launcher.uid.as_str());
        let there: HashSet<&str> = account
            .pods()
            .chain(account.surplus.iter().copied())
            .chain(&self.observed.former)
            .map(|pod| pod.uid.as_str())
            .chain(launcher)
            .collect();
        restarts.replaced.retain(|uid| there.contains(uid.as_str()));
        if *restarts == Restarts::default() {
            self.status.restarts = None;
        }
    }

    /// Says whether the job runs, and what it still waits for.
    fn describe(&mut self, account: &Account<'_>) {
        let job = self.job;
        let waits = match self.conflict(account) {
            Some(conflict) => Some(conflict),
            None if self.observed.refusals.is_empty() && self.is_queued(account) => {
                Some(why::queued(job.total() as usize, job.name()))
            }
            None => {
                let lost = self.lost(account);
                why::refused(job, self.observed)
                    .or(lost)
                    .or_else(|| why::waiting(job, account))
            }
        };
        let said = [restarts::story(job, account), waits.clone()];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(NOW);
        let with = |message: String| match said.as_str() {
            "" => message,
            said => format!("{}. {said}", message.trim_end_matches('.')),
        };
        let is_restarting = conditions::is_true(&self.status.conditions, RESTARTING);
        let has_run = conditions::is_true(&self.status.conditions, RUNNING);
        let runs = verdict::runs(job, account) || (has_run && verdict::is_led(job, account));
        if runs && !(is_restarting && self.is_rebuilding(account)) {
            self.forget_waiting();
            let why = reason(job.kind.kind, RUNNING);
            if self.set(RUNNING, true, &why, &with(verdict::running(job))) && !is_restarting {
                self.tell("Normal", &why, &verdict::running(job));
            }
        } else if is_restarting {
            self.add_to_restarting(waits.as_deref());
        } else if has_run && (self.is_doubted() || account.roles.iter().any(Role::is_undecided)) {
            // Nobody is missed yet: a specification that cannot be run says nothing of who should be there, and a batch
            // Job whose pod has ended is about to say what comes of it.
        } else if has_run {
            // Nobody has failed, so nothing is counted: its pods were deleted, or are the last to come.
            let (why, message) = (reason(job.kind.kind, RESTARTING), verdict::leaderless(job));
            self.set(RESTARTING, true, &why, &message);
            self.tell("Warning", &why, &message);
            self.add_to_restarting(waits.as_deref());
        } else {
            self.add_to_latest(&with);
        }
    }

    /// What a job waits for is said where people look first: by the condition that is its state.
    fn add_to_latest(&mut self, with: &dyn Fn(String) -> String) {
        let job = self.job;
        let kind = job.kind.kind;
        let latest = self.status.conditions.last();
        if latest.is_some_and(|latest| latest.kind == SUSPENDED) {
            self.set(
                SUSPENDED,
                false,
                &reason(kind, RESUMED),
                &with(verdict::resumed(job)),
            );
        } else {
            self.set(
                CREATED,
                true,
                &reason(kind, CREATED),
                &with(verdict::created(job)),
            );
        }
    }

    /// What a job has waited for before it ran is of no interest any more.
    fn forget_waiting(&mut self) {
        let job = self.job;
        let kind = job.kind.kind;
        self.set(CREATED, true, &reason(kind, CREATED), &verdict::created(job));
        let resumed = reason(kind, RESUMED);
        let suspended = conditions::find(&self.status.conditions, SUSPENDED);
        if suspended.is_some_and(|suspended| suspended.reason == resumed) {
            self.set(SUSPENDED, false, &resumed, &verdict::resumed(job));
        }
    }

    /// The cause of a restart stays what it was; what its pods wait for now is said behind it.
    fn add_to_restarting(&mut self, waits: Option<&str>) {
        let Some(condition) = conditions::find(&self.status.conditions, RESTARTING) else {
            return;
        };
        let cause = condition.message.split(NOW).next().unwrap_or_default();
        let message = match waits {
            Some(waits) => format!("{cause}{NOW}{waits}"),
            None => cause.to_owned(),
        };
        let why = condition.reason.clone();
        self.set(RESTARTING, true, &why, &message);
    }

    /// Whether this is the cause that is told already, whatever the job waits for now.
    fn is_restarting_because(&self, cause: &str) -> bool {
        let told = conditions::find(&self.status.conditions, RESTARTING);
        let told = told.filter(|told| told.is_true());
        told.is_some_and(|told| told.message.split(NOW).next() == cause.split(NOW).next())
    }

    /// Pods are still missing, or in the way of their successors.
    fn is_rebuilding(&self, account: &Account<'_>) -> bool {
        let restarts = self.status.restarts.as_ref();
        let is_old = |pod: &Pod| restarts::is_replaced_by(self.job, restarts, pod);
        let misses = |role: &Role<'_>| role.places.iter().any(Option::is_none);
        account.roles.iter().any(misses) || account.pods().any(is_old)
    }
}
