//! The commands users type, one file each. The only crate that prints.

#[macro_use]
mod printing;

mod accelerators;
mod ailments;
mod bench_serving;
mod data_dir;
mod deliver;
mod detach;
mod down;
mod image;
mod instance;
mod jobs;
mod kubeconfig;
mod lock;
mod log;
mod mpi_rsh;
mod mpi_wait;
mod mpi_worker;
mod objects;
mod operator;
mod pipelines;
mod pkg;
mod processes;
mod serve;
mod status;
mod step;
mod tasks;
mod tethered;
mod trainer;
mod up;
mod wait_for_name;

use std::{collections::BTreeMap, process::ExitCode};

pub use log::LogWriter;
pub use processes::process;

use clap::{Parser, Subcommand, ValueEnum};

/// Runs machine-learning training on Kubernetes, from one workstation to a large cluster.
#[derive(Debug, Parser)]
#[command(
    name = "trainyard",
    version,
    after_help = "Examples:
  trainyard demo                             a distributed training on this machine, from start to end
  trainyard run --nodes 2 -- ./train.sh      your own program, on two nodes
  trainyard ps; trainyard why NAME           what runs, and why something does not
  trainyard task submit -f values.json       filled values for a task of a definition
  trainyard serve DIR                        a SavedModel over gRPC and HTTP
  trainyard pipeline run train.yaml          a workflow, checked before it begins
  trainyard pkg build DIR                    the manifests a kustomization stands for
  trainyard up --detach; trainyard down      a Kubernetes cluster of this machine's own

Exit codes: 0 done, 1 the answer is no, 2 the command could not do its work"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Arguments),
    Down(down::Arguments),
    Status(status::Arguments),
    Demo(jobs::demo::Arguments),
    Run(Box<jobs::run::Arguments>),
    Ps(jobs::ps::Arguments),
    Logs(jobs::logs::Arguments),
    Why(jobs::why::Arguments),
    Stop(jobs::stop::Arguments),
    Resume(jobs::stop::ResumeArguments),
    Rm(jobs::rm::Arguments),
    Render(jobs::render::Arguments),
    Apply(Box<objects::ApplyArguments>),
    Delete(objects::DeleteArguments),
    Diff(objects::DiffArguments),
    Pipeline(Box<pipelines::Arguments>),
    Pkg(Box<pkg::Arguments>),
    Image(image::Arguments),
    Operator(Box<operator::Arguments>),
    Template(tasks::template::Arguments),
    Definition(tasks::definition::Arguments),
    Task(tasks::task::Arguments),
    Token(tasks::token::Arguments),
    Service(Box<tasks::service::Arguments>),
    Serve(Box<serve::Arguments>),
    BenchServing(bench_serving::Arguments),
    Trainer(trainer::Arguments),
    MpiRsh(mpi_rsh::Arguments),
    MpiWait(mpi_wait::Arguments),
    MpiWorker(mpi_worker::Arguments),
    WaitForName(wait_for_name::Arguments),
    #[command(name = "__deliver")]
    Deliver(deliver::Arguments),
    #[command(name = "__step")]
    Step(step::Arguments),
    #[command(name = "__tethered")]
    Tethered(tethered::Arguments),
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    #[default]
    Text,
    Json,
}

/// The option of commands that answer in words or in JSON.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Answer {
    /// For people, or for programs
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
}

/// What the process was given: the only facts about its surroundings that commands may use.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// How this program was called.
    pub program: Option<std::path::PathBuf>,
    pub home: Option<std::path::PathBuf>,
    /// `XDG_DATA_HOME`.
    pub data_home: Option<std::path::PathBuf>,
    /// `TRAINYARD_DATA_DIR`.
    pub data_dir: Option<std::path::PathBuf>,
    /// `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`, which every pod has.
    pub service_host: Option<String>,
    pub service_port: Option<String>,
    /// The working directory.
    pub directory: Option<std::path::PathBuf>,
    /// Every variable that is text, for what is passed on to jobs.
    pub environment: BTreeMap<String, String>,
}

