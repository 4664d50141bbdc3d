//! The training operator beside the Go operators: the same jobs, the same kind of server, each alone on a
//! new one.

mod contenders;
mod figures;
mod scrape;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use self::{
    contenders::{Contender, reconcile_p99},
    figures::{Figures, Table},
};
use super::{
    Arguments, Output, idle,
    load::{self, Generator},
    work::{Work, argument},
};
use crate::{
    operators::{
        Limits::{AsShipped, Raised},
        Operator::{Mpi, Ours as OurOperator, Training},
        Running,
    },
    processes::wait_until,
    servers::{Durability, Kubectl, Ours, Real, Server, Side, start_and_wait, subfolder},
};

const PATIENCE: Duration = Duration::from_mins(1);
/// Operators that are throttled to a few requests a second get work for a minute.
const THROTTLED_JOBS: u32 = 40;
const PODS_A_JOB: u32 = 4;
/// Unless somebody wants another number.
const ROUNDS: u32 = 3;

/// What an operator is given to do.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Task {
    kind: &'static str,
    jobs: u32,
    pods: u32,
}

/// Who does it, where.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    server: Side,
    contender: Contender,
    task: Task,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let sides = super::sides(arguments.only)?;
    let work = Work::new(arguments.keep)?;
    let binaries = arguments.binaries(&[load::PACKAGE])?;
    let bench = Bench {
        generator: Generator::new(&binaries),
        binaries,
        work: work.path.clone(),
    };
    let mut table = Table::default();
    for round in 0..arguments.rounds.unwrap_or(ROUNDS) {
        eprintln!("round {}", round + 1);
        for (number, run) in runs(arguments, &sides, round).into_iter().enumerate() {
            eprintln!("{}", run.title());
            let folder = subfolder(&bench.work, &format!("{round}-{number}"))?;
            let figures = bench.measure(run, round, &folder)?;
            eprintln!("{}", figures.text());
            table.add(run, figures);
        }
    }
    match arguments.output {
        Output::Text => print!("{}", table.text()),
        Output::Json => println!("{:#}", table.json()),
    }
    if arguments.check {
        table.check()?;
    }
    Ok(())
}

/// Whose operator.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Name {
    Ours,
    TrainingOperator,
    MpiOperator,
    /// None: a client makes the pods
    Client,
}

/// What is to be done in a round, by those who are wanted. Rounds take turns in who goes first: a machine may be
/// faster at one time than at another.
fn runs(arguments: &Arguments, sides: &[Side], round: u32) -> Vec<Run> {
    let wanted = &arguments.operators;
    let mut runs = all_runs(arguments, sides);
    runs.retain(|run| wanted.is_empty() || wanted.contains(&run.contender.operator()));
    runs.retain(|run| round == 0 || run.is_repeated());
    if !round.is_multiple_of(2) {
        runs.reverse();
    }
    runs
}

fn all_runs(arguments: &Arguments, sides: &[Side]) -> Vec<Run> {
    let task = |kind, jobs, pods| Task { kind, jobs, pods };
    let many = |kind| task(kind, arguments.jobs, PODS_A_JOB);
    let few = |kind| task(kind, arguments.jobs.min(THROTTLED_JOBS), PODS_A_JOB);
    let large = task("pytorch", 1, arguments.pods);
    let mut runs = Vec::new();
    for server in sides {
        let mut add = |contender, task| {
            runs.push(Run {
                server: *server,
                contender,
                task,
            });
        };
        for task in [many("pytorch"), many("mpi"), large] {
            add(Contender::An(OurOperator), task);
        }
        add(Contender::An(Training(Raised)), many("pytorch"));
        add(Contender::An(Training(Raised)), large);
        add(Contender::An(Mpi(Raised)), many("mpi"));
        if *server == Side::Real {
            add(Contender::Client, many("pytorch"));
            add(Contender::Client, many("mpi"));
            add(Contender::An(Training(AsShipped)), few("pytorch"));
            add(Contender::An(Mpi(AsShipped)), few("mpi"));
        }
    }
    runs
}

impl Run {
    /// Those who are throttled are as slow every time, and no bar looks at the large job.
    fn is_repeated(&self) -> bool {
        self.task.jobs > 1 && !self.contender.is_throttled()
    }

    /// Few jobs take less than the noise, and those who are throttled take too long for twice as many.
    fn shows_memory_per_job(&self) -> bool {
        self.task.jobs >= 100 && self.contender != Contender::Client
    }

    fn title(&self) -> String {
        let Task { kind, jobs, pods } = self.task;
        let server = match self.server {
            Side::Ours => "embedded server",
            Side::Real => "kube-apiserver",
        };
        format!(
            "{server}, {}: {jobs} × {pods} pods, {kind}",
            self.contender.name()
        )
    }
}

