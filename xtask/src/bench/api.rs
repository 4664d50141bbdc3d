//! The API server and its store against kube-apiserver and etcd.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::fs::statfs;

use super::{
    Arguments, idle,
    load::{self, Generator},
    measures::Samples,
    report::Report,
};
use crate::{
    processes::Background,
    servers::{self, Durability, Ours, Profile, Real, Server, Side, subfolder},
};

/// What the data directory holds when a start on an existing one is measured.
const STORED_PODS: usize = 3_000;
const TMPFS: i64 = 0x0102_1994;

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let mut sides = Vec::new();
    if arguments.only != Some(Side::Real) {
        sides.push(Side::Ours);
    }
    if arguments.only != Some(Side::Ours) && servers::is_real_available(arguments.only)? {
        sides.push(Side::Real);
    }
    let folder = tempfile::Builder::new().prefix("trainyard-bench-").tempdir()?;
    let work = folder.path().to_owned();
    if arguments.keep {
        eprintln!("data and logs: {}", folder.keep().display());
    }
    let binaries = servers::build(Profile::Release, &[load::PACKAGE])?;
    let bench = Bench {
        generator: Generator::new(&binaries),
        binaries,
        work: on_a_disk(work)?,
        sides,
        rounds: arguments.rounds,
    };
    let samples = bench.run()?;
    Ok(Report::new(samples, arguments.rounds))
}

/// In memory neither side would wait for a disk.
fn on_a_disk(work: PathBuf) -> Result<PathBuf> {
    let found = statfs(&work).context("cannot look at the file system of the temporary folder")?;
    if found.f_type == TMPFS {
        bail!(
            "`{}` is in memory; set TMPDIR to a folder on a disk",
            work.display()
        );
    }
    Ok(work)
}

struct Bench {
    generator: Generator,
    binaries: PathBuf,
    work: PathBuf,
    sides: Vec<Side>,
    rounds: u32,
}

/// A server that runs.
struct Running {
    server: Box<dyn Server>,
    parts: Vec<Background>,
}

impl Bench {
    fn run(&self) -> Result<Samples> {
        let mut samples = Samples::default();
        self.start_afresh(&mut samples)?;

        let servers = self.prepare_all("main")?;
        let mut running = self.start_all(servers)?;
        measure_idle(&running, "idle", &mut samples)?;
        let arguments = arguments(&running)?;
        samples.merge(&self.generator.load(&arguments, self.rounds)?);
        self.generator.fill(&arguments, STORED_PODS)?;
        // Work that was done by a server that died meanwhile is no result.
        for part in running.iter_mut().flat_map(|running| &mut running.parts) {
            part.check_alive()?;
        }

        let servers = stop_all(running)?;
        let running = self.start_again(servers, &mut samples)?;
        measure_idle(&running, "idle_filled", &mut samples)?;
        stop_all(running)?;
        Ok(samples)
    }

    /// Starts each server in an empty folder, as often as there are rounds.
    fn start_afresh(&self, samples: &mut Samples) -> Result<()> {
        for round in 0..self.rounds {
            for server in self.prepare_all(&format!("fresh-{round}"))? {
                let running = self.start(server, Some(("start_fresh", samples)))?;
                stop(running)?;
            }
        }
        Ok(())
    }

    /// Starts each server on the data it has, as often as there are rounds, and leaves it running.
    fn start_again(&self, mut servers: Vec<Box<dyn Server>>, samples: &mut Samples) -> Result<Vec<Running>> {
        for _ in 0..self.rounds {
            let mut stopped = Vec::new();
            for server in servers {
                stopped.push(stop(self.start(server, Some(("start_existing", samples)))?)?);
            }
            servers = stopped;
        }
        self.start_all(servers)
    }

    fn prepare_all(&self, name: &str) -> Result<Vec<Box<dyn Server>>> {
        self.sides
            .iter()
            .map(|side| self.prepare(*side, &subfolder(&self.work, name)?))
            .collect()
    }

    fn prepare(&self, side: Side, work: &Path) -> Result<Box<dyn Server>> {
        Ok(match side {
            Side::Ours => Box::new(Ours::prepare(&self.binaries, &subfolder(work, "ours")?)?),
            Side::Real => Box::new(Real::prepare(Durability::Synced, &subfolder(work, "real")?)?),
        })
    }

    fn start_all(&self, servers: Vec<Box<dyn Server>>) -> Result<Vec<Running>> {
        servers
            .into_iter()
            .map(|server| self.start(server, None))
            .collect()
    }

    /// Starts a server and waits until it is ready; the time goes to the named samples.
    fn start(&self, server: Box<dyn Server>, timed: Option<(&str, &mut Samples)>) -> Result<Running> {
        let waiter = self.generator.wait_for(&*server)?;
        let started = std::time::Instant::now();
        let parts = server.start()?;
        waiter.until_ready(&server.url())?;
        if let Some((measure, samples)) = timed {
            let took = started.elapsed().as_secs_f64() * 1000.0;
            samples.add(measure, server.name(), took);
        }
        Ok(Running { server, parts })
    }
}

fn measure_idle(running: &[Running], prefix: &str, samples: &mut Samples) -> Result<()> {
    let pids: Vec<Vec<u32>> = running
        .iter()
        .map(|running| running.parts.iter().map(Background::pid).collect())
        .collect();
    for (running, found) in running.iter().zip(idle::measure(&pids)?) {
        let name = running.server.name();
        samples.add(&format!("{prefix}_memory"), name, found.megabytes);
        samples.add(&format!("{prefix}_cpu"), name, found.cpu_percent);
    }
    Ok(())
}

/// `NAME=URL,TOKEN,CA-FILE` of each.
fn arguments(running: &[Running]) -> Result<Vec<String>> {
    let argument = |running: &Running| {
        let server = &running.server;
        let authority = server.authority();
        let token = server.token()?;
        Ok(format!(
            "{}={},{token},{}",
            server.name(),
            server.url(),
            authority.display()
        ))
    };
    running.iter().map(argument).collect()
}

fn stop_all(running: Vec<Running>) -> Result<Vec<Box<dyn Server>>> {
    running.into_iter().map(stop).collect()
}

fn stop(running: Running) -> Result<Box<dyn Server>> {
    for part in running.parts {
        part.stop()?;
    }
    Ok(running.server)
}
