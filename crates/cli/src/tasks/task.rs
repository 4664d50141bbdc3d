//! `trainyard task`: submit filled values, and see to what becomes of them.

mod follow;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::ValueEnum;
use http::{Method, header::HeaderName};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    carry_out, file,
    place::{self, Place},
    problem::warn,
    rest::{Rest, escaped},
    shown::{self, text},
};
use crate::{Answer, Output, Surroundings, jobs::table::age};

/// Submit tasks to the task service, and see what becomes of them
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard task submit -f values.json --watch     submit filled values, and stay until the task has ended
  trainyard task submit -f values.json --dry-run   show what it would make, and make nothing
  trainyard task list --phase Running
  trainyard task logs NAME -f

Exit codes: 0 done; 1 the answer is no: refused, or the task has failed; 2 the command could not do its work"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Submit(SubmitArguments),
    List(ListArguments),
    Show(NameArguments),
    Logs(LogsArguments),
    Cancel(NameArguments),
    Retry(NameArguments),
    Delete(DeleteArguments),
}

/// Submit filled values; `taskDef` in them names the definition
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard task submit -f values.json
  trainyard task submit -f values.yaml --set process.train.maxStep=100 --watch
  trainyard task submit -f values.json --dry-run | kubectl diff -f -
  trainyard task submit -f values.json --key nightly-2026-11-16    however often it is sent, it runs once

Exit codes: 0 submitted, with --watch succeeded; 1 refused, with --watch failed or cancelled; 2 it could not be"))]
struct SubmitArguments {
    /// A file of values in JSON or YAML; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    filename: PathBuf,

    /// Another value for one of them: `process.train.maxStep=100`; can be given several times
    #[arg(long, value_name = "PATH=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,

    /// Stay until the task has ended, and show its states and what it prints
    #[arg(short, long)]
    watch: bool,

    /// Show the objects it would make, and make nothing
    #[arg(long, conflicts_with = "watch")]
    dry_run: bool,

    /// An Idempotency-Key: the same submission with the same key is one task
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Delete the task so many seconds after it has ended
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u32>,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// List tasks, the latest first
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard task list
  trainyard task list --phase Failed --definition mnist_softmax_cpu
  trainyard task list -A -o json | jq -r '.[].name'"))]
struct ListArguments {
    /// Those in this phase
    #[arg(long, value_name = "PHASE", value_enum)]
    phase: Option<Phase>,

    /// Those of this definition
    #[arg(long, value_name = "NAME")]
    definition: Option<String>,

    /// Those of this person
    #[arg(long, value_name = "NAME")]
    creator: Option<String>,

    /// The latest so many
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,

    /// Those of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

/// A task by its name
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard task show countdown-x7k2p9
  trainyard task cancel countdown-x7k2p9
  trainyard task retry countdown-x7k2p9 -o json"))]
struct NameArguments {
    /// The task
    name: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Show what a task has printed, also after its pods are gone
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard task logs countdown-x7k2p9
  trainyard task logs countdown-x7k2p9 -f --tail 20"))]
struct LogsArguments {
    /// The task
    name: String,

    /// Go on until the task has ended
    #[arg(short, long)]
    follow: bool,

    /// Begin so many lines before the end
    #[arg(long, value_name = "LINES")]
    tail: Option<u32>,

    /// What this attempt has printed [default: the last]
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<u32>,

    #[command(flatten)]
    place: Place,
}

/// Delete a task and what it has made
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard task delete countdown-x7k2p9
  trainyard task delete mnist-b2x8q1 --keep-claims    its volumes stay"))]
struct DeleteArguments {
    /// The task
    name: String,

