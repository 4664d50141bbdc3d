//! `trainyard pkg create-subst`: a value that is made of setters.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use setters::CreateSubstitution;

use super::{folder, switches::Recurse};

/// Create a substitution: a value made of setters, such as an image of a name and a tag
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg create-subst . image --field-value trainer:1.8.1 --pattern '${image-name}:${tag}'

Setters of the pattern that there are none of are created, with the values the field has in their places.")]
pub(super) struct Arguments {
    /// The folder of the package
    dir: PathBuf,

    /// The substitution
    name: String,

    /// The value of the fields
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    field_value: String,

    /// The value with ${NAME} in place of those of setters and other substitutions
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pattern: String,

    /// Only fields of this name, or whose path ends like this
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = CreateSubstitution {
        name: arguments.name.clone(),
        field_value: arguments.field_value.clone(),
        pattern: arguments.pattern.clone(),
        field: arguments.field.clone(),
        recurse: arguments.recurse.or(false),
    };
    folder::carry_out(&arguments.dir, |package| command.run(package))
}
