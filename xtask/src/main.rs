//! Developer commands. `cargo xtask --help` lists them.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these commands talk to the developer"
)]

mod bench;
mod ci;
mod conformance;
mod corpus;
mod deny;
mod dist;
mod e2e;
mod frameworks;
mod fuzz;
mod operators;
mod originals;
mod processes;
mod real_kubernetes;
mod real_server;
mod run;
mod servers;
mod test;
mod tidy;

use std::{path::Path, process::ExitCode};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of Trainyard")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every test, those with real clients too: kubectl, helm, Python, kube-rs, client-go
    Test(test::Arguments),
    /// Format, structure, dependencies and lints
    Check,
    /// Run the tests over the corpus of real inputs, where there is one beside the repository
    Corpus(corpus::Arguments),
    /// Run the tests with programs too large for the gate: TensorFlow, PyTorch, Argo, Kueue, ONNX Runtime
    Frameworks(frameworks::Arguments),
    /// Everything the merge gate runs: check, then test, then corpus
    Ci,
    /// Check the structure of the workspace: arrows between crates, file sizes, headers
    Tidy,
    /// Check what the workspace depends on: sources, licences, banned crates
    Deny,
    /// Try made-up inputs: `[--seconds N] [--seed N] [--input FILE] [TARGET]...`
    Fuzz(fuzz::Arguments),
    /// Build the fully static binary
    Dist,
    /// Build the pinned upstream Kubernetes components into the cache
    RealKubernetes {
        /// Only these components
        #[arg(value_enum)]
        components: Vec<real_kubernetes::Component>,
    },
    /// Run a real control plane without nodes, to try things on
    RealServer(real_server::Arguments),
    /// Run one suite of API checks against the embedded server and a real one, and compare
    Conformance(conformance::Arguments),
    /// Give the same training jobs to the original operators and to ours, and compare what becomes of them
    Originals(originals::Arguments),
    /// Put the same work on ours and a real server, side by side, and compare the times
    Bench(bench::Arguments),
    /// Run upstream's end-to-end suite against the embedded cluster
    E2e(e2e::Arguments),
}

fn main() -> ExitCode {
    asked().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn asked() -> anyhow::Result<ExitCode> {
    // `bench build` names this program to cargo as what starts the compiler.
    if let Some(log) = std::env::var_os(bench::UNITS)
        && std::env::args_os()
            .nth(1)
            .is_some_and(|word| Path::new(&word).is_absolute() || word == "rustc")
    {
        return bench::record(Path::new(&log), std::env::args_os().skip(1));
    }
    chosen()?;
    Ok(ExitCode::SUCCESS)
}

fn chosen() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Test(arguments) => test::run(&arguments),
        Command::Check => ci::check(),
        Command::Corpus(arguments) => corpus::run(&arguments),
        Command::Frameworks(arguments) => frameworks::run(&arguments),
        Command::Ci => ci::run(),
        Command::Tidy => tidy::run(),
        Command::Deny => deny::run(),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Dist => dist::run(),
        Command::RealKubernetes { components } => real_kubernetes::run(&components),
        Command::RealServer(arguments) => real_server::run(&arguments),
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Originals(arguments) => originals::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::E2e(arguments) => e2e::run(&arguments),
    }
}
