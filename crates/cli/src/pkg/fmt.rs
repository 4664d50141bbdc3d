//! `trainyard pkg fmt`: fields in the usual order.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use setters::Format;

use super::{folder, switches::Recurse};

/// Put the fields of objects in the usual order; comments stay with their fields
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Folders of packages, or single files [default: standard input; the working directory in a terminal]
    #[arg(value_name = "DIR")]
    paths: Vec<PathBuf>,

    /// Also give values the quotes their types ask for
    #[arg(long)]
    use_schema: bool,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = Format {
        use_schema: arguments.use_schema,
        recurse: arguments.recurse.or(false),
    };
    if arguments.paths.is_empty() {
        return folder::carry_out_on(None, |package| command.run(package));
    }
    // What is wrong with the last is told before the first is changed.
    for path in &arguments.paths {
        folder::check(path, |package| command.run(package))?;
    }
    for path in &arguments.paths {
        folder::carry_out_on(Some(path), |package| command.run(package))?;
    }
    Ok(ExitCode::SUCCESS)
}
