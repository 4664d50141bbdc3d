//! `trainyard pkg annotate`: annotations on the objects of a package.

use std::process::ExitCode;

use anyhow::Result;
use setters::Annotate;

use super::{
    folder,
    switches::{Input, Recurse},
};

/// Add annotations to the objects of a package
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg annotate . --kv team=vision --kv stage=test
  trainyard pkg annotate . --kv team=vision --kind Deployment --name trainer")]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// An annotation; can be given several times
    #[arg(
        long = "kv",
        value_name = "KEY=VALUE",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    annotations: Vec<String>,

    /// Only objects of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Only objects of this version
    #[arg(long = "apiVersion", alias = "api-version", value_name = "VERSION")]
    api_version: Option<String>,

    /// Only objects of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Only objects in this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    #[command(flatten)]
    recurse: Recurse,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let command = Annotate {
        annotations: arguments.annotations.clone(),
        kind: arguments.kind.clone(),
        api_version: arguments.api_version.clone(),
        name: arguments.name.clone(),
        namespace: arguments.namespace.clone(),
        recurse: arguments.recurse.or(false),
    };
    folder::carry_out_on(arguments.input.path.as_deref(), |package| command.run(package))
}