    /// Its volume claims stay, whatever its template says
    #[arg(long)]
    keep_claims: bool,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    match &arguments.command {
        Command::Submit(arguments) => submit(arguments, surroundings),
        Command::List(arguments) => list(arguments, surroundings),
        Command::Show(arguments) => show(arguments, surroundings),
        Command::Logs(arguments) => logs(arguments, surroundings),
        Command::Cancel(arguments) => act(arguments, "cancel", "is being cancelled", surroundings),
        Command::Retry(arguments) => act(arguments, "retry", "runs once more", surroundings),
        Command::Delete(arguments) => delete(arguments, surroundings),
    }
}

/// `a.b=c`; the value is read as YAML has it, so that numbers are numbers.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (path, value) = text
        .split_once('=')
        .filter(|(path, _)| !path.is_empty())
        .ok_or_else(|| format!("`{text}` is not of the form PATH=VALUE"))?;
    let value = manifests::yaml::parse(value.as_bytes()).map_or_else(|_| value.into(), |read| read.value);
    Ok((path.to_owned(), value))
}

/// Puts a value where a path of names and numbers leads.
fn set(values: &mut Value, path: &str, value: &Value) -> Result<()> {
    let mut place = values;
    for part in path.split('.') {
        place = match (part.parse::<usize>(), place) {
            (Ok(number), Value::Array(items)) => {
                let length = items.len();
                items.get_mut(number).ok_or_else(|| {
                    anyhow::anyhow!("`--set {path}`: there is no item {number} in a list of {length}")
                })?
            }
            (_, place @ (Value::Object(_) | Value::Null)) => &mut place[part],
            _ => anyhow::bail!("`--set {path}`: what `{part}` is in is neither a mapping nor a list"),
        };
    }
    place.clone_from(value);
    Ok(())
}

fn submit(arguments: &SubmitArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let mut values = file::mapping(&arguments.filename)?;
    for (path, value) in &arguments.set {
        set(&mut values, path, value)?;
    }
    carry_out(&arguments.place, surroundings, async |rest| {
        let ttl = arguments.ttl.map(|seconds| seconds.to_string());
        let mut query = Vec::new();
        if arguments.dry_run {
            query.push(("dryRun", "true"));
        }
        query.extend(ttl.as_deref().map(|ttl| ("ttlSeconds", ttl)));
        let key = arguments.key.as_deref();
        let headers: Vec<_> = key
            .map(|key| (HeaderName::from_static("idempotency-key"), key))
            .into_iter()
            .collect();
        let task = rest
            .ask(Method::POST, "/v1/tasks", &query, &headers, Some(&values))
            .await?
            .body;
        warn(&task);
        let is_json = arguments.answer.output == Output::Json;
        if arguments.dry_run {
            print_preview(&task, is_json);
            return Ok(ExitCode::SUCCESS);
        }
        if is_json && !arguments.watch {
            println!("{task:#}");
        } else if !is_json {
            println!("{} submitted", text(&task, "name"));
        }
        if !arguments.watch {
            return Ok(ExitCode::SUCCESS);
        }
        follow::until_the_end(&rest, &task, is_json).await
    })
}

fn print_preview(task: &Value, is_json: bool) {
    if is_json {
        println!("{task:#}");
        return;
    }
    for object in task["manifests"].as_array().into_iter().flatten() {
        println!("---\n{}", manifests::yaml::to_string(object).trim_end());
    }
}

fn list(arguments: &ListArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let phase = arguments
            .phase
            .and_then(|phase| Some(phase.to_possible_value()?.get_name().to_owned()));
        let phase = phase.map(|phase| capitalised(&phase));
        let mut query = Vec::new();
        query.extend(phase.as_deref().map(|phase| ("phase", phase)));
        query.extend(arguments.definition.as_deref().map(|name| ("task_def", name)));
        query.extend(arguments.creator.as_deref().map(|name| ("creator", name)));
        if arguments.all_namespaces {
            query.push(("namespace", "*"));
        }
        let tasks = rest
            .list("/v1/tasks", &query, Some(arguments.limit.max(1)))
            .await?;
        let now = Timestamp::now();
        Ok(shown::list(
            arguments.answer,
            tasks,
            HEADS,
            |task| row(task, now),
            "there are no such tasks",
        ))
    })
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

const HEADS: [&str; 7] = [
    "NAMESPACE",
    "NAME",
    "DEFINITION",
    "PHASE",
    "REASON",
    "CREATOR",
    "AGE",
];

fn row(task: &Value, now: Timestamp) -> [String; 7] {
    [
        text(task, "namespace"),
        text(task, "name"),
        text(task, "task_def"),
        text(task, "phase"),
        text(task, "reason"),
        text(task, "creator"),
        age(text(task, "created_at").parse().ok(), now),
    ]
}

fn path(name: &str) -> String {
    format!("/v1/tasks/{}", escaped(name))
}

fn show(arguments: &NameArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let path = path(&arguments.name);
    shown::whole(&arguments.place, surroundings, arguments.answer, &path)
}

fn act(arguments: &NameArguments, verb: &str, done: &str, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let path = format!("{}:{verb}", path(&arguments.name));
        let task = rest.ask(Method::POST, &path, &[], &[], None).await?.body;
        Ok(shown::one(arguments.answer, &task, |task| {
            format!("{} {done}\n", text(task, "name"))
        }))
    })
}

