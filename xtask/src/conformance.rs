//! One suite of API checks, run against the embedded server and against a real one.

mod real;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use crate::{
    processes::{Background, wait_until},
    run,
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Side {
    Ours,
    Real,
}

/// A running server, and how the suite reaches it.
struct Served {
    /// `NAME=URL,TOKEN[,CA-FILE]`.
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
    if arguments.only != Some(Side::Ours) && is_real_available(arguments.only)? {
        servers.push(real::start(&subfolder(&work, "real")?)?);
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

/// Whether there is a real server to compare with. Without one the half that can run does.
fn is_real_available(only: Option<Side>) -> Result<bool> {
    if real::is_built()? || run::is_installed("go") {
        return Ok(true);
    }
    let reason = "a real kube-apiserver is neither built (`cargo xtask real-kubernetes`) nor can be: Go is not installed";
    if only == Some(Side::Real) || run::is_ci() {
        bail!("{reason}");
    }
    eprintln!("{reason}; running against ours only");
    Ok(false)
}

fn subfolder(work: &Path, name: &str) -> Result<PathBuf> {
    let path = work.join(name);
    fs::create_dir(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok(path)
}

fn start_ours(work: &Path) -> Result<Served> {
    run::run("cargo", &["build", "--quiet", "--package", "trainyard"])?;
    let data = work.join("data");
    let mut command = Command::new(run::target_dir().join("debug/trainyard"));
    command
        .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&data);
    let server = Background::start("trainyard", &mut command, work)?;
    let kubeconfig = data.join("kubeconfig");
    wait_until("the embedded API server", Duration::from_secs(20), || {
        Ok(data.join("instance.json").exists())
    })?;
    let text =
        fs::read_to_string(&kubeconfig).with_context(|| format!("cannot read `{}`", kubeconfig.display()))?;
    let argument = format!("ours={},{}", value(&text, "server")?, value(&text, "token")?);
    Ok(Served {
        argument,
        parts: vec![server],
    })
}

/// A value of the kubeconfig, which we write ourselves: one `key: value` a line.
fn value<'a>(kubeconfig: &'a str, key: &str) -> Result<&'a str> {
    let mut values = kubeconfig
        .lines()
        .filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
    values
        .next()
        .with_context(|| format!("the kubeconfig has no `{key}`"))
}

fn run_suite(arguments: &Arguments, servers: &[Served]) -> Result<()> {
    let mut command = Command::new("cargo");
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
    let status = command
        .current_dir(run::root())
        .status()
        .context("cannot start the suite")?;
    if !status.success() {
        bail!("the servers differ");
    }
    Ok(())
}
