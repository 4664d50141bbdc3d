//! Our program inside the pod of a step: brings in what the step needs, runs its command, takes out what it
//! leaves, and reports. `workflows` says what to do by an order; the answer is in the pod's own status.

mod archive;
mod artifacts;
mod cluster;
mod command;
mod condition;
mod flags;
mod http_request;
mod jq;
mod parameters;
mod resource;
mod turns;
mod words;

use std::{ffi::OsString, path::PathBuf};

use workflows::report::{EXIT_BROKEN, Order, Report};

/// Why a step could not do its part; that is no fault of the user's command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

impl Broken {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// What has come of a step: how to end, and what to say.
struct Outcome {
    code: i32,
    report: Report,
}

/// The variable by which a node says where last words belong, where containers have no files of their own.
pub const LAST_WORDS: &str = "TRAINYARD_TERMINATION_LOG";

/// Where a step leaves its traces.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What is written here becomes part of the pod's status.
    pub last_words: PathBuf,
    /// For scripts, where containers have no folder in common.
    pub temporary: PathBuf,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            last_words: PathBuf::from("/dev/termination-log"),
            temporary: std::env::temp_dir(),
        }
    }
}

/// Carries out an order, as text, around a command. The code to end with.
pub async fn run(order: &str, command: &[OsString], surroundings: &Surroundings) -> i32 {
    let order: Order = match serde_json::from_str(order) {
        Ok(order) => order,
        Err(error) => {
            words::speak(
                surroundings,
                &broken(format!("the order of the step cannot be read: {error}")),
            );
            return EXIT_BROKEN;
        }
    };
    let outcome = match carry_out(&order, command, surroundings).await {
        Ok(outcome) => outcome,
        // What could not be done is all that the step was for: it has failed.
        Err(Broken(message)) if order.resource.is_some() || order.http.is_some() => Outcome {
            code: EXIT_BROKEN,
            report: Report {
                message,
                ..Report::default()
            },
        },
        Err(Broken(error)) => Outcome {
            code: EXIT_BROKEN,
            report: broken(error),
        },
    };
    let code = words::report(&order, outcome, surroundings).await;
    turns::ended(&order, code);
    code
}

async fn carry_out(
    order: &Order,
    command: &[OsString],
    surroundings: &Surroundings,
) -> Result<Outcome, Broken> {
    if let Some(resource) = &order.resource {
        return resource::run(resource, &order.parameters).await;
    }
    if let Some(http) = &order.http {
        return http_request::run(http).await;
    }
    turns::wait(order).await?;
    for input in &order.inputs {
        artifacts::bring_in(input, order.store.as_deref())?;
    }
    let script = order
        .script
        .as_ref()
        .map(|script| command::write_script(script, &surroundings.temporary))
        .transpose()?;
    let run = command::run(order, command, script.as_deref()).await;
    if let Some(path) = script.filter(|_| order.state.is_none()) {
        // Nobody else removes it.
        let _ = std::fs::remove_file(path);
    }
    let run = run?;
    let mut report = Report {
        result: run.output,
        ..Report::default()
    };
    match take_out(order, &mut report) {
        Ok(()) => {}
        // The command has failed, and what it would have left is not missed.
        Err(_) if run.code != 0 => {}
        Err(Broken(error)) => {
            report.error = error;
            return Ok(Outcome {
                code: EXIT_BROKEN,
                report,
            });
        }
    }
    Ok(Outcome {
        code: run.code,
        report,
    })
}

fn take_out(order: &Order, report: &mut Report) -> Result<(), Broken> {
    let mut missing = None;
    for parameter in &order.parameters {
        match parameters::read(parameter) {
            Ok(value) => report.parameters.push((parameter.name.clone(), value)),
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    for output in &order.outputs {
        match artifacts::take_out(output, order.store.as_deref()) {
            Ok(artifact) => report.artifacts.extend(artifact),
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    missing.map_or(Ok(()), Err)
}

fn broken(error: String) -> Report {
    Report {
        error,
        ..Report::default()
    }
}
