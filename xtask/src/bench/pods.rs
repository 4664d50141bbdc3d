//! Pods from being asked for to running: as processes of this machine, and as very many on nodes that
//! only pretend.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;

use super::{
    Arguments, idle,
    load::{self, Generator},
    measures::{PODS, Samples},
    report::Report,
    work::{Work, argument},
};
use crate::{
    processes::Background,
    servers::{Cluster, Durability, Ours, Real, Side, subfolder},
};

const NODES: usize = 1_000;
const CROWD: usize = 10_000;
const PATIENCE: Duration = Duration::from_mins(1);

/// What stands beside a table that does not have it.
const NO_KUBELET: &str = "not run: a kubelet with containerd, which real pods would need; docs/benchmarks.md has what one took on such a machine";

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let sides = super::sides(arguments.only)?;
    let work = Work::new(arguments.keep)?;
    let binaries = arguments.binaries(&[load::PACKAGE])?;
    let bench = Bench {
        generator: Generator::new(&binaries),
        binaries,
        work: work.path.clone(),
        rounds: arguments.rounds(),
    };
    let mut samples = Samples::default();
    if sides.contains(&Side::Ours) {
        bench.processes(&mut samples)?;
    }
    if sides.contains(&Side::Real) {
        bench.idle_of_real(&mut samples)?;
    }
    for round in 0..arguments.rounds() {
        let mut order = sides.clone();
        if round % 2 == 1 {
            order.reverse();
        }
        for side in order {
            bench.crowd(side, round, &mut samples)?;
        }
    }
    let report = Report::new(PODS, samples, arguments.rounds());
    Ok(report.with_note(NO_KUBELET))
}

struct Bench {
    generator: Generator,
    binaries: PathBuf,
    work: PathBuf,
    rounds: u32,
}

impl Bench {
    /// The whole of ours at rest, then with pods that are processes.
    fn processes(&self, samples: &mut Samples) -> Result<()> {
        let server = Ours::cluster(&self.binaries, &subfolder(&self.work, "ours")?, 0)?;
        let cluster = Cluster::start(&server, PATIENCE)?;
        idle::settle();
        measure_idle("ours", cluster.processes()?, samples)?;
        let argument = argument(&server)?;
        samples.merge(&self.generator.lives(&[argument], self.rounds)?);
        cluster.stop()
    }

    fn idle_of_real(&self, samples: &mut Samples) -> Result<()> {
        let server = Real::prepare(Durability::Synced, &subfolder(&self.work, "real")?)?;
        let parts = server.start_with_scheduler()?;
        idle::settle();
        let processes = parts.iter().map(Background::pid).collect();
        measure_idle("real", processes, samples)
    }

    /// Everybody starts each round with an empty folder: what was made before would slow the next.
    fn crowd(&self, side: Side, round: u32, samples: &mut Samples) -> Result<()> {
        let folder = subfolder(&self.work, &format!("crowd-{round}"))?;
        let figures = match side {
            Side::Ours => {
                let server = Ours::cluster(&self.binaries, &subfolder(&folder, "ours")?, NODES)?;
                let cluster = Cluster::start(&server, PATIENCE)?;
                let figures = self.generator.crowd(&argument(&server)?, NODES, CROWD)?;
                cluster.stop()?;
                figures
            }
            Side::Real => {
                let server = Real::prepare(Durability::Synced, &subfolder(&folder, "real")?)?;
                let mut parts = server.start_with_scheduler()?;
                self.generator.nodes(&argument(&server)?, NODES)?;
                parts.push(server.start_kwok()?);
                self.generator.crowd(&argument(&server)?, NODES, CROWD)?
            }
        };
        samples.merge(&figures);
        Ok(())
    }
}

fn measure_idle(name: &str, processes: Vec<u32>, samples: &mut Samples) -> Result<()> {
    for idle in idle::measure(&[processes])? {
        samples.add("system_memory", name, idle.megabytes);
        samples.add("system_cpu", name, idle.cpu_percent);
    }
    Ok(())
}
