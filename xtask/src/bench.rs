//! Benchmarks: ours beside the real thing, on the same work in the same run.

mod api;
mod build;
mod environment;
mod idle;
mod load;
mod measures;
mod operator;
mod packages;
mod pipelines;
mod pods;
mod report;
mod serving;
mod tasks;
mod work;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;

use crate::servers::{self, Profile, Side};

pub(crate) use build::{UNITS, record};

/// Unless somebody wants another number.
const ROUNDS: u32 = 5;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to measure
    #[arg(value_enum)]
    group: Group,

    /// Measure one side only
    #[arg(long, value_enum)]
    only: Option<Side>,

    /// Take the median of so many rounds: 5 without it, 3 for `operator`
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Jobs of four pods each, for `operator`
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,

    /// Pods of one large job, for `operator`
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..))]
    pods: u32,

    /// Operators to measure, for `operator`; all without it
    #[arg(long, value_enum, value_delimiter = ',')]
    operators: Vec<operator::Name>,

    /// Tasks that are stored, for `tasks`
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,

    /// Steps that one workflow begins at once, for `pipelines`
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,

    /// Workflows at the same time, for `pipelines`
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    workflows: u32,

    /// Steps to measure, for `build`; all without it
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<build::Step>,

    /// Take `trainyard` and `bench` from this folder as they are: `target/debug` for a quick try
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// How to print the result
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,

    /// Fail when a bar is missed
    #[arg(long)]
    check: bool,

    /// Leave the folder with data and logs behind, and say where it is
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Group {
    /// Builds and tests in clones with nothing cached: the README's commands, the gate, `cargo install`, one changed line
    Build,
    /// The API server and its store: starting, idling, writing, reading, watching
    Api,
    /// Pods: the first line of one, a hundred as processes, ten thousand on a thousand simulated nodes
    Pods,
    /// The training operator: many jobs, one large job, beside the Go operators as shipped and unthrottled
    Operator,
    /// Workflows beside pods that nobody conducts: a chain, a thousand steps at once, a hundred workflows at a time
    Pipelines,
    /// `pkg build` beside `kubectl kustomize`: small, large, deep and much patched packages, the same bytes
    Packages,
    /// The task service beside one of Flask, Jinja2 and the Python client: renders, submissions, a hundred thousand tasks
    Tasks,
    /// `serve` and `bench-serving` beside TensorFlow behind gRPC and its Python client: the same model, the same rows
    Serving,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let report = match arguments.group {
        Group::Build => return build::run(arguments),
        Group::Operator => return operator::run(arguments),
        Group::Api => api::run(arguments)?,
        Group::Packages => packages::run(arguments)?,
        Group::Pipelines => pipelines::run(arguments)?,
        Group::Pods => pods::run(arguments)?,
        Group::Tasks => tasks::run(arguments)?,
        Group::Serving => serving::run(arguments)?,
    };
    match arguments.output {
        Output::Text => print!("{}", report.text()),
        Output::Json => println!("{:#}", report.json()),
    }
    if arguments.check {
        report.check()?;
    }
    Ok(())
}

impl Arguments {
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(ROUNDS)
    }

    /// The folder with what is measured, made now unless somebody named one.
    fn binaries(&self, others: &[&str]) -> Result<PathBuf> {
        match &self.binaries {
            Some(folder) => Ok(std::path::absolute(folder)?),
            None => servers::build(Profile::Release, others),
        }
    }
}

/// Whom to measure.
fn sides(only: Option<Side>) -> Result<Vec<Side>> {
    let mut sides = Vec::new();
    if only != Some(Side::Real) {
        sides.push(Side::Ours);
    }
    if only != Some(Side::Ours) && servers::is_real_available(only)? {
        sides.push(Side::Real);
    }
    Ok(sides)
}
