//! `trainyard rm`: training jobs that are no longer wanted.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    carry_out, find,
    job::Job,
    place::{self, Place},
    removal,
};
use crate::{Answer, Output, Surroundings, advised};

/// Remove training jobs with their pods and everything else they own
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard rm digits
  trainyard rm tfjob/retried digits
  trainyard rm --ended           every job that has succeeded or failed
  trainyard rm --all             every job of the namespace

Exit codes: 0 removed, or there was none to remove; 1 there is no such job, and nothing was removed;
2 it could not be done"))]
pub(crate) struct Arguments {
    /// The jobs: their names, or KIND/NAME
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "ended"])]
    names: Vec<String>,

    /// All jobs of the namespace
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// All jobs of the namespace that have ended
    #[arg(long, conflicts_with_all = ["names", "all"])]
    ended: bool,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let mut jobs = Vec::new();
        if arguments.all || arguments.ended {
            if !cluster.is_chosen {
                return Err(advised(
                    "many jobs are removed only from a cluster that was named",
                    "say which one is meant: `--context NAME`, `--kubeconfig FILE` or KUBECONFIG",
                ));
            }
            jobs = find::all(&cluster, Some(&cluster.namespace)).await?;
            jobs.retain(|job| arguments.all || job.state().has_ended());
        }
        for name in &arguments.names {
            jobs.push(find::find(&cluster, name).await?);
        }
        for job in &jobs {
            removal::ask_to_remove(&cluster, job).await?;
        }
        for job in &jobs {
            removal::wait_until_gone(&cluster, job).await?;
        }
        print(arguments.answer.output, &jobs);
        Ok(ExitCode::SUCCESS)
    })
}

fn print(output: Output, jobs: &[Job]) {
    match output {
        Output::Json => {
            let told = |job: &Job| json!({"name": job.name(), "kind": job.kind.kind, "action": "removed"});
            println!("{:#}", jobs.iter().map(told).collect::<Value>());
        }
        Output::Text if jobs.is_empty() => println!("No jobs"),
        Output::Text => {
            for job in jobs {
                println!("{} removed", job.reference());
            }
        }
    }
}
