//! `trainyard ps`: the training jobs there are.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    carry_out, find,
    job::Job,
    place::{self, Cluster, Place},
    table::{age, table},
};
use crate::Surroundings;

/// List training jobs, whatever their kind
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard ps               jobs that have not ended, the latest first
  trainyard ps -a            all of them
  trainyard ps -A -o wide    of all namespaces, with restarts and the latest message
  trainyard ps -a -o json | jq -r '.[] | select(.state == \"Failed\") | .name'

Exit codes: 0 listed, even if there is none; 2 they could not be"))]
pub(crate) struct Arguments {
    /// Those that have ended, too
    #[arg(short, long)]
    all: bool,

    /// Those of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    /// For people, for people with a wide screen, or for programs
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,

    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Wide,
    Json,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let namespace = (!arguments.all_namespaces).then_some(cluster.namespace.as_str());
        let mut jobs = find::all(&cluster, namespace).await?;
        let ended = jobs.iter().filter(|job| job.state().has_ended()).count();
        jobs.retain(|job| arguments.all || !job.state().has_ended());
        jobs.sort_by_key(|job| (std::cmp::Reverse(job.created()), job.name().to_owned()));
        print(arguments, &cluster, &jobs, ended);
        Ok(ExitCode::SUCCESS)
    })
}

fn print(arguments: &Arguments, cluster: &Cluster, jobs: &[Job], ended: usize) {
    let now = Timestamp::now();
    match arguments.output {
        Format::Json => println!("{:#}", jobs.iter().map(as_json).collect::<Value>()),
        _ if jobs.is_empty() => {
            println!("No jobs");
            let hint = match ended {
                0 => format!("`{} -- COMMAND` starts one", cluster.command("run")),
                1 => format!("`{}` shows the one that has ended", cluster.command("ps -a")),
                _ => format!("`{}` shows the {ended} that have ended", cluster.command("ps -a")),
            };
            eprintln!("\nhint: {hint}");
        }
        Format::Wide => print!("{}", wide(jobs, now)),
        Format::Text if arguments.all_namespaces => {
            let rows: Vec<_> = jobs
                .iter()
                .map(|job| {
                    let [name, kind, state, progress, age] = row(job, now);
                    [job.namespace().to_owned(), name, kind, state, progress, age]
                })
                .collect();
            let heads = ["NAMESPACE", "NAME", "KIND", "STATE", "PROGRESS", "AGE"];
            print!("{}", table(heads, &rows));
        }
        Format::Text => {
            let rows: Vec<_> = jobs.iter().map(|job| row(job, now)).collect();
            print!("{}", table(["NAME", "KIND", "STATE", "PROGRESS", "AGE"], &rows));
        }
    }
}

fn row(job: &Job, now: Timestamp) -> [String; 5] {
    [
        job.name().to_owned(),
        job.kind.kind.to_owned(),
        job.state().name().to_owned(),
        job.progress().to_owned(),
        age(job.created(), now),
    ]
}

fn wide(jobs: &[Job], now: Timestamp) -> String {
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            let [name, kind, state, progress, age] = row(job, now);
            [
                job.namespace().to_owned(),
                name,
                kind,
                state,
                progress,
                job.restarts().to_string(),
                age,
                job.detail().to_owned(),
            ]
        })
        .collect();
    let heads = [
        "NAMESPACE",
        "NAME",
        "KIND",
        "STATE",
        "PROGRESS",
        "RESTARTS",
        "AGE",
        "MESSAGE",
    ];
    table(heads, &rows)
}

fn as_json(job: &Job) -> Value {
    json!({
        "namespace": job.namespace(),
        "name": job.name(),
        "kind": job.kind.kind,
        "apiVersion": job.object["apiVersion"],
        "state": job.state().name(),
        "progress": job.progress(),
        "restarts": job.restarts(),
        "message": job.message(),
        "created": job.object["metadata"]["creationTimestamp"],
        "started": job.object["status"]["startTime"],
        "ended": job.object["status"]["completionTime"],
    })
}

#[cfg(test)]
mod tests {
    use resources::kinds;

    use super::*;

    #[test]
    fn a_job_is_a_line() {
        let object = json!({
            "metadata": {"name": "digits", "namespace": "lab", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "status": {
                "conditions": [{"type": "Running", "status": "True", "message": "all is well"}],
                "progress": "3/4",
                "restarts": {"count": 2},
            },
        });
        let job = Job {
            kind: &kinds::PYTORCH_JOB,
            object,
        };
        let now = "2026-01-01T00:00:42Z".parse().unwrap();
        assert_eq!(
            wide(&[job], now),
            "NAMESPACE   NAME     KIND         STATE     PROGRESS   RESTARTS   AGE   MESSAGE\n\
             lab         digits   PyTorchJob   Running   3/4        2          42s   all is well\n"
        );
    }
}
