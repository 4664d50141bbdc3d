//! `trainyard pkg count`: how many objects there are.

use std::process::ExitCode;

use anyhow::Result;
use setters::Count;

use super::{
    folder,
    switches::{Input, Recurse},
};

/// Count the objects of a package, by kind
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// Of each kind; `--kind=false` counts all together
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    kind: bool,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = Count {
        by_kind: arguments.kind,
        recurse: arguments.recurse.or(true),
    };
    folder::carry_out_on(arguments.input.path.as_deref(), |package| command.run(package))
}
