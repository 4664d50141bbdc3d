//! Upstream's end-to-end suite against the embedded cluster.

mod api;
mod images;
mod known;
mod node;
mod suite;

use std::{fs, path::Path};

use anyhow::{Result, bail};

use self::suite::Outcome;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which group of specs
    #[arg(value_enum, default_value_t = Group::Node)]
    group: Group,

    /// Only specs whose name contains this
    #[arg(long)]
    focus: Option<String>,

    /// Specs that run at the same time
    #[arg(long, default_value_t = 8)]
    procs: usize,

    /// Leave the folder with data and logs behind, and say where it is
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Group {
    /// The API itself: discovery, objects, watches, custom resources, admission, quotas, kubectl
    Api,
    /// All of it, with pods that really run. Needs root
    Node,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("trainyard-e2e-").tempdir()?;
    let work = folder.path().to_owned();
    if arguments.keep {
        println!("data and logs: {}", folder.keep().display());
    }
    let outcomes = match arguments.group {
        Group::Api => run_api(arguments, &work)?,
        Group::Node => run_node(arguments, &work)?,
    };
    report(&outcomes, &work)?;
    known::check(&outcomes)
}

fn run_api(arguments: &Arguments, work: &Path) -> Result<Vec<Outcome>> {
    let specs = suite::specs("api.txt", arguments.focus.as_deref())?;
    let mut cluster = api::Cluster::start(work)?;
    let outcomes = suite::run(&specs, arguments.procs, &cluster.kubeconfig, work)?;
    cluster.check()?;
    Ok(outcomes)
}

fn run_node(arguments: &Arguments, work: &Path) -> Result<Vec<Outcome>> {
    let specs = suite::specs("node.txt", arguments.focus.as_deref())?;
    let mut cluster = node::Cluster::start(work)?;
    let outcomes = suite::run(&specs, arguments.procs, &cluster.kubeconfig, work)?;
    cluster.check()?;
    Ok(outcomes)
}

/// Prints what failed and how many passed; leaves all outcomes in a file.
fn report(outcomes: &[Outcome], work: &Path) -> Result<()> {
    if outcomes.is_empty() {
        bail!("no spec was run");
    }
    let mut lines = String::new();
    for outcome in outcomes {
        let word = if outcome.passed { "passed" } else { "FAILED" };
        lines.push_str(&format!("{word} {}\n", outcome.name));
        if !outcome.passed {
            println!("FAILED {}\n       {}", outcome.name, outcome.why);
        }
    }
    fs::write(work.join("outcomes.txt"), lines)?;
    let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    println!("{passed} of {} specs passed", outcomes.len());
    Ok(())
}
