//! `trainyard pkg delete-subst`: a value that is no longer made of setters.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use setters::DeleteSubstitution;

use super::{folder, switches::Recurse};

/// Delete a substitution and its markers; the fields keep their values
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder of the package
    dir: PathBuf,

    /// The substitution
    name: String,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = DeleteSubstitution {
        name: arguments.name.clone(),
        recurse: arguments.recurse.or(false),
    };
    folder::carry_out(&arguments.dir, |package| command.run(package))
}
