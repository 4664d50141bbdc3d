//! `trainyard definition`: what can be submitted.

use std::process::ExitCode;

use anyhow::Result;

use super::{
    carry_out,
    file::{self, File},
    place::{self, Place},
    problem::warn,
    rest::escaped,
    shown::{self, text},
};
use crate::{Answer, Surroundings};

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
        Ok(shown::list(
            arguments.answer,
            definitions,
            ["NAMESPACE", "NAME", "TEMPLATE", "CREATOR", "DESCRIPTION"],
            |row| {
                [
                    "namespace",
                    "name",
                    "task_template_name",
                    "creator",
                    "description",
                ]
                .map(|name| text(row, name))
            },
            "there are no definitions",
        ))
    })
}

fn show(arguments: &NameArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let path = path(&arguments.name);
    shown::whole(&arguments.place, surroundings, arguments.answer, &path)
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
        let (answer, done) = rest
            .store("/v1/definitions", known, &definition, arguments.dry_run)
            .await?;
        warn(&answer);
        Ok(shown::one(arguments.answer, &answer, |answer| {
            format!("definition {} {done}\n", text(answer, "name"))
        }))
    })
}

fn form(arguments: &NameArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let path = format!("{}/form", path(&arguments.name));
    shown::whole(&arguments.place, surroundings, arguments.answer, &path)
}
