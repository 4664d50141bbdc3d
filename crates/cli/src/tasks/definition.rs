//! `trainyard definition`: what can be submitted.

use std::process::ExitCode;

use anyhow::Result;
use http::{Method, header};
use serde_json::Value;

use super::{
    carry_out,
    file::{self, File},
    place::{self, Place},
    problem::warn,
    rest::{Rest, escaped},
};
use crate::{Answer, Output, Surroundings, jobs::table::table};

/// Register definitions of tasks, and see which there are
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard definition apply -f mnist.json      register it, or change it
  trainyard definition list
  trainyard definition form mnist_softmax_cpu   what is to be filled in

Exit codes: 0 done; 1 the answer is no; 2 the command could not do its work"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(ListArguments),
    Show(NameArguments),
    Apply(ApplyArguments),
    Form(NameArguments),
}

/// List definitions
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard definition list
  trainyard definition list -A -o json | jq -r '.[].name'"))]
struct ListArguments {
    /// Those of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// A definition by its name
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard definition show mnist_softmax_cpu
  trainyard definition form mnist_softmax_cpu
  trainyard definition form mnist_softmax_cpu -o json | jq .example > values.json"))]
struct NameArguments {
    /// The definition
    name: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Register a definition, or change the one of its name; tasks that were submitted keep theirs
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard definition apply -f mnist.json
  trainyard definition apply -f mnist.json --dry-run"))]
struct ApplyArguments {
    #[command(flatten)]
    file: File,

    /// See whether it is right, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    match &arguments.command {
        Command::List(arguments) => list(arguments, surroundings),
        Command::Show(arguments) => show(arguments, surroundings),
        Command::Apply(arguments) => apply(arguments, surroundings),
        Command::Form(arguments) => form(arguments, surroundings),
    }
}

fn path(name: &str) -> String {
    format!("/v1/definitions/{}", escaped(name))
}

fn list(arguments: &ListArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let query: &[(&str, &str)] = if arguments.all_namespaces {
            &[("namespace", "*")]
        } else {
            &[]
        };
        let definitions = rest.list("/v1/definitions", query, None).await?;
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        match arguments.answer.output {
            Output::Json => println!("{:#}", Value::Array(definitions)),
            Output::Text if definitions.is_empty() => eprintln!("there are no definitions"),
            Output::Text => {
                let rows: Vec<_> = definitions
                    .iter()
                    .map(|row| {
                        [
                            "namespace",
                            "name",
                            "task_template_name",
                            "creator",
                            "description",
                        ]
                        .map(|it| text(row, it))
                    })
                    .collect();
                print!(
                    "{}",
                    table(["NAMESPACE", "NAME", "TEMPLATE", "CREATOR", "DESCRIPTION"], &rows)
                );
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn show(arguments: &NameArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let definition = rest.get(&path(&arguments.name), &[]).await?.body;
        match arguments.answer.output {
            Output::Json => println!("{definition:#}"),
            Output::Text => print!("{}", manifests::yaml::to_string(&definition)),
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn apply(arguments: &ApplyArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let definition = file::unwrapped(file::mapping(&arguments.file.filename)?, "TaskDefinition");
    carry_out(&arguments.place, surroundings, async |rest| {
        let is_unique =
            matches!(definition["append_uuid"].as_u64(), Some(1)) || definition["append_uuid"] == true;
        let known = match definition["name"].as_str() {
            Some(name) if !is_unique => rest.find(&path(name), &[]).await?,
            _ => None,
        };
        let (answer, done) = store(&rest, "/v1/definitions", known, &definition, arguments.dry_run).await?;
        warn(&answer);
        match arguments.answer.output {
            Output::Json => println!("{answer:#}"),
            Output::Text => println!(
                "definition {} {done}",
                answer["name"].as_str().unwrap_or_default()
            ),
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Creates something, or replaces what there is of it, and says which.
pub(super) async fn store(
    rest: &Rest,
    folder: &str,
    known: Option<super::rest::Answer>,
    body: &Value,
    is_dry: bool,
) -> Result<(Value, String)> {
    let query: &[(&str, &str)] = if is_dry { &[("dryRun", "true")] } else { &[] };
    let (answer, done) = match known {
        None => (
            rest.ask(Method::POST, folder, query, &[], Some(body)).await?,
            "created",
        ),
        Some(known) => {
            let name = known.body["name"].as_str().unwrap_or_default();
            let path = format!("{folder}/{}", escaped(name));
            let headers = [(header::IF_MATCH, known.etag())];
            (
                rest.ask(Method::PUT, &path, query, &headers, Some(body)).await?,
                "changed",
            )
        }
    };
    let done = if is_dry {
        format!("would be {done}")
    } else {
        done.to_owned()
    };
    Ok((answer.body, done))
}

fn form(arguments: &NameArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let form = rest
            .get(&format!("{}/form", path(&arguments.name)), &[])
            .await?
            .body;
        match arguments.answer.output {
            Output::Json => println!("{form:#}"),
            Output::Text => print!("{}", manifests::yaml::to_string(&form)),
        }
        Ok(ExitCode::SUCCESS)
    })
}
