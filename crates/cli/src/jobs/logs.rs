//! `trainyard logs`: what a job prints.

use std::{ops::ControlFlow, process::ExitCode};

use anyhow::Result;
use clap::ArgAction;

use super::{
    carry_out, find,
    follow::{Ending, Heard, Voices, follow},
    job::Job,
    output::{self, Part},
    place::{Cluster, Place},
    replicas::{Replica, replicas},
    terminal::{self, Printer, Waiting},
};
use crate::{Surroundings, advised};

/// Print what a training job prints
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard logs digits                       of the replica that speaks for the job
  trainyard logs digits -f --all              of all of them, as it comes
  trainyard logs digits --replica worker-1 --tail 20
  trainyard logs pytorchjob/digits

Exit codes: 0 printed, 1 there is no such job or replica, 2 it could not be done")]
pub(crate) struct Arguments {
    /// The job: its name, or KIND/NAME
    #[arg(value_name = "NAME")]
    job: String,

    /// Go on until the job ends
    #[arg(short, long)]
    follow: bool,

    /// Of this replica: `master-0`, `worker-1`, `launcher`
    #[arg(long, value_name = "REPLICA", conflicts_with = "all")]
    replica: Option<String>,

    /// Of all replicas, each line with the name of its replica before it
    #[arg(long)]
    all: bool,

    /// Only so many of the last lines
    #[arg(long, value_name = "N")]
    tail: Option<u64>,

    /// Of the run before the present one, where the program was started again
    #[arg(short, long, conflicts_with = "follow", action = ArgAction::SetTrue)]
    previous: bool,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(async {
        let cluster = arguments.place.connect(surroundings).await?;
        let job = find::find(&cluster, &arguments.job).await?;
        let mut printer = Printer::new(arguments.all, terminal::has_colours(surroundings));
        if arguments.follow {
            follow_to_the_end(arguments, &cluster, job, &mut printer).await?;
        } else {
            print(arguments, &cluster, &job, &mut printer).await?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn voices(arguments: &Arguments) -> Voices {
    match &arguments.replica {
        Some(replica) => Voices::One(replica.clone()),
        None if arguments.all => Voices::All,
        None => Voices::Leading,
    }
}

async fn follow_to_the_end(
    arguments: &Arguments,
    cluster: &Cluster,
    job: Job,
    printer: &mut Printer,
) -> Result<()> {
    let part = Part {
        tail: arguments.tail,
        ..Part::default()
    };
    let mut waiting = Waiting::new();
    let mut has_printed = false;
    let hear = |heard: Heard<'_>| match heard {
        Heard::Line { replica, line } => {
            waiting.clear();
            has_printed = true;
            printer.print(replica, line)
        }
        Heard::Look { job, .. } => {
            if let Some(what) = job.waits_for().filter(|_| !has_printed) {
                waiting.tell(&what);
            }
            ControlFlow::Continue(())
        }
    };
    let ending = follow(cluster, job, &voices(arguments), part, hear).await?;
    match ending {
        Ending::Suspended => eprintln!("`{}` was stopped", arguments.job),
        Ending::Removed => eprintln!("`{}` was removed", arguments.job),
        Ending::Finished { .. } | Ending::Unheard => {}
    }
    Ok(())
}

async fn print(arguments: &Arguments, cluster: &Cluster, job: &Job, printer: &mut Printer) -> Result<()> {
    let there = replicas(&cluster.api, job).await?;
    let part = Part {
        tail: arguments.tail,
        previous: arguments.previous,
        ..Part::default()
    };
    for replica in wanted(arguments, cluster, job, &there)? {
        let mut output = output::open(&cluster.api, job, replica, part).await?;
        while let Some(line) = output::next_line(&mut output).await {
            if printer.print(&replica.name, &line).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The replicas whose output is asked for, or why there are none.
fn wanted<'a>(
    arguments: &Arguments,
    cluster: &Cluster,
    job: &Job,
    there: &'a [Replica],
) -> Result<Vec<&'a Replica>> {
    let name = match voices(arguments) {
        Voices::One(name) => name,
        Voices::Leading => job.leading_replica(),
        Voices::All => {
            let begun = there.iter().filter(|replica| replica.attempt(job).is_some());
            return Ok(begun.collect());
        }
    };
    match there.iter().find(|replica| replica.name == name) {
        Some(replica) if replica.attempt(job).is_some() => Ok(vec![replica]),
        Some(_) => Err(advised(
            format!("`{name}` of `{}` has not started yet", job.name()),
            format!(
                "`{}` tells what it waits for",
                cluster.command(&format!("why {}", job.reference()))
            ),
        )),
        None if there.is_empty() => Err(advised(
            format!(
                "`{}` has no replicas now: it is {}",
                job.name(),
                job.state().name()
            ),
            format!(
                "`{}` tells more",
                cluster.command(&format!("why {}", job.reference()))
            ),
        )),
        None => {
            let names: Vec<&str> = there.iter().map(|replica| replica.name.as_str()).collect();
            Err(find::Absent {
                what: format!("`{name}` of `{}` (there are {})", job.name(), names.join(", ")),
                namespace: cluster.namespace.clone(),
            }
            .into())
        }
    }
}
