//! One suite of API checks, run against the embedded server and against a real one.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};

use crate::{
    processes::Background,
    run,
    servers::{self, Durability, Ours, Profile, Real, Server, Side, start_and_wait, subfolder},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run against one side only
    #[arg(long, value_enum)]
    only: Option<Side>,

    /// Only this area; may be repeated
    #[arg(long = "area")]
    areas: Vec<String>,

    /// Only checks whose name contains this
    #[arg(long)]
    filter: Option<String>,

    /// Print the result as `text` or `json`
    #[arg(short, long, default_value = "text")]
    output: String,

    /// Leave the folder with data and logs behind, and say where it is
    #[arg(long)]
    keep: bool,
}

/// A running server, and how the suite reaches it.
struct Served {
    /// `NAME=URL,TOKEN`: any certificate is taken.
    argument: String,
    parts: Vec<Background>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = tempfile::Builder::new()
        .prefix("trainyard-conformance-")
        .tempdir()?;
    let work = folder.path().to_owned();
    if arguments.keep {
        println!("data and logs: {}", folder.keep().display());
    }
    let mut servers = Vec::new();
    if arguments.only != Some(Side::Ours) && servers::is_real_available(arguments.only)? {
        servers.push(start_real(&subfolder(&work, "real")?)?);
    }
    if arguments.only != Some(Side::Real) {
        servers.push(start_ours(&subfolder(&work, "ours")?)?);
    }
    let passed = run_suite(arguments, &servers);
    // The suite may pass although a server died meanwhile; that is a failure too.
    for part in servers.iter_mut().flat_map(|server| &mut server.parts) {
        part.check_alive()?;
    }
    passed
}

fn start_real(work: &Path) -> Result<Served> {
    let real = Real::prepare(Durability::Unsynced, work)?;
    let parts = real.start_with_controllers()?;
    served(&real, parts)
}

fn start_ours(work: &Path) -> Result<Served> {
    let binaries = servers::build(Profile::Debug, &[])?;
    let ours = Ours::prepare(&binaries, work)?;
    let parts = start_and_wait(&ours, Duration::from_secs(20))?;
    served(&ours, parts)
}

fn served(server: &impl Server, parts: Vec<Background>) -> Result<Served> {
    Ok(Served {
        argument: format!("{}={},{}", server.name(), server.url(), server.token()?),
        parts,
    })
}

fn run_suite(arguments: &Arguments, servers: &[Served]) -> Result<()> {
    let mut command = run::cargo();
    command.args([
        "run",
        "--quiet",
        "--package",
        "conformance",
        "--",
        "--keep-namespaces",
        "--wait",
        "60",
    ]);
    for server in servers {
        command.args(["--server", &server.argument]);
    }
    for area in &arguments.areas {
        command.args(["--area", area]);
    }
    if let Some(filter) = &arguments.filter {
        command.args(["--filter", filter]);
    }
    command.args(["--output", &arguments.output]);
    let status = command.status().context("cannot start the suite")?;
    if !status.success() {
        bail!("the servers differ");
    }
    Ok(())
}
