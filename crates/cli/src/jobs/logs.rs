//! `trainyard logs`: what a job prints.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::ArgAction;

use super::{
    audience::Audience,
    carry_out, elsewhere, find,
    follow::{Beginning, Ending, Heard, Voices, follow},
    job::Job,
    output::{Part, Source},
    place::{self, Cluster, Place},
    replicas::{Replica, replicas},
    terminal::{self, Form, Printer},
};
use crate::{Output, Surroundings, advised};

/// Print what a training job prints
///
/// A connection that breaks is made anew, and a cluster that is started again is waited for: no line is
/// lost, and none is printed twice.
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard logs digits                       of the replica that speaks for the job
  trainyard logs digits -f --all              of all of them, as it comes
  trainyard logs digits --replica worker-1 --tail 20
  trainyard logs pytorchjob/digits -f -o json | jq -r 'select(.replica == \"worker-1\") | .line'

Exit codes: 0 printed, 1 there is no such job or replica, 2 it could not be done"))]
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

    /// For people, or for programs: an object a line, with replica, pod, container, time and line
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let job = match find::find(&cluster, &arguments.job).await {
            Ok(job) => job,
            Err(error) => return Err(elsewhere::explained(&cluster, &arguments.job, error).await),
        };
        let form = match arguments.output {
            Output::Json => Form::Json,
            Output::Text if arguments.all => Form::Named,
            Output::Text => Form::Plain,
        };
        let printer = Printer::new(form, terminal::has_colours(surroundings));
        if arguments.follow {
            follow_to_the_end(arguments, &cluster, job, printer).await?;
        } else {
            print(arguments, &cluster, &job, printer).await?;
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
    printer: Printer,
) -> Result<()> {
    let mut audience = Audience::new(printer);
    let hear = |heard: Heard<'_>| audience.hear(&heard);
    let beginning = Beginning::Present { tail: arguments.tail };
    let ending = follow(cluster, job, &voices(arguments), beginning, hear).await?;
    audience.clear();
    match ending {
        Ending::Suspended => eprintln!("`{}` was stopped", arguments.job),
        Ending::Removed => eprintln!("`{}` was removed", arguments.job),
        Ending::Finished { .. } | Ending::Unheard => {}
    }
    Ok(())
}

async fn print(arguments: &Arguments, cluster: &Cluster, job: &Job, mut printer: Printer) -> Result<()> {
    let there = replicas(&cluster.api, job).await?;
    let part = Part {
        tail: arguments.tail,
        previous: arguments.previous,
        ..Part::default()
    };
    for replica in wanted(arguments, cluster, job, &there)? {
        let source = Source::of(job, replica);
        let mut lines = source.open(&cluster.api, part).await?;
        while let Some(line) = lines.next().await.context("the output broke off")? {
            if printer.print(&source, &line).is_break() {
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
