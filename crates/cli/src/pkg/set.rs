//! `trainyard pkg set`: another value for a setter, and for every field that has it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use setters::Set;

use super::{folder, switches::Recurse};

/// Set a setter, in the definitions and in every field that has it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg set . replicas 4
  trainyard pkg set . queues small medium large
  trainyard pkg set . offset --values -1 --set-by alice --description 'for the night'")]
pub(super) struct Arguments {
    /// The folder of the package
    dir: PathBuf,

    /// The setter
    name: String,

    /// Its value; several for a list
    #[arg(value_name = "VALUE")]
    plain: Vec<String>,

    /// The same, for values that begin with a dash
    #[arg(long = "values", value_name = "VALUE", allow_hyphen_values = true)]
    values: Vec<String>,

    /// Who sets it; nobody is named without it
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    set_by: Option<String>,

    /// What the value is for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !arguments.values.is_empty() && !arguments.plain.is_empty() {
        bail!("value should set either from flag or arg");
    }
    let command = Set {
        name: arguments.name.clone(),
        values: [&arguments.plain[..], &arguments.values].concat(),
        set_by: arguments.set_by.clone(),
        description: arguments.description.clone(),
        recurse: arguments.recurse.or(false),
    };
    folder::carry_out(&arguments.dir, |package| command.run(package))
}
