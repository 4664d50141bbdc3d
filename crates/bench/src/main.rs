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
mod engines;
mod floor;
mod lives;
mod load;
mod pods;
mod schedule;
mod server;
mod site;
mod statistics;
mod step;
mod training;
mod watch;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use crate::{load::Samples, server::Server, site::Site};

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
    /// Take the time of training jobs, for which an operator makes the pods
    Training {
        #[arg(long, value_enum, default_value = "pytorch")]
        kind: training::Kind,
        #[arg(long, default_value_t = 1000)]
        jobs: usize,
        #[arg(long, default_value_t = 4)]
        pods: usize,
        server: Server,
    },
    /// Take the time from pods to nodes in a cluster of simulated nodes, in this process
    Schedule {
        #[arg(long, default_value_t = 1000)]
        nodes: usize,
        #[arg(long, default_value_t = 10_000)]
        pods: usize,
    },
    /// Run controllers, scheduler and simulated nodes against a server, until stopped
    Engines {
        #[arg(long)]
        kubeconfig: PathBuf,
        #[arg(long, default_value_t = 3)]
        nodes: usize,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // One thread: the servers keep the other cores to themselves, and one is plenty for this client.
    // A cluster in this process gets all of them.
    let mut runtime = match arguments.command {
        Command::Schedule { .. } | Command::Engines { .. } => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().context("cannot start the runtime")?;
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
        Command::Training {
            kind,
            jobs,
            pods,
            server,
        } => print(&training::run(&server, kind, jobs, pods).await?)?,
        Command::Engines { kubeconfig, nodes } => engines::run(&kubeconfig, nodes).await?,
        Command::Schedule { nodes, pods } => {
            let figures = schedule::measure(nodes, pods).await?;
            for (what, took) in [
                ("decided", figures.decided),
                ("made", figures.made),
                ("bound", figures.bound),
                ("running", figures.running),
            ] {
                let rate = pods as f64 / took.as_secs_f64();
                println!("{what:8} {:8.3} s  {rate:9.0} pods/s", took.as_secs_f64());
            }
        }
    }
    Ok(())
}

fn print(samples: &Samples) -> Result<()> {
    println!("{}", serde_json::to_string(samples)?);
    Ok(())
}
