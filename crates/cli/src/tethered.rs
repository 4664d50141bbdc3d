//! `trainyard __tethered`: becomes another program, which ends when whoever started it does, even where that one is
//! killed and cannot end anything any more.

use std::{
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result};
use rustix::process::{Signal, set_parent_process_death_signal};

/// As shells end where there is no such program.
const NOT_FOUND: u8 = 127;

/// Become another program that ends with its parent
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Arguments {
    program: String,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot be bound to another process")?;
    // It returns only where it fails.
    let error = Command::new(&arguments.program).args(&arguments.words).exec();
    eprintln!("error: cannot run `{}`: {error}", arguments.program);
    Ok(ExitCode::from(NOT_FOUND))
}
