//! `trainyard pkg create-setter`: a parameter, and its marker on the fields that have its value.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use setters::CreateSetter;

use super::{folder, switches::Recurse};

/// Create a setter for every field that has a value
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg create-setter . replicas 3
  trainyard pkg create-setter . tag 1.8.1 --field image --description 'of the trainer'
  trainyard pkg create-setter . queues --type array --field spec.queues")]
pub(super) struct Arguments {
    /// The folder of the package
    dir: PathBuf,

    /// The setter
    name: String,

    /// The value of the fields; of a list it is taken from the field
    #[arg(value_name = "VALUE")]
    plain: Option<String>,

    /// The same, for values that begin with a dash
    #[arg(long = "value", value_name = "VALUE", allow_hyphen_values = true)]
    value: Option<String>,

    /// Only fields of this name, or whose path ends like this
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// What a value may be: integer, boolean, string, array …
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,

    /// What it is for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    /// Who set the value it has
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    set_by: Option<String>,

    /// It must be set before the package is used
    #[arg(long, value_name = "BOOL", default_value_t = false, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    required: bool,

    /// Only a part of the field is the value; of setters that are defined in comments
    #[arg(long, hide = true, value_name = "BOOL", default_value_t = false, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    partial: bool,

    /// A file with an OpenAPI schema that values must fit, in JSON
    #[arg(long, value_name = "FILE")]
    schema_path: Option<PathBuf>,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let read = |path: &PathBuf| {
        fs::read_to_string(path).with_context(|| format!("cannot read the schema `{}`", path.display()))
    };
    let command = CreateSetter {
        name: arguments.name.clone(),
        value: arguments.value.clone().or_else(|| arguments.plain.clone()),
        field: arguments.field.clone(),
        kind: arguments.kind.clone(),
        description: arguments.description.clone(),
        set_by: arguments.set_by.clone(),
        required: arguments.required,
        partial: arguments.partial,
        schema: arguments.schema_path.as_ref().map(read).transpose()?,
        recurse: arguments.recurse.or(false),
    };
    folder::carry_out(&arguments.dir, |package| command.run(package))
}
