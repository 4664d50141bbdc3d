//! `trainyard pkg tree`: the objects of a package as a tree.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use setters::Tree;

use super::{folder, switches::Input};

/// Show the objects of a package as a tree, by folder or by owner
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg tree . --image --replicas
  trainyard pkg tree . --field spec.template.spec.nodeSelector")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "kustomize has a flag for each field"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// With the names of containers
    #[arg(long)]
    name: bool,

    /// With images
    #[arg(long)]
    image: bool,

    /// With commands
    #[arg(long)]
    command: bool,

    /// With arguments
    #[arg(long)]
    args: bool,

    /// With variables
    #[arg(long)]
    env: bool,

    /// With numbers of replicas
    #[arg(long)]
    replicas: bool,

    /// With what containers ask for
    #[arg(long)]
    resources: bool,

    /// With ports
    #[arg(long)]
    ports: bool,

    /// With all of these
    #[arg(long)]
    all: bool,

    /// With another field; can be given several times
    #[arg(long = "field", value_name = "PATH", value_delimiter = ',')]
    fields: Vec<String>,

    /// Also objects that are never applied
    #[arg(long)]
    include_local: bool,

    /// Only objects that are never applied
    #[arg(long)]
    exclude_non_local: bool,

    /// What the tree is made of [default: owners where objects have them, else folders]
    #[arg(long, value_name = "WHAT", value_enum)]
    graph_structure: Option<Structure>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Structure {
    Directory,
    Owners,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let shown = [
        ("name", arguments.name),
        ("image", arguments.image),
        ("command", arguments.command),
        ("args", arguments.args),
        ("env", arguments.env),
        ("replicas", arguments.replicas),
        ("resources", arguments.resources),
        ("ports", arguments.ports),
        ("all", arguments.all),
    ];
    let shown = shown.into_iter().filter(|(_, is_asked)| *is_asked);
    let structure = arguments.graph_structure.map(|structure| match structure {
        Structure::Directory => "directory",
        Structure::Owners => "owners",
    });
    let command = Tree {
        show: shown.map(|(field, _)| field.to_owned()).collect(),
        fields: arguments.fields.clone(),
        include_local: arguments.include_local,
        exclude_non_local: arguments.exclude_non_local,
        structure: structure.map(str::to_owned),
    };
    folder::carry_out_on(arguments.input.path.as_deref(), |package| command.run(package))
}
