//! A real control plane to try things on: for developers, and for tests that ask what is true.

use std::{fs, io, path::PathBuf};

use anyhow::{Context as _, Result};

use crate::servers::{Durability, Real};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder for its data, its logs and its kubeconfig
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// Nodes that only seem to run pods, with every controller and a scheduler
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    nodes: usize,
}

/// Runs until its input ends: whoever started it closes that by ending, however it ends.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let dir = std::path::absolute(&arguments.data_dir)?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    let server = Real::prepare(Durability::Unsynced, &dir)?;
    let _parts = match arguments.nodes {
        0 => server.start_with_controllers()?,
        count => server.start_with_nodes(count)?,
    };
    println!("The real server accepts connections; it stops with Ctrl-C or Ctrl-D");
    println!("\n  export KUBECONFIG={}", dir.join("kubeconfig").display());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
