//! Whether a job has succeeded or runs, by the rules of its kind, and the words for it.

use resources::JobCondition;

use crate::{
    account::{Account, Role},
    job::{Framework, Job, MpiVersion},
    observed::Pod,
    read::UNKNOWN_FIELD,
};

const OVERDUE: &str = "has failed because it was active longer than specified deadline";

/// Whether the replicas that decide have done their work.
pub(crate) fn has_succeeded(job: &Job, account: &Account<'_>) -> bool {
    let Some(role) = deciding_role(job, account) else {
        return false;
    };
    let all = role.done() as u32 >= role.replica.count && role.replica.count > 0;
    match &job.framework {
        Framework::TensorFlow {
            all_workers: false, ..
        } if role.replica.role == "Worker" => {
            let first = role.places.first().copied().flatten();
            all || first.is_some_and(Pod::has_succeeded)
        }
        Framework::PyTorch { elastic: Some(_), .. } if role.replica.role == "Worker" => {
            all || role.done() > 0
        }
        _ => all,
    }
}

/// Whether the job as a whole can be said to run.
pub(crate) fn runs(job: &Job, account: &Account<'_>) -> bool {
    let Some(role) = deciding_role(job, account) else {
        return false;
    };
    if job.mpi().is_some() {
        let workers_run = account.role("Worker").is_none_or(Role::all_run);
        return role.active() > 0 && workers_run;
    }
    role.active() > 0
}

/// Whether somebody runs whose end would be the job's. A job that ran goes on with it though others are missing.
pub(crate) fn is_led(job: &Job, account: &Account<'_>) -> bool {
    deciding_role(job, account).is_some_and(|role| role.active() > 0)
}

/// The role whose success is the job's.
fn deciding_role<'a, 'b>(job: &Job, account: &'a Account<'b>) -> Option<&'a Role<'b>> {
    deciding_roles(job).iter().find_map(|role| account.role(role))
}

/// Of these roles, the first that a job has decides.
pub(crate) fn deciding_roles(job: &Job) -> &'static [&'static str] {
    match job.framework {
        Framework::TensorFlow { .. } => &["Chief", "Master", "Worker"],
        Framework::PyTorch { .. } | Framework::XgBoost | Framework::Paddle { .. } => &["Master", "Worker"],
        Framework::Jax => &["Worker"],
        // Without a scheduler it is a single worker, or a search for the best kernels.
        Framework::Mxnet => &["Scheduler", "Worker", "Tuner"],
        Framework::Mpi(_) => &["Launcher"],
    }
}

/// Kinds differ in whether their messages name the namespace.
fn says_namespace(job: &Job) -> bool {
    match &job.framework {
        Framework::TensorFlow { .. } | Framework::Jax => true,
        Framework::PyTorch { .. } | Framework::Paddle { .. } => job.replica("Master").is_none(),
        Framework::Mpi(mpi) => mpi.version != MpiVersion::V1,
        Framework::Mxnet | Framework::XgBoost => false,
    }
}

fn subject(job: &Job) -> String {
    let kind = job.kind.kind;
    if says_namespace(job) {
        format!("{kind} {}/{}", job.namespace(), job.name())
    } else {
        format!("{kind} {}", job.name())
    }
}

/// What is left out of its pods is told as long as there is the job: an event is forgotten within the hour.
pub(crate) fn created(job: &Job) -> String {
    let is_mpi = job.mpi().is_some_and(|mpi| mpi.version != MpiVersion::V1);
    let mut message = if is_mpi {
        format!("{} is created", subject(job))
    } else {
        format!("{} {} is created", job.kind.kind, job.name())
    };
    let unknown = job
        .warnings
        .iter()
        .filter(|warning| warning.reason == UNKNOWN_FIELD);
    for field in unknown {
        message += "; ";
        message += &field.message;
    }
    message + "."
}

pub(crate) fn running(job: &Job) -> String {
    format!("{} is running.", subject(job))
}

/// It has run, and nobody who decides runs any more.
pub(crate) fn leaderless(job: &Job) -> String {
    let mut roles = deciding_roles(job).iter();
    let role = roles.find(|role| job.replica(role).is_some());
    format!(
        "{} {} is restarting because no {} replica runs",
        job.kind.kind,
        job.name(),
        role.unwrap_or(&"")
    )
}

pub(crate) fn resumed(job: &Job) -> String {
    match job.mpi() {
        Some(mpi) if mpi.version == MpiVersion::V2Beta1 => "MPIJob resumed".to_owned(),
        _ => format!("{} {} is resumed.", job.kind.kind, job.name()),
    }
}

pub(crate) fn succeeded(job: &Job) -> String {
    let verb = if says_namespace(job) {
        "successfully completed."
    } else {
        "is successfully completed."
    };
    format!("{} {verb}", subject(job))
}

pub(crate) fn failed(job: &Job, role: &str, count: i32) -> String {
    let verb = if matches!(job.framework, Framework::TensorFlow { .. }) {
        "has failed"
    } else {
        "is failed"
    };
    let subject = match job.framework {
        Framework::TensorFlow { .. } => subject(job),
        _ => format!("{} {}", job.kind.kind, job.name()),
    };
    format!("{subject} {verb} because {count} {role} replica(s) failed.")
}

pub(crate) fn overdue(job: &Job) -> String {
    format!("Job {} {OVERDUE}", job.name())
}

/// Whether a job has failed because its time was over, by its own clock or by that of its launcher's batch Job.
pub(crate) fn is_overdue(failed: &JobCondition) -> bool {
    failed.is_true() && (failed.message.ends_with(OVERDUE) || failed.reason == "DeadlineExceeded")
}

pub(crate) fn restarting(job: &Job, role: &str, count: i32) -> String {
    format!(
        "{} {} is restarting because {count} {role} replica(s) failed.",
        job.kind.kind,
        job.name()
    )
}
