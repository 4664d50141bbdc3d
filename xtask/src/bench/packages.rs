//! `trainyard pkg build` beside `kubectl kustomize`: the same packages, a new process each time, and the same bytes.

mod inputs;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use self::inputs::INPUTS;
use super::{
    Arguments,
    measures::{PACKAGES, Samples},
    report::Report,
    work::Work,
};
use crate::{
    real_kubernetes::{self, Component},
    run,
    servers::{Side, subfolder},
};

/// Between two looks at a process whose memory is measured.
const GLANCE: Duration = Duration::from_micros(100);

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let builders = builders(arguments)?;
    let work = Work::new(arguments.keep)?;
    let mut samples = Samples::default();
    for input in INPUTS {
        eprintln!("{}", input.title);
        let package = subfolder(&work.path, input.name)?;
        let top = (input.write)(&package)
            .with_context(|| format!("cannot write a package to `{}`", package.display()))?;
        for round in 0..arguments.rounds() {
            measure(&in_turn(&builders, round), input.name, &top, &mut samples)?;
        }
    }
    Ok(Report::new(PACKAGES, samples, arguments.rounds()))
}

/// A program that builds packages.
struct Builder {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

fn builders(arguments: &Arguments) -> Result<Vec<Builder>> {
    let mut builders = Vec::new();
    if arguments.only != Some(Side::Real) {
        let binaries = arguments.binaries(&[])?;
        builders.push(Builder {
            name: "ours",
            program: binaries.join("trainyard"),
            arguments: &["pkg", "build"],
        });
    }
    if arguments.only != Some(Side::Ours) && is_kubectl_available(arguments.only)? {
        builders.push(Builder {
            name: "real",
            program: real_kubernetes::ensure(Component::Kubectl)?,
            arguments: &["kustomize"],
        });
    }
    Ok(builders)
}

fn is_kubectl_available(only: Option<Side>) -> Result<bool> {
    if real_kubernetes::find(Component::Kubectl)?.is_some() || run::is_installed("go") {
        return Ok(true);
    }
    let reason =
        "kubectl is neither built (`cargo xtask real-kubernetes kubectl`) nor can be: Go is not installed";
    if only == Some(Side::Real) || run::is_ci() {
        bail!("{reason}");
    }
    eprintln!("{reason}; measuring ours only");
    Ok(false)
}

/// Who went first goes last in the next round.
fn in_turn(builders: &[Builder], round: u32) -> Vec<&Builder> {
    let mut order: Vec<&Builder> = builders.iter().collect();
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// One round. Whatever is not the same work is no comparison, so different bytes end it.
fn measure(builders: &[&Builder], input: &str, top: &Path, samples: &mut Samples) -> Result<()> {
    let mut outputs = Vec::new();
    for builder in builders {
        let (took, output) = builder.build(top)?;
        let milliseconds = took.as_secs_f64() * 1000.0;
        samples.add(&format!("{input}_time"), builder.name, milliseconds);
        outputs.push(output);
    }
    ensure!(
        outputs.windows(2).all(|pair| pair[0] == pair[1]),
        "ours and kubectl build different objects of `{}`",
        top.display()
    );
    for builder in builders {
        let megabytes = builder.peak_memory(top)? as f64 / 1e6;
        samples.add(&format!("{input}_memory"), builder.name, megabytes);
    }
    Ok(())
}

impl Builder {
    fn command(&self, package: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.arguments).arg(package).stdin(Stdio::null());
        command
    }

    /// From starting the process until it has ended and all it printed is read.
    fn build(&self, package: &Path) -> Result<(Duration, Vec<u8>)> {
        let started = Instant::now();
        let output = self.command(package).output();
        let took = started.elapsed();
        let output = output.with_context(|| format!("cannot start `{}`", self.program.display()))?;
        ensure!(
            output.status.success(),
            "`{}` cannot build `{}`: {}",
            self.program.display(),
            package.display(),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        Ok((took, output.stdout))
    }

    /// The most memory it had: what the kernel last said of it before it was gone. Looking takes time, so this is
    /// never the run whose time is measured.
    fn peak_memory(&self, package: &Path) -> Result<u64> {
        let mut process = self
            .command(package)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start `{}`", self.program.display()))?;
        let mut peak = 0;
        while process.try_wait()?.is_none() {
            peak = high_water(process.id()).unwrap_or(peak);
            thread::sleep(GLANCE);
        }
        Ok(peak)
    }
}

/// None of a process that has ended.
fn high_water(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
