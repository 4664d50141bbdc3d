//! Staying with a job: its output, its end, and the ways back to it.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Arguments, NOT_RUN, ending};
use crate::{
    Surroundings,
    jobs::{
        audience::Audience,
        departure::{Departure, INTERRUPTED, STOPPED},
        follow::{Beginning, Ending, Heard, Voices, follow},
        job::Job,
        place::Cluster,
        replicas::Replica,
        terminal::{self, Form, Printer},
    },
};

/// Stays with the job until it ends or the user goes.
pub(super) async fn attend(
    arguments: &Arguments,
    surroundings: &Surroundings,
    cluster: &Cluster,
    job: Job,
) -> Result<u8> {
    if arguments.detach {
        match arguments.output {
            Some(format) => print!("{}", format.of(&told(&job, None))),
            None => println!("{}", job.reference()),
        }
        eprintln!("{}", ways_back(cluster, job.name()));
        return Ok(0);
    }
    eprintln!(
        "{} ({} node{})",
        job.reference(),
        arguments.nodes,
        if arguments.nodes == 1 { "" } else { "s" }
    );
    let mut audience = Audience::new(printer(arguments, surroundings));
    let voices = if arguments.all {
        Voices::All
    } else {
        Voices::Leading
    };
    let hear = |heard: Heard<'_>| audience.hear(&heard);
    let mut departure = Departure::listen()?;
    let (ending, left_by) = tokio::select! {
        ending = follow(cluster, job.clone(), &voices, Beginning::First, hear) => (ending?, INTERRUPTED),
        code = departure.wait() => (Ending::Unheard, code),
    };
    audience.clear();
    let (job, code) = conclude(cluster, job, ending, left_by).await?;
    if let Some(format) = arguments.output {
        print!("{}", format.of(&told(&job, Some(code))));
    }
    Ok(code)
}

fn printer(arguments: &Arguments, surroundings: &Surroundings) -> Printer {
    let form = if arguments.all { Form::Named } else { Form::Plain };
    let printer = Printer::new(form, terminal::has_colours(surroundings));
    match arguments.output {
        Some(_) => printer.on_stderr(),
        None => printer,
    }
}

/// Says how it ended, and leaves everything in order.
async fn conclude(cluster: &Cluster, job: Job, ending: Ending, left_by: u8) -> Result<(Job, u8)> {
    let name = job.name().to_owned();
    Ok(match ending {
        Ending::Finished { job, replicas } => {
            let end = ending::of(&job, &replicas);
            if replicas.iter().any(Replica::is_active) {
                ending::leave_to_itself(cluster, &job).await?;
            }
            if let Some(words) = ending::late(&job, &replicas) {
                eprintln!("note: {words}");
            }
            if let Some(words) = &end.words {
                eprintln!(
                    "error: {words}\n\nhint: `{}` tells more",
                    cluster.command(&format!("why {name}"))
                );
            }
            (job, end.code)
        }
        Ending::Suspended => {
            eprintln!(
                "{name} was stopped; `{}` lets it go on",
                cluster.command(&format!("resume {name}"))
            );
            (job, STOPPED)
        }
        Ending::Removed => {
            eprintln!("error: {name} was removed meanwhile");
            (job, NOT_RUN)
        }
        Ending::Unheard => {
            ending::leave_to_itself(cluster, &job).await?;
            eprintln!("\ndetached; {name} goes on\n{}", ways_back(cluster, &name));
            (job, left_by)
        }
    })
}

fn told(job: &Job, code: Option<u8>) -> Value {
    json!({
        "name": job.name(),
        "namespace": job.namespace(),
        "kind": job.kind.kind,
        "apiVersion": job.object["apiVersion"],
        "state": job.state().name(),
        "message": job.message(),
        "exitCode": code,
    })
}

fn ways_back(cluster: &Cluster, name: &str) -> String {
    let ways = [
        ("logs -f", "follow its output"),
        ("why", "what it does, and what it waits for"),
        ("stop", "end its programs"),
    ];
    let ways = ways.map(|(words, what)| (cluster.command(&format!("{words} {name}")), what));
    let width = ways
        .iter()
        .map(|(command, _)| command.len())
        .max()
        .unwrap_or_default();
    let lines = ways.map(|(command, what)| format!("  {command:width$}   {what}"));
    lines.join("\n")
}
