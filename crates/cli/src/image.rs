//! `trainyard image`: the images containers are made from, without a registry.

mod import;
mod list;
mod progress;
mod remove;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use images::{Options, Store};

use crate::{
    Surroundings,
    data_dir::{self, ClusterDir},
};

/// Import, list and remove the images containers run from
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  docker save app:1 | gzip > app.tar.gz
  trainyard image import app.tar.gz
  trainyard image ls
  trainyard image rm app:1

All of them work beside a running cluster and without one.

Exit codes: 0 done, 1 there is no such image, 2 the command could not do its work")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Import(import::Arguments),
    Ls(list::Arguments),
    Rm(remove::Arguments),
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    match &arguments.command {
        Command::Import(arguments) => import::run(arguments, surroundings),
        Command::Ls(arguments) => list::run(arguments, surroundings),
        Command::Rm(arguments) => remove::run(arguments, surroundings),
    }
}

/// The images of a cluster, in the form its containers need them.
fn open(dir: &ClusterDir) -> Result<Store> {
    data_dir::prepare(&dir.path)?;
    let path = dir.path.join("images");
    Store::open(&path, Options::new(cluster::image_ownership()))
        .with_context(|| format!("cannot open the images in `{}`", path.display()))
}

/// Bytes for people.
fn shown(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        1e9.. => format!("{:.2} GB", bytes / 1e9),
        1e6.. => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} kB", bytes / 1e3),
    }
}

/// An id as people read it.
fn short(id: &images::Digest) -> String {
    id.hex().chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn sizes_are_short() {
        assert_eq!(shown(1234), "1.2 kB");
        assert_eq!(shown(5_300_000), "5.3 MB");
        assert_eq!(shown(12_340_000_000), "12.34 GB");
    }
}
