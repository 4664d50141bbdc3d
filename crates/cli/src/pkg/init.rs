//! `trainyard pkg init`: makes a folder a package.

use std::process::ExitCode;

use anyhow::Result;
use setters::Init;

use super::{folder, switches::Dir};

/// Make a folder a package: a Krmfile, where its setters are defined
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    dir: Dir,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    folder::carry_out(&arguments.dir.dir, |package| Init.run(package))
}
