//! Staying with a job: its output, its end, and the ways back to it.

use std::ops::ControlFlow;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use tokio::signal::ctrl_c;

use super::{Arguments, Format, ending};
use crate::{
    Surroundings,
    jobs::{
        follow::{Ending, Heard, Voices, follow},
        job::Job,
        output::Part,
        place::Cluster,
        replicas::Replica,
        terminal::{self, Printer, Waiting},
    },
};

const DETACHED: u8 = 130;
const STOPPED: u8 = 143;

/// Stays with the job until it ends or the user goes.
pub(super) async fn attend(
    arguments: &Arguments,
    surroundings: &Surroundings,
    cluster: &Cluster,
    job: Job,
) -> Result<u8> {
    let name = job.name().to_owned();
    if arguments.detach {
        match arguments.output {
            Some(_) => println!("{:#}", told(&job, None)),
            None => println!("{}", job.reference()),
        }
        eprintln!("{}", ways_back(cluster, &name));
        return Ok(0);
    }
    eprintln!(
        "{} ({} node{})",
        job.reference(),
        arguments.nodes,
        if arguments.nodes == 1 { "" } else { "s" }
    );
    let is_json = arguments.output == Some(Format::Json);
    let mut printer = Printer::new(arguments.all, terminal::has_colours(surroundings));
    printer.to_stderr = is_json;
    let voices = if arguments.all {
        Voices::All
    } else {
        Voices::Leading
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
    let ending = tokio::select! {
        ending = follow(cluster, job.clone(), &voices, Part::default(), hear) => ending?,
        _ = ctrl_c() => {
            ending::leave_to_itself(cluster, &job).await?;
            eprintln!("\ndetached; {name} goes on\n{}", ways_back(cluster, &name));
            return Ok(DETACHED);
        }
    };
    match ending {
        Ending::Finished { job, replicas } => {
            let end = ending::of(&job, &replicas);
            if replicas.iter().any(Replica::is_active) {
                ending::leave_to_itself(cluster, &job).await?;
            }
            waiting.clear();
            if let Some(words) = ending::late(&job, &replicas) {
                eprintln!("note: {words}");
            }
            if let Some(words) = &end.words {
                eprintln!(
                    "error: {words}\n\nhint: `{}` tells more",
                    cluster.command(&format!("why {name}"))
                );
            }
            if is_json {
                println!("{:#}", told(&job, Some(end.code)));
            }
            Ok(end.code)
        }
        Ending::Suspended => {
            eprintln!(
                "{name} was stopped; `{}` lets it go on",
                cluster.command(&format!("resume {name}"))
            );
            Ok(STOPPED)
        }
        Ending::Removed => Err(anyhow!("`{name}` was removed meanwhile")),
        Ending::Unheard => {
            ending::leave_to_itself(cluster, &job).await?;
            Ok(DETACHED)
        }
    }
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
