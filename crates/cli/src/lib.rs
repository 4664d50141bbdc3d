//! The commands users type, one file each. The only crate that prints.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what this crate is for"
)]

mod data_dir;
mod detach;
mod down;
mod instance;
mod kubeconfig;
mod lock;
mod status;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Runs machine-learning training on Kubernetes, from one workstation to a large cluster.
#[derive(Debug, Parser)]
#[command(name = "trainyard", version, propagate_version = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the embedded cluster
    Up(up::Arguments),
    /// Stop the embedded cluster
    Down(down::Arguments),
    /// Show whether the embedded cluster runs, and how
    Status(status::Arguments),
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// What the process was given: the only facts about its surroundings that commands may use.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub home: Option<std::path::PathBuf>,
    /// `XDG_DATA_HOME`.
    pub data_home: Option<std::path::PathBuf>,
    /// `TRAINYARD_DATA_DIR`.
    pub data_dir: Option<std::path::PathBuf>,
}

/// Runs a command. 0: done; 1: the answer is no; 2: it could not run.
pub fn run(arguments: Arguments, surroundings: &Surroundings) -> ExitCode {
    let result = match arguments.command {
        Command::Up(arguments) => up::run(&arguments, surroundings),
        Command::Down(arguments) => down::run(&arguments, surroundings),
        Command::Status(arguments) => status::run(&arguments, surroundings),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    }
}

/// An error with what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Advised {
    message: String,
    hint: String,
}

fn advised(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Advised {
        message: message.into(),
        hint: hint.into(),
    }
    .into()
}

fn report(error: &anyhow::Error) {
    let mut shown = error.to_string();
    eprintln!("error: {shown}");
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        // Advice has the words of the error it is about.
        if text != shown {
            eprintln!("  because: {text}");
        }
        shown = text;
    }
    if let Some(advised) = error.downcast_ref::<Advised>() {
        eprintln!("\nhint: {}", advised.hint);
    }
}