fn delete(arguments: &DeleteArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let query: &[(&str, &str)] = if arguments.keep_claims {
            &[("claims", "Keep")]
        } else {
            &[]
        };
        let answer = rest
            .ask(Method::DELETE, &path(&arguments.name), query, &[], None)
            .await?;
        let done = if answer.status == http::StatusCode::NO_CONTENT {
            "deleted"
        } else {
            "is being deleted"
        };
        println!("{} {done}", arguments.name);
        Ok(ExitCode::SUCCESS)
    })
}

fn logs(arguments: &LogsArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest: Rest| {
        let numbers = [("tail", arguments.tail), ("attempt", arguments.attempt)];
        let numbers = numbers.map(|(name, number)| (name, number.map(|number| number.to_string())));
        let query: Vec<(&str, &str)> = numbers
            .iter()
            .filter_map(|(name, number)| Some((*name, number.as_deref()?)))
            .collect();
        let path = format!("{}/logs", path(&arguments.name));
        if arguments.follow {
            return follow::logs(&rest, &path, &query).await;
        }
        let text = rest.text(&path, &query).await?;
        print!("{text}");
        Ok(ExitCode::SUCCESS)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jobs::table::table;

    #[test]
    fn values_are_set_where_their_path_leads() {
        let mut values = json!({"process": {"train": {"maxStep": 1}}, "endpoints": [{"type": "event"}]});
        for text in [
            "process.train.maxStep=100",
            "endpoints.0.endpoint=http://a",
            "resources.cpu=500m",
            "flag=true",
        ] {
            let (path, value) = setting(text).unwrap();
            set(&mut values, &path, &value).unwrap();
        }
        assert_eq!(
            values,
            json!({
                "process": {"train": {"maxStep": 100}},
                "endpoints": [{"type": "event", "endpoint": "http://a"}],
                "resources": {"cpu": "500m"},
                "flag": true,
            })
        );
        assert!(set(&mut values, "endpoints.7.type", &json!(1)).is_err());
        assert!(set(&mut values, "flag.x", &json!(1)).is_err());
        assert!(setting("nothing").is_err());
    }

    #[test]
    fn tasks_are_lines() {
        let task = json!({"namespace": "default", "name": "count-abc123", "task_def": "count", "phase": "Running",
                            "creator": "ada", "created_at": "2026-01-01T00:00:00Z"});
        assert_eq!(
            table(HEADS, &[row(&task, "2026-01-01T00:00:42Z".parse().unwrap())]),
            "NAMESPACE   NAME           DEFINITION   PHASE     REASON   CREATOR   AGE\n\
             default     count-abc123   count        Running            ada       42s\n"
        );
    }
}