impl Surroundings {
    /// What to type to call this program again: its path, unless the shell finds it.
    fn program(&self) -> String {
        let path = self
            .program
            .as_deref()
            .filter(|path| path.components().count() > 1);
        path.map_or_else(|| "trainyard".to_owned(), data_dir::pasteable)
    }
}

impl Arguments {
    /// What is logged unless somebody says otherwise. Commands tell themselves, in their own words, that a
    /// cluster is out of reach; servers have nobody to tell but their log.
    pub fn log_filter(&self) -> &'static str {
        match self.command {
            Command::Up(_) | Command::Operator(_) => "warn",
            // Which versions come and go.
            Command::Serve(_) => "warn,serving=info",
            // Its log is one of the places where changes are written down.
            Command::Service(_) => "warn,audit=info",
            _ => "warn,kube_client=off",
        }
    }
}

/// Runs a command. 0: done; 1: the answer is no; 2: it could not do its work.
pub fn run(arguments: Arguments, surroundings: &Surroundings) -> ExitCode {
    let result = match arguments.command {
        Command::Up(arguments) => up::run(&arguments, surroundings),
        Command::Down(arguments) => down::run(&arguments, surroundings),
        Command::Status(arguments) => status::run(&arguments, surroundings),
        Command::Apply(arguments) => objects::apply(&arguments, surroundings),
        Command::Delete(arguments) => objects::delete(&arguments, surroundings),
        Command::Diff(arguments) => objects::diff(&arguments, surroundings),
        Command::Pipeline(arguments) => pipelines::run(&arguments, surroundings),
        Command::Pkg(arguments) => Ok(pkg::run(&arguments, surroundings)),
        Command::Image(arguments) => image::run(&arguments, surroundings),
        Command::Operator(arguments) => operator::run(&arguments, surroundings),
        Command::Template(arguments) => tasks::template::run(&arguments, surroundings),
        Command::Definition(arguments) => tasks::definition::run(&arguments, surroundings),
        Command::Task(arguments) => tasks::task::run(&arguments, surroundings),
        Command::Token(arguments) => tasks::token::run(&arguments, surroundings),
        Command::Service(arguments) => tasks::service::run(&arguments, surroundings),
        Command::Demo(arguments) => jobs::demo::run(&arguments, surroundings),
        Command::Run(arguments) => Ok(jobs::run::run(&arguments, surroundings)),
        Command::Ps(arguments) => jobs::ps::run(&arguments, surroundings),
        Command::Logs(arguments) => jobs::logs::run(&arguments, surroundings),
        Command::Why(arguments) => jobs::why::run(&arguments, surroundings),
        Command::Stop(arguments) => jobs::stop::run(&arguments, surroundings),
        Command::Resume(arguments) => jobs::stop::resume(&arguments, surroundings),
        Command::Rm(arguments) => jobs::rm::run(&arguments, surroundings),
        Command::Render(arguments) => jobs::render::run(&arguments, surroundings),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::BenchServing(arguments) => bench_serving::run(&arguments, surroundings),
        Command::Trainer(arguments) => trainer::run(&arguments),
        Command::MpiRsh(arguments) => Ok(mpi_rsh::run(&arguments, surroundings)),
        Command::MpiWait(arguments) => mpi_wait::run(&arguments, surroundings),
        Command::MpiWorker(arguments) => mpi_worker::run(&arguments),
        Command::WaitForName(arguments) => wait_for_name::run(&arguments),
        Command::Deliver(arguments) => deliver::run(&arguments),
        Command::Step(arguments) => step::run(&arguments, surroundings),
        Command::Tethered(arguments) => tethered::run(&arguments),
    };
    let code = result.unwrap_or_else(|error| {
        report(&error);
        ExitCode::from(2)
    });
    match printing::failure() {
        None => code,
        Some(error) => {
            eprintln!("error: the output could not be written: {error}");
            if code == ExitCode::SUCCESS {
                ExitCode::from(2)
            } else {
                code
            }
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
