//! `trainyard pkg grep`: the objects of a package that have a value.

use std::process::ExitCode;

use anyhow::Result;
use setters::Grep;

use super::{
    folder,
    switches::{Input, Recurse},
};

/// Print the objects of a package whose field matches
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg grep kind=Deployment .
  trainyard pkg grep 'metadata.name=^train' .
  trainyard pkg grep 'spec.replicas>=3' .
  trainyard pkg grep 'spec.template.spec.containers[name=trainer].image=:latest$' .")]
pub(super) struct Arguments {
    /// PATH=REGEX, or PATH and one of <, <=, >, >= and a quantity
    query: String,

    #[command(flatten)]
    input: Input,

    /// Those that do not match
    #[arg(long)]
    invert_match: bool,

    /// With annotations that say which file they are from
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    annotate: bool,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = Grep {
        query: arguments.query.clone(),
        invert: arguments.invert_match,
        annotate: arguments.annotate,
        recurse: arguments.recurse.or(true),
    };
    folder::carry_out_on(arguments.input.path.as_deref(), |package| command.run(package))
}
