//! The same training jobs given to the original operators and to ours, on a real API server: their children,
//! specifications and statuses must be the same, but for the deviations that are listed with a reason.

mod cases;
mod compare;
mod deviations;
mod glob;
mod pods;
mod scrub;
mod stage;
mod story;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use self::{
    cases::Suite,
    compare::Difference,
    deviations::Deviations,
    stage::{Snapshot, Stage},
};
use crate::{
    operators::{Limits, Operator},
    servers::{self, Durability, Profile, Real, Side, subfolder},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only jobs whose `KIND/NAME` is like this: `PyTorchJob/*`; may be repeated
    #[arg(long = "job", value_name = "PATTERN")]
    jobs: Vec<String>,

    /// Take `trainyard` from this folder as it is
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Manifests of real users, of which training jobs are tried too
    #[arg(long, value_name = "DIR", default_value_os_t = cases::beside())]
    corpus: PathBuf,

    /// Show the listed deviations too
    #[arg(long)]
    all: bool,

    /// Leave the folder with data, logs and what was seen behind, and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if !servers::is_real_available(Some(Side::Real))? {
        return Ok(());
    }
    let deviations = Deviations::read()?;
    let suites = cases::read(&arguments.jobs, &arguments.corpus)?;
    let binaries = match &arguments.binaries {
        Some(folder) => std::path::absolute(folder)?,
        None => servers::build(Profile::Debug, &[])?,
    };
    let folder = tempfile::Builder::new()
        .prefix("trainyard-originals-")
        .tempdir()?;
    let work = folder.path().to_owned();
    if arguments.keep {
        eprintln!("data, logs and what was seen: {}", folder.keep().display());
    }
    let mut originals = Snapshot::new();
    for suite in suites.iter().filter(|suite| !suite.cases.is_empty()) {
        let operator = match suite.name {
            cases::MPI => Operator::MpiOperator(Limits::Raised),
            _ => Operator::TrainingOperator(Limits::Raised),
        };
        let folder = subfolder(&work, suite.name)?;
        originals.extend(play(operator, &[suite], &binaries, &folder)?);
    }
    let suites: Vec<&Suite> = suites.iter().collect();
    let ours = play(Operator::Ours, &suites, &binaries, &subfolder(&work, "ours")?)?;
    let differences = compare::snapshots(&originals, &ours);
    report(&differences, &deviations, arguments)
}

/// What becomes of the jobs with that operator, alone on a new server.
fn play(operator: Operator, suites: &[&Suite], binaries: &Path, folder: &Path) -> Result<Snapshot> {
    let server = Real::prepare(Durability::Unsynced, folder)?;
    let _parts = server.start_with_jobs()?;
    let mut running = operator.start(binaries, &server.kubeconfig(), folder)?;
    let stage = Stage::new(server.kubeconfig(), folder)?;
    let snapshots = stage.play(suites);
    running.check_alive()?;
    let words = running.last_words(folder);
    running.stop()?;
    snapshots.map_err(|error| error.context(format!("the operator says: {words}")))
}

fn report(differences: &[Difference], deviations: &Deviations, arguments: &Arguments) -> Result<()> {
    let judged = deviations.judge(differences);
    if arguments.all {
        for (difference, why) in &judged.listed {
            println!("{difference}\n    listed: {why}");
        }
    }
    for difference in &judged.unlisted {
        println!("{difference}");
    }
    println!(
        "{} differences that are listed with a reason, {} that are not",
        judged.listed.len(),
        judged.unlisted.len()
    );
    // With some of the jobs only, some of the list has nothing to say.
    let unused = if arguments.jobs.is_empty() {
        judged.unused
    } else {
        Vec::new()
    };
    for pattern in &unused {
        println!("listed, but there is no such difference: {pattern}");
    }
    if judged.unlisted.is_empty() && unused.is_empty() {
        return Ok(());
    }
    bail!("the operators differ, or the list of their differences is not right")
}
