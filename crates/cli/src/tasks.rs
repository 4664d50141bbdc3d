//! The commands about tasks, their definitions and templates: the task service, typed instead of called.

pub(crate) mod definition;
mod events;
mod file;
mod place;
mod problem;
mod rest;
pub(crate) mod service;
mod shown;
pub(crate) mod task;
pub(crate) mod template;
pub(crate) mod token;

use std::process::ExitCode;

use anyhow::Result;

pub(crate) use self::place::token_file;
use self::{place::Place, rest::Rest};
use crate::Surroundings;

/// Does the work of a command with a service that can be asked. What it refuses is an answer: no.
fn carry_out(
    place: &Place,
    surroundings: &Surroundings,
    work: impl AsyncFnOnce(Rest) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let result = crate::jobs::wait_for(async { work(place.connect(surroundings)?).await });
    match result {
        Err(error) if error.is::<problem::Problem>() => {
            crate::report(&error);
            Ok(ExitCode::from(1))
        }
        other => other,
    }
}
