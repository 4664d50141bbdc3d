//! `trainyard pkg list-setters`: the parameters of a package.

use std::process::ExitCode;

use anyhow::Result;
use setters::ListSetters;

use super::{
    folder,
    switches::{Dir, Recurse},
};

/// List the setters of a package: names, values, who set them, how many fields they change
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg list-setters .
  trainyard pkg list-setters . replicas
  trainyard pkg list-setters . --markdown --include-subst

Packages below are listed too; `-R=false` leaves them out.

Exit codes: 0 listed; 1 there is none, or the package cannot be read; 2 wrong usage")]
pub(super) struct Arguments {
    #[command(flatten)]
    dir: Dir,

    /// Only this one
    name: Option<String>,

    /// As tables of Markdown
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    markdown: bool,

    /// Also the substitutions, which are made of setters
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    include_subst: bool,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = ListSetters {
        name: arguments.name.clone(),
        markdown: arguments.markdown,
        include_substitutions: arguments.include_subst,
        recurse: arguments.recurse.or(true),
    };
    folder::carry_out(&arguments.dir.dir, |package| command.run(package))
}
