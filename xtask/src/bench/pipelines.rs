//! Workflows beside pods that nobody conducts, on a cluster whose pods are processes of this machine.

use std::time::Duration;

use anyhow::Result;

use super::{
    Arguments, idle,
    load::{self, Generator},
    measures::{PIPELINES, Samples},
    report::Report,
    work::{Work, argument},
};
use crate::servers::{Cluster, Ours, subfolder};

const PATIENCE: Duration = Duration::from_mins(1);
const NOTE: &str = "`floor` is as many pods of the same kind, made by a client without any workflow; memory is after the last round";

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let binaries = arguments.binaries(&[load::PACKAGE])?;
    let work = Work::new(arguments.keep)?;
    let generator = Generator::new(&binaries);
    let server = Ours::cluster(&binaries, &subfolder(&work.path, "ours")?, 0)?;
    let cluster = Cluster::start(&server, PATIENCE)?;
    let mut samples = Samples::default();
    samples.add("memory_before", "ours", memory(&cluster)?);
    for round in 0..arguments.rounds() {
        eprintln!("round {} of {}", round + 1, arguments.rounds());
        let server = argument(&server)?;
        samples.merge(&generator.pipelines(&server, arguments.steps, arguments.workflows, round)?);
    }
    for pid in cluster.processes()? {
        idle::at_rest(pid)?;
    }
    samples.add("memory_after", "ours", memory(&cluster)?);
    cluster.stop()?;
    Ok(Report::new(PIPELINES, samples, arguments.rounds()).with_note(NOTE))
}

fn memory(cluster: &Cluster) -> Result<f64> {
    let bytes: u64 = cluster
        .processes()?
        .into_iter()
        .map(idle::memory)
        .sum::<Result<_>>()?;
    Ok(bytes as f64 / 1e6)
}
