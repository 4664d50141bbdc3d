//! `trainyard pkg build`: the objects a package stands for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Error, Result};
use clap::ValueEnum;
use packages::{BuildError, Built, LoadRestrictor, Options, Traced};

use super::{complaint::Complaint, disk::Disk, output};
use crate::{Surroundings, advised};

/// Print the objects a kustomization stands for, as `kubectl kustomize` does
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg build
  trainyard pkg build overlays/team-a > team-a.yaml
  trainyard pkg build overlays/team-a -o team-a.yaml
  trainyard pkg build overlays/team-a -o manifests/       a file for each object; the folder must be there

Nothing is fetched and nothing is run: remote bases, Helm charts and plugins that are programs are errors.

Exit codes: 0 built; 1 the package does not build, and nothing is printed; 2 wrong usage")]
pub(super) struct Arguments {
    /// The folder of the kustomization
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Write to a file, or to a folder a file for each object, instead of printing
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    #[command(flatten)]
    restrictor: Restrictor,
}

/// The option that says which files are read.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Restrictor {
    /// Which files a kustomization may name
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    load_restrictor: Which,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Which {
    /// Those in or below its folder
    #[default]
    #[value(name = "LoadRestrictionsRootOnly")]
    RootOnly,
    /// All
    #[value(name = "LoadRestrictionsNone", alias = "none")]
    None,
}

impl Restrictor {
    pub(super) fn options(self) -> Options {
        Options {
            load_restrictor: match self.load_restrictor {
                Which::RootOnly => LoadRestrictor::RootOnly,
                Which::None => LoadRestrictor::None,
            },
        }
    }
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let options = arguments.restrictor.options();
    let built = build(&arguments.dir, options, surroundings)?;
    match &arguments.output {
        None => print!("{}", built.to_yaml()),
        Some(path) => output::write(path, &built)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds a folder and passes on what should be known of it.
fn build(dir: &Path, options: Options, surroundings: &Surroundings) -> Result<Built> {
    let folder = absolute(dir)?;
    let built = packages::build(&Disk, &folder, &options).map_err(|error| complain(error, surroundings))?;
    pass_on(&built.warnings);
    Ok(built)
}

/// The same, with the places of everything.
pub(crate) fn trace(dir: &Path, options: Options, surroundings: &Surroundings) -> Result<Traced> {
    let folder = absolute(dir)?;
    let traced = packages::trace(&Disk, &folder, &options).map_err(|error| complain(error, surroundings))?;
    pass_on(&traced.warnings);
    Ok(traced)
}

fn pass_on(warnings: &[String]) {
    for warning in warnings {
        eprintln!("{warning}");
    }
}

/// Where a folder is; it must be on this machine.
pub(super) fn absolute(dir: &Path) -> Result<PathBuf> {
    if dir.to_str().is_some_and(packages::is_remote) && !dir.exists() {
        return Err(advised(
            format!(
                "`{}` is not on this machine, and nothing is fetched",
                dir.display()
            ),
            "clone it, and name the folder of its kustomization",
        ));
    }
    std::path::absolute(dir).context("cannot find the working directory")
}

fn complain(error: BuildError, surroundings: &Surroundings) -> Error {
    let place = error.place.as_ref();
    let text = place.and_then(|place| fs::read_to_string(&place.file).ok());
    Complaint {
        message: error.message,
        file: place.map(|place| shown(&place.file, surroundings)),
        place: place
            .filter(|place| place.line > 0)
            .map(|place| (place.line.into(), place.column.into())),
        text: text.as_deref(),
        hint: error.help,
    }
    .into_error()
}

/// A path as short as it can be named from here.
pub(crate) fn shown(path: &Path, surroundings: &Surroundings) -> String {
    let here = surroundings.directory.as_ref();
    let here = here.and_then(|here| fs::canonicalize(here).ok());
    let relative = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    relative.as_deref().unwrap_or(path).display().to_string()
}
