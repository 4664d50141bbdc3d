//! `trainyard pkg`: packages of manifests. What kustomize does in `build`, `cfg` and `edit`, on folders of this
//! machine.

mod annotate;
pub(crate) mod build;
mod check;
pub(crate) mod complaint;
mod count;
mod create_setter;
mod create_subst;
mod delete_setter;
mod delete_subst;
mod disk;
mod edit;
mod fmt;
mod folder;
mod grep;
mod init;
mod list_setters;
mod output;
mod replace;
mod set;
mod snippet;
mod switches;
mod tree;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::Surroundings;

/// Build packages of manifests, set their parameters, edit their kustomizations
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg build overlays/team-a             what `kubectl kustomize` prints
  trainyard pkg check overlays/team-a             what a cluster would refuse, before it does
  trainyard pkg list-setters .                    the parameters of a package
  trainyard pkg set . replicas 4                  another value for one of them
  trainyard pkg edit set namespace team-a         a change to the kustomization of this folder
  trainyard pkg cfg set . replicas 4              the spelling of kustomize works too

Files are changed all or none, and in them only what is asked for.

Exit codes: 0 done; 1 it could not be done, and no file was changed; 2 wrong usage")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Arguments),
    Check(check::Arguments),
    #[command(flatten)]
    Setters(Setters),
    Edit(edit::Arguments),
    /// The same commands under the name they have in kustomize
    #[command(subcommand, hide = true)]
    Cfg(Setters),
}

/// What kustomize calls `cfg`.
#[derive(Debug, Subcommand)]
#[expect(clippy::enum_variant_names, reason = "the commands' names")]
enum Setters {
    ListSetters(list_setters::Arguments),
    Set(set::Arguments),
    CreateSetter(create_setter::Arguments),
    CreateSubst(create_subst::Arguments),
    DeleteSetter(delete_setter::Arguments),
    DeleteSubst(delete_subst::Arguments),
    Init(init::Arguments),
    Annotate(annotate::Arguments),
    Count(count::Arguments),
    Tree(tree::Arguments),
    Grep(grep::Arguments),
    Fmt(fmt::Arguments),
}

/// Scripts know 1 as the status of whatever kustomize could not do.
pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> ExitCode {
    carry_out(&arguments.command, surroundings).unwrap_or_else(|error| {
        crate::report(&error);
        ExitCode::from(1)
    })
}

fn carry_out(command: &Command, surroundings: &Surroundings) -> Result<ExitCode> {
    match command {
        Command::Build(arguments) => build::run(arguments, surroundings),
        Command::Check(arguments) => check::run(arguments, surroundings),
        Command::Setters(setters) | Command::Cfg(setters) => setters.run(),
        Command::Edit(arguments) => edit::run(arguments),
    }
}

impl Setters {
    fn run(&self) -> Result<ExitCode> {
        match self {
            Self::ListSetters(arguments) => list_setters::run(arguments),
            Self::Set(arguments) => set::run(arguments),
            Self::CreateSetter(arguments) => create_setter::run(arguments),
            Self::CreateSubst(arguments) => create_subst::run(arguments),
            Self::DeleteSetter(arguments) => delete_setter::run(arguments),
            Self::DeleteSubst(arguments) => delete_subst::run(arguments),
            Self::Init(arguments) => init::run(arguments),
            Self::Annotate(arguments) => annotate::run(arguments),
            Self::Count(arguments) => count::run(arguments),
            Self::Tree(arguments) => tree::run(arguments),
            Self::Grep(arguments) => grep::run(arguments),
            Self::Fmt(arguments) => fmt::run(arguments),
        }
    }
}
