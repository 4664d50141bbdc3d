//! Upstream's end-to-end suite against the embedded cluster.

use anyhow::{Result, bail};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which group of specs: `api`
    group: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    bail!("no group `{}`", arguments.group);
}
