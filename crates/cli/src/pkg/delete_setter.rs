//! `trainyard pkg delete-setter`: a parameter that is no longer one.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use setters::DeleteSetter;

use super::{folder, switches::Recurse};

/// Delete a setter and its markers; the fields keep their values
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder of the package
    dir: PathBuf,

    /// The setter
    name: String,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = DeleteSetter {
        name: arguments.name.clone(),
        recurse: arguments.recurse.or(false),
    };
    folder::carry_out(&arguments.dir, |package| command.run(package))
}
