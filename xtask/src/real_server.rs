//! A real control plane to try things on: for developers, and for tests that ask what is true.

use std::{fs, io, path::PathBuf};

use anyhow::{Context as _, Result};

use crate::servers::{Durability, Real};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder for its data, its logs and its kubeconfig
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
}

/// Runs until its input ends: whoever started it closes that by ending, however it ends.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let dir = std::path::absolute(&arguments.data_dir)?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    let _parts = Real::prepare(Durability::Unsynced, &dir)?.start_with_controllers()?;
    println!("The real server accepts connections; it stops with Ctrl-C or Ctrl-D");
    println!("\n  export KUBECONFIG={}", dir.join("kubeconfig").display());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