struct Bench {
    generator: Generator,
    binaries: PathBuf,
    work: PathBuf,
}

impl Bench {
    fn measure(&self, run: Run, round: u32, folder: &Path) -> Result<Figures> {
        let (server, kubeconfig): (Box<dyn Server>, PathBuf) = match run.server {
            Side::Ours => {
                let ours = Ours::prepare(&self.binaries, folder)?;
                let kubeconfig = ours.kubeconfig();
                (Box::new(ours), kubeconfig)
            }
            Side::Real => {
                let real = Real::prepare(Durability::Synced, folder)?;
                let kubeconfig = real.kubeconfig();
                (Box::new(real), kubeconfig)
            }
        };
        let _parts = start_and_wait(&*server, PATIENCE)?;
        match run.server {
            Side::Ours => wait_until("the server has said where it is", PATIENCE, || {
                Ok(kubeconfig.is_file())
            })?,
            Side::Real => Kubectl::new(kubeconfig.clone())?.until_ready()?,
        }
        let mut operator = run.contender.start(&self.binaries, &kubeconfig, folder)?;
        let place = argument(&*server)?;
        self.generator
            .training_ready(&place, run.task.kind)
            .with_context(|| format!("the operator says: {}", operator.last_words(folder)))?;
        if run.contender == Contender::Client {
            // It has left the definitions.
            operator.stop()?;
            return self.work_alone(run, &*server, folder);
        }
        let figures = self
            .put_to_work(run, round, &*server, &operator)
            .with_context(|| format!("the operator says: {}", operator.last_words(folder)))?;
        operator.check_alive()?;
        operator.stop()?;
        Ok(figures)
    }

    fn put_to_work(&self, run: Run, round: u32, server: &dyn Server, operator: &Running) -> Result<Figures> {
        let Task { kind, jobs, pods } = run.task;
        let place = argument(server)?;
        let measured = self.generator.training(&place, kind, jobs, pods, "training")?;
        let busy_once = memory_at_rest(operator)?;
        // What being busy leaves behind is there now; another thousand jobs add what they themselves take.
        let kilobytes_per_job = if round == 0 && run.shows_memory_per_job() {
            self.generator.training(&place, kind, jobs, pods, "more")?;
            let grown = memory_at_rest(operator)?.saturating_sub(busy_once);
            Some(grown as f64 / 1e3 / f64::from(jobs))
        } else {
            None
        };
        let figure = |name: &str| measured[name][server.name()][0].as_f64().unwrap_or_default();
        Ok(Figures {
            seconds: figure("seconds"),
            pods_per_second: figure("pods_per_second"),
            requests_per_job: figure("requests_per_job"),
            reconcile_p99: reconcile_p99(operator),
            megabytes: Some(busy_once as f64 / 1e6),
            kilobytes_per_job,
        })
    }

    /// What the server allows whoever makes nothing but the jobs, what their pods need, and the pods.
    fn work_alone(&self, run: Run, server: &dyn Server, folder: &Path) -> Result<Figures> {
        let Task { kind, jobs, pods } = run.task;
        let children = self.children(kind, pods, folder)?;
        let measured = self
            .generator
            .training_unaided(&argument(server)?, kind, [jobs, pods], &children)?;
        let figure = |name: &str| measured[name][server.name()][0].as_f64().unwrap_or_default();
        Ok(Figures {
            seconds: figure("seconds"),
            pods_per_second: figure("pods_per_second"),
            requests_per_job: figure("requests_per_job"),
            reconcile_p99: None,
            megabytes: None,
            kilobytes_per_job: None,
        })
    }

    /// A file of what our operator would make for a job.
    fn children(&self, kind: &str, pods: u32, folder: &Path) -> Result<PathBuf> {
        let (job, children) = (folder.join("job.json"), folder.join("children.json"));
        fs::write(&job, self.generator.training_job(kind, pods, "the-namespace")?)?;
        let rendered = Command::new(self.binaries.join("trainyard"))
            .args(["render", "--gang", "none", "-o", "json", "-f"])
            .arg(&job)
            .output()
            .context("cannot start `trainyard render`")?;
        ensure!(
            rendered.status.success(),
            "`trainyard render` failed: {}",
            String::from_utf8_lossy(&rendered.stderr)
        );
        fs::write(&children, rendered.stdout)?;
        Ok(children)
    }
}

fn memory_at_rest(operator: &Running) -> Result<u64> {
    // What is told of the work, events above all, is not yet told when it is done.
    idle::at_rest(operator.pid())?;
    idle::memory(operator.pid())
}
