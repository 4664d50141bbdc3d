//! `trainyard pkg fmt`: fields in the usual order.

use std::process::ExitCode;

use anyhow::Result;
use setters::Format;

use super::{
    folder,
    switches::{Dir, Recurse},
};

/// Put the fields of objects in the usual order; comments stay with their fields
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    dir: Dir,

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
    folder::carry_out(&arguments.dir.dir, |package| command.run(package))
}
