//! `trainyard pkg edit`: changes to the kustomization file of the working directory.

mod add;
mod fix;
mod generator;
mod lookup;
mod patch;
mod remove;
mod set;

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use clap::Subcommand;
use setters::KustomizationEdit;

use super::folder::Folder;

/// What a kustomization file may be called.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Edit the kustomization file of this folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg edit set namespace team-a
  trainyard pkg edit set image trainer=registry.example/trainer:1.9
  trainyard pkg edit add resource 'jobs/*.yaml'
  trainyard pkg edit add configmap settings --from-literal epochs=10
  trainyard pkg edit remove label stage
  trainyard pkg edit fix                       fields that are deprecated become those of now

Exit codes: 0 done; 1 it could not be done, and the file is as it was; 2 wrong usage")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set a value, or add it where there is none
    #[command(subcommand)]
    Set(set::Command),
    /// Add an element
    #[command(subcommand)]
    Add(add::Command),
    /// Remove elements
    #[command(subcommand)]
    Remove(remove::Command),
    Fix(fix::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = match &arguments.command {
        Command::Set(command) => command.edit(),
        Command::Add(command) => command.edit(),
        Command::Remove(command) => command.edit(),
        Command::Fix(arguments) => arguments.edit(),
    };
    let takes_anything = matches!(&arguments.command, Command::Add(command) if command.takes_anything());
    carry_out(&command, takes_anything)
}

fn carry_out(command: &KustomizationEdit, takes_anything: bool) -> Result<ExitCode> {
    let here = Path::new(".");
    let folder = Folder::with(here, &NAMES)?;
    let asked = command.asks().into_iter();
    let found = asked.map(|asked| {
        let mut paths = lookup::lookup(here, &asked);
        if paths.is_empty() && takes_anything {
            paths.push(asked.clone());
        }
        (asked, paths)
    });
    let outcome = command.run(folder.package(), &found.collect());
    folder.conclude(outcome)
}
