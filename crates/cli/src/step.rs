//! `trainyard __step`: what stands before a user's command in the pod of a workflow's step.

use std::{ffi::OsString, process::ExitCode};

use anyhow::{Context as _, Result};

use crate::{Surroundings, advised};

/// Carry out the order of a workflow's step around a command
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The variable in which the order is found.
const ORDER: &str = workflows::report::ORDER;

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let Some(order) = surroundings.environment.get(ORDER) else {
        return Err(advised(
            format!("there is no {ORDER}"),
            "this is started by workflows, inside of pods",
        ));
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let mut around = steps::Surroundings::default();
    if let Some(path) = surroundings.environment.get(steps::LAST_WORDS) {
        around.last_words = path.into();
    }
    let code = runtime.block_on(steps::run(order, &arguments.command, &around));
    runtime.shutdown_background();
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}
