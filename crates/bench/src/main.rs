//! Puts the same work on one or more API servers over HTTPS and prints how long it took them.
//!
//! `cargo xtask bench` starts the servers and reads the figures.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program reports to the one who started it"
)]

mod client;
mod connection;
mod crowd;
mod floor;
mod lives;
mod load;
mod pipelines;
mod pods;
mod rest;
mod server;
mod site;
mod statistics;
mod step;
mod training;
mod unaided;
mod watch;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use crate::{load::Samples, server::Server, site::Site, unaided::Children};

/// Put work on API servers and take the time
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say `waiting`, then `ready` at the moment a server that is being started is
    Ready { server: Server },
    /// Create pods and leave them there
    Fill {
        #[arg(long)]
        pods: usize,
        servers: Vec<Server>,
    },
    /// Take the time of each kind of work, round after round, on each server in turn
    Load {
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        #[arg(required = true)]
        servers: Vec<Server>,
    },
    /// Take the time of pods that are processes, round after round, on each server in turn
    Lives {
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        #[arg(required = true)]
        servers: Vec<Server>,
    },
    /// Make the objects of nodes
    Nodes {
        #[arg(long)]
        count: usize,
        server: Server,
    },
    /// Take the time of many pods for many nodes that only pretend to run them
    Crowd {
        #[arg(long)]
        nodes: usize,
        #[arg(long)]
        pods: usize,
        server: Server,
    },
    /// Take the time of workflows whose steps are processes, and of as many pods without any
    Pipelines {
        #[arg(long, default_value_t = 1000)]
        steps: usize,
        #[arg(long, default_value_t = 100)]
        workflows: usize,
        /// Each round is done in namespaces of its own
        #[arg(long, default_value_t = 0)]
        round: usize,
        server: Server,
    },
    /// Wait until an operator makes the pods of a training job
    TrainingReady {
        #[arg(long, value_enum, default_value = "pytorch")]
        kind: training::Kind,
        server: Server,
    },
    /// Print the first of those jobs
    TrainingJob {
        #[arg(long, value_enum, default_value = "pytorch")]
        kind: training::Kind,
        #[arg(long, default_value_t = 4)]
        pods: usize,
        #[arg(long, default_value = "training")]
        namespace: String,
    },
    /// Take the time of training jobs, for which an operator makes the pods
    Training {
        #[arg(long, value_enum, default_value = "pytorch")]
        kind: training::Kind,
        #[arg(long, default_value_t = 1000)]
        jobs: usize,
        #[arg(long, default_value_t = 4)]
        pods: usize,
        #[arg(long, default_value = "training")]
        namespace: String,
        /// Make the children of jobs, too: those of this file, for there is no operator
        #[arg(long)]
        children: Option<PathBuf>,
        server: Server,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // One thread: the servers keep the other cores to themselves, and one is plenty for this client.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(run(arguments.command))
}

async fn run(command: Command) -> Result<()> {
    match command {
        Command::Ready { server } => {
            println!("waiting");
            client::until_ready(&server).await;
            println!("ready");
        }
        Command::Fill { pods, servers } => {
            for server in &servers {
                Site::open(server, "filled").await?.create(16, pods).await?;
            }
        }
        Command::Load { rounds, servers } => print(&load::run(&servers, rounds).await?)?,
        Command::Lives { rounds, servers } => print(&lives::run(&servers, rounds).await?)?,
        Command::Nodes { count, server } => crowd::make_nodes(&server, count).await?,
        Command::Crowd { nodes, pods, server } => print(&crowd::run(&server, nodes, pods).await?)?,
        Command::Pipelines {
            steps,
            workflows,
            round,
            server,
        } => print(&pipelines::run(&server, steps, workflows, round).await?)?,
        Command::TrainingReady { kind, server } => training::warm_up(&server, kind).await?,
        Command::TrainingJob {
            kind,
            pods,
            namespace,
        } => println!("{}", training::first(kind, pods, &namespace)),
        Command::Training {
            kind,
            jobs,
            pods,
            namespace,
            children,
            server,
        } => {
            let children = children.as_deref().map(Children::read).transpose()?;
            let jobs = training::Jobs { kind, jobs, pods };
            print(&training::run(&server, jobs, &namespace, children.as_ref()).await?)?;
        }
    }
    Ok(())
}

fn print(samples: &Samples) -> Result<()> {
    println!("{}", serde_json::to_string(samples)?);
    Ok(())
}
