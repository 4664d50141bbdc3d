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

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use self::{
    cases::Suite,
    compare::Difference,
    deviations::Deviations,
    stage::{Snapshot, Stage},
};
use crate::{
    operators::{Gangs, Operator},
    servers::{self, Durability, Profile, Real, Side, subfolder},
};

/// An operator that ends before it has done anything is started again so often.
const RESTARTS: u32 = 3;
/// Our operator, as it is started beside each scheduler of gangs.
const OURS: [(&str, Gangs); 3] = [
    ("ours", Gangs::Nobody),
    ("ours-volcano", Gangs::Volcano),
    ("ours-plugins", Gangs::Plugins),
];

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

    /// Take what was seen from a folder that was left behind, and look again only for what it does not have:
    /// `mpi.json`, `training.json`, `ours.json`, and those of gangs, as `mpi-volcano.json`
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    seen: Option<PathBuf>,
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
    let work = Work::new(arguments)?;
    let (mut originals, mut ours) = (Snapshot::new(), Snapshot::new());
    for suite in suites.iter().filter(|suite| !suite.cases.is_empty()) {
        originals.extend(work.seen(suite.name, || {
            let folder = subfolder(&work.path, suite.name)?;
            play(suite.original, suite.gangs, &[suite], &binaries, &folder)
        })?);
    }
    for (name, gangs) in OURS {
        let of_these = |suite: &&Suite| suite.gangs == gangs && !suite.cases.is_empty();
        let suites: Vec<&Suite> = suites.iter().filter(of_these).collect();
        if !suites.is_empty() {
            ours.extend(work.seen(name, || {
                let folder = subfolder(&work.path, name)?;
                play(Operator::Ours, gangs, &suites, &binaries, &folder)
            })?);
        }
    }
    report(&compare::snapshots(&originals, &ours), &deviations, arguments)
}

/// A folder for data, logs and what was seen.
struct Work {
    path: PathBuf,
    _folder: Option<TempDir>,
}

impl Work {
    fn new(arguments: &Arguments) -> Result<Self> {
        if let Some(path) = &arguments.seen {
            let path = std::path::absolute(path)?;
            return Ok(Self { path, _folder: None });
        }
        let folder = tempfile::Builder::new()
            .prefix("trainyard-originals-")
            .tempdir()?;
        let path = folder.path().to_owned();
        let folder = if arguments.keep {
            eprintln!("data, logs and what was seen: {}", folder.keep().display());
            None
        } else {
            Some(folder)
        };
        Ok(Self {
            path,
            _folder: folder,
        })
    }

    /// What is in the file, or else what is seen now, which the file then has.
    fn seen(&self, name: &str, see: impl FnOnce() -> Result<Snapshot>) -> Result<Snapshot> {
        let file = self.path.join(format!("{name}.json"));
        if file.is_file() {
            let text = fs::read(&file)?;
            return serde_json::from_slice(&text).with_context(|| format!("`{}`", file.display()));
        }
        let snapshot = see()?;
        fs::write(&file, serde_json::to_vec_pretty(&snapshot)?)?;
        Ok(snapshot)
    }
}

/// What becomes of the jobs with that operator, alone on a new server.
fn play(
    operator: Operator,
    gangs: Gangs,
    suites: &[&Suite],
    binaries: &Path,
    folder: &Path,
) -> Result<Snapshot> {
    let server = Real::prepare(Durability::Unsynced, folder)?;
    let _parts = server.start_with_jobs()?;
    let kubeconfig = server.kubeconfig();
    let mut running = operator.start_with(gangs, binaries, &kubeconfig, folder)?;
    let stage = Stage::new(kubeconfig.clone(), folder)?;
    for suite in suites {
        stage.make(suite)?;
    }
    // Now and then training-operator is overtaken by its own certificate and ends. A kubelet starts it again.
    for _ in 0..RESTARTS {
        if stage.until_begun(suites, &mut running)? {
            break;
        }
        eprintln!("started again: {}", running.last_words(folder));
        running = operator.start_with(gangs, binaries, &kubeconfig, folder)?;
    }
    let snapshot = stage.play(suites);
    let words = running.last_words(folder);
    let snapshot = snapshot.with_context(|| format!("the operator says: {words}"))?;
    running.check_alive()?;
    running.stop()?;
    Ok(snapshot)
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
