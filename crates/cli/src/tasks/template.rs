//! `trainyard template`: what tasks are made of.

mod check;
mod local;
mod render;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;

use super::{
    carry_out, file,
    place::{self, Place},
    problem::warn,
    rest::escaped,
    shown::{self, text},
};
use crate::{Answer, Surroundings};

/// Write templates of tasks, publish them, and see which there are
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard template list
  trainyard template show countdown-task > countdown-task.yaml.j2
  trainyard template check -f countdown-task.yaml.j2            what is wrong or dangerous; needs no cluster
  trainyard template render -f countdown-task.yaml.j2 -f values.yaml
                                                              what it makes of values; needs none, either
  trainyard template apply -f countdown-task.yaml.j2
  trainyard template render countdown-task -f values.yaml     a published one, or one that comes with the program

Exit codes: 0 done; 1 the answer is no; 2 the command could not do its work"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(ListArguments),
    Show(ShowArguments),
    Apply(ApplyArguments),
    Check(check::Arguments),
    Render(Box<render::Arguments>),
}

/// List templates
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard template list
  trainyard template list -o json | jq -r '.[].name'"))]
struct ListArguments {
    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Show the text of a template
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard template show countdown-task
  trainyard template show countdown-task -o json"))]
struct ShowArguments {
    /// The template
    name: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Publish a template, or a new version of it; tasks that were submitted keep theirs
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard template apply -f countdown-task.yaml.j2                the text; its name is that of the file
  trainyard template apply -f template.yaml --name countdown-task
  trainyard template apply -f tasktemplate.yaml --dry-run           an object of the kind TaskTemplate"))]
struct ApplyArguments {
    /// Jinja text, or JSON or YAML with `name` and `template`; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    filename: PathBuf,

    /// What definitions call it [default: the name in the file, or of it]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

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
        Command::Check(arguments) => check::run(arguments),
        Command::Render(arguments) => render::run(arguments, surroundings),
    }
}

fn path(name: &str) -> String {
    format!("/v1/templates/{}", escaped(name))
}

fn list(arguments: &ListArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let templates = rest.list("/v1/templates", &[], None).await?;
        Ok(shown::list(
            arguments.answer,
            templates,
            ["NAME", "DESCRIPTION"],
            |row| ["name", "description"].map(|name| text(row, name)),
            "there are no templates",
        ))
    })
}

fn show(arguments: &ShowArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |rest| {
        let template = rest.get(&path(&arguments.name), &[]).await?.body;
        Ok(shown::one(arguments.answer, &template, |it| text(it, "template")))
    })
}

fn apply(arguments: &ApplyArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let template = file::template(&arguments.filename, arguments.name.as_deref())?;
    carry_out(&arguments.place, surroundings, async |rest| {
        let name = template["name"].as_str().unwrap_or_default();
        let known = rest.find(&path(name), &[]).await?;
        let (answer, done) = rest
            .store("/v1/templates", known, &template, arguments.dry_run)
            .await?;
        warn(&answer);
        Ok(shown::one(arguments.answer, &answer, |answer| {
            format!("template {} {done}\n", text(answer, "name"))
        }))
    })
}
