//! `trainyard stop` and `trainyard resume`: jobs that hold still, and jobs that go on.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    api::ApiError,
    carry_out, find,
    job::{Job, State},
    place::{self, Cluster, Place},
    queue::{self, Standing},
    removal,
    watch::{Sight, Watch},
};
use crate::{Answer, Output, Surroundings, advised};

/// Kueue takes notice of a new job within moments.
const UNNOTICED: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(250);

/// Stop training jobs: their programs end, the jobs stay
///
/// A job that is stopped is suspended: its pods are ended and removed, and their output with them, but
/// the job, its status and whatever it wrote to volumes and to the working directory stay. A job in a queue
/// of Kueue is taken out of it, and stands in it again when it is resumed.
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard stop digits
  trainyard logs digits > digits.log && trainyard stop digits
  trainyard resume digits        start it again, from its checkpoints if it has any

Exit codes: 0 stopped, 1 there is no such job, or it has ended already; 2 it could not be done"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    jobs: Jobs,
}

/// Start training jobs again that were stopped
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard resume digits

Exit codes: 0 it goes on, 1 there is no such job, or it has ended already; 2 it could not be done"))]
pub(crate) struct ResumeArguments {
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(Debug, clap::Args)]
struct Jobs {
    /// The jobs: their names, or KIND/NAME
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    change(&arguments.jobs, surroundings, true)
}

pub(crate) fn resume(arguments: &ResumeArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    change(&arguments.jobs, surroundings, false)
}

fn change(arguments: &Jobs, surroundings: &Surroundings, suspend: bool) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        // Nothing is changed unless all of them can be.
        let mut jobs = Vec::new();
        for name in &arguments.names {
            jobs.push(find::find(&cluster, name).await?);
        }
        if let Some(refusal) = jobs.iter().find_map(|job| refusal(job, &cluster)) {
            crate::report(&refusal);
            return Ok(ExitCode::from(1));
        }
        let mut changes = Vec::new();
        let give_up = Instant::now() + UNNOTICED;
        for job in &jobs {
            changes.push(change_to(&cluster, job, suspend, give_up).await?);
        }
        for (job, change) in jobs.iter().zip(&changes) {
            set(&cluster, job, change, suspend).await?;
        }
        let word = if suspend { "stopped" } else { "resumed" };
        match arguments.answer.output {
            Output::Json => {
                let told = |job: &Job| json!({"name": job.name(), "kind": job.kind.kind, "action": word});
                println!("{:#}", jobs.iter().map(told).collect::<Value>());
            }
            Output::Text => {
                for job in &jobs {
                    println!("{} {word}", job.reference());
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn refusal(job: &Job, cluster: &Cluster) -> Option<anyhow::Error> {
    let remove = cluster.command(&format!("rm {}", job.reference()));
    let state = job.state();
    state.has_ended().then(|| {
        advised(
            format!("{} has ended already: it is {}", job.reference(), state.name()),
            format!("`{remove}` removes it"),
        )
    })
}

/// What is written, and where.
struct Change {
    path: String,
    patch: Value,
}

/// What a queue has let in it starts again, whoever suspended it, and what it has not it stops: it is told instead.
async fn change_to(cluster: &Cluster, job: &Job, suspend: bool, give_up: Instant) -> Result<Change> {
    let is_suspended = job.object["spec"]["runPolicy"]["suspend"] == true;
    loop {
        let standing = queue::standing(&cluster.api, job).await;
        match standing.map_err(|error| or_advised(error, job))? {
            Standing::Enqueued(workload) => {
                let patch = json!({"spec": {"active": !suspend}});
                let path = workload.path;
                return Ok(Change { path, patch });
            }
            // A job that runs is nobody's; one that is new may be about to be noticed.
            Standing::Unnoticed if suspend && is_suspended => {}
            Standing::Unnoticed | Standing::Free => {
                return Ok(Change {
                    path: find::path_of(job),
                    patch: json!({"spec": {"runPolicy": {"suspend": suspend}}}),
                });
            }
        }
        if Instant::now() > give_up {
            return Err(advised(
                format!(
                    "{} is suspended already, and may be started by its queue `{}`: Kueue has not taken notice of it",
                    job.reference(),
                    queue::of(job).unwrap_or_default()
                ),
                "try again when Kueue runs; where it does not look after jobs of this kind, this one stays suspended",
            ));
        }
        sleep(PAUSE).await;
    }
}

/// Whoever may not look at what a queue has of a job, or change it, is told why that is needed.
fn or_advised(error: ApiError, job: &Job) -> anyhow::Error {
    if !error.is_forbidden() {
        return error.into();
    }
    let advice = format!(
        "its queue starts and stops {}, and is told by a Workload, which you may have no right to list or patch; \
         whoever looks after the queue may let you",
        job.name()
    );
    advised(error.to_string(), advice)
}

async fn set(cluster: &Cluster, job: &Job, change: &Change, suspend: bool) -> Result<()> {
    let changed = cluster.api.merge(&change.path, &change.patch).await;
    changed.map_err(|error| {
        if change.path == find::path_of(job) {
            return error.into();
        }
        or_advised(error, job)
    })?;
    if !suspend {
        return Ok(());
    }
    removal::until(Watch::of(cluster, job), job, |sight| match sight {
        Sight::There { job, replicas, .. } => {
            // An operator that is not there stops nothing; the job waits for it as it is.
            Ok(replicas.is_empty() && matches!(job.state(), State::Suspended | State::New))
        }
        Sight::Lost { .. } => Ok(false),
        Sight::Gone => bail!("`{}` was removed meanwhile", job.name()),
    })
    .await
}
