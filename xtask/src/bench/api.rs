//! The API server and its store against kube-apiserver and etcd.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{
    Arguments, idle,
    load::{self, Generator},
    measures::{API, Samples},
    report::Report,
    work::{Work, argument},
};
use crate::{
    processes::Background,
    servers::{Durability, Ours, Real, Server, Side, subfolder},
};

/// What the data directory holds when a start on an existing one is measured.
const STORED_PODS: usize = 3_000;

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let sides = super::sides(arguments.only)?;
    let work = Work::new(arguments.keep)?;
    let binaries = arguments.binaries(&[load::PACKAGE])?;
    let bench = Bench {
        generator: Generator::new(&binaries),
        binaries,
        work: work.path.clone(),
        sides,
        rounds: arguments.rounds(),
    };
    let samples = bench.run()?;
    Ok(Report::new(API, samples, arguments.rounds()))
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
    idle::settle();
    for (running, found) in running.iter().zip(idle::measure(&pids)?) {
        let name = running.server.name();
        samples.add(&format!("{prefix}_memory"), name, found.megabytes);
        samples.add(&format!("{prefix}_cpu"), name, found.cpu_percent);
    }
    Ok(())
}

fn arguments(running: &[Running]) -> Result<Vec<String>> {
    running.iter().map(|running| argument(&*running.server)).collect()
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
