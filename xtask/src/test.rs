//! The tests of the workspace, with what they need.

mod count;
mod part;
mod programs;
mod progress;
mod side_by_side;
mod slowest;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::ValueEnum;

use count::Counts;
use part::Selection;
use programs::Program;

use crate::{
    real_kubernetes::{self, Component},
    run::{self, cargo, target_dir},
};

#[derive(Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Only these: names of crates (`apiserver`) and of test programs (`pods`, `kubectl`)
    #[arg(value_name = "PART")]
    parts: Vec<String>,

    /// The API that black-box tests run against. With `real`, the tests of the operator, the task service and packages
    /// unless parts are named
    #[arg(long, value_enum, value_name = "SERVER", default_value_t)]
    against: Against,

    /// Show the programs that took longest at the end, with their processor time
    #[arg(long)]
    slowest: bool,

    /// Show everything that the tests print, not only the output of a program that failed
    #[arg(long, short)]
    verbose: bool,

    /// Run this many programs at a time
    #[arg(long, short, value_name = "COUNT", default_value_t = side_by_side::at_a_time())]
    jobs: usize,

    /// Arguments for each test program: part of a test's name, `--nocapture`, `--exact`
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask test                        every test
  cargo xtask test apiserver              the tests of one crate
  cargo xtask test pods -- probes         the tests of one program whose names contain `probes`
  cargo xtask test --against real         the operator, the task service and packages on a real kube-apiserver
  cargo xtask test --slowest              every test, and where the time went";

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Against {
    /// The embedded one
    #[default]
    Ours,
    /// kube-apiserver with etcd, and where nodes are needed, kwok
    Real,
}

/// What a real cluster with simulated nodes is made of.
const REAL: [Component; 6] = [
    Component::Etcd,
    Component::KubeApiserver,
    Component::KubeControllerManager,
    Component::KubeScheduler,
    Component::Kubectl,
    Component::Kwok,
];

/// The tests that say most about a cluster of another make.
const AGAINST_REAL: [&str; 3] = ["operator", "service", "packages"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut parts = arguments.parts.clone();
    if arguments.against == Against::Real {
        for component in REAL {
            real_kubernetes::ensure(component)?;
        }
        if parts.is_empty() {
            parts = AGAINST_REAL.map(str::to_owned).to_vec();
        }
    }
    let begun = Instant::now();
    let selection = Selection::of(&parts)?;
    if selection.compares_packages() {
        ensure_kustomize()?;
    }
    let programs = built(&selection)?;
    let ran = in_programs(&programs, arguments.jobs, arguments.verbose, |tests| {
        if arguments.against == Against::Real {
            tests.env("TRAINYARD_TESTS_AGAINST", "real");
        }
        tests.args(&arguments.arguments);
    })?;
    if arguments.slowest {
        print!("{}", slowest::table(&ran.results));
    }
    ran.close(begun.elapsed())
}

/// Builds what packages are compared with. Where Go or its registry is missing, the comparison is skipped by its test, with
/// the reason; in the merge gate that is a failure.
fn ensure_kustomize() -> Result<()> {
    match real_kubernetes::ensure(Component::Kustomize) {
        Ok(_) => Ok(()),
        Err(error) if run::is_ci() => Err(error),
        Err(error) => {
            eprintln!("kustomize cannot be built: {error:#}");
            Ok(())
        }
    }
}

/// Tests that are ignored otherwise.
pub(crate) fn ignored(prepare: impl Fn(&mut Command) + Sync) -> Result<()> {
    let begun = Instant::now();
    let programs = built(&Selection::of(&[])?)?;
    let ran = in_programs(&programs, side_by_side::at_a_time(), false, |tests| {
        prepare(tests.arg("--ignored"));
    })?;
    ran.close(begun.elapsed())
}

/// The chosen test programs, built. Those that take longest are first, so that none is left alone at the end.
fn built(selection: &Selection) -> Result<Vec<Program>> {
    if selection.drives_the_program() {
        // Cargo builds it for the tests of its own package only.
        run::check(cargo().args([
            "build",
            "--quiet",
            "--no-default-features",
            "--package",
            "trainyard",
        ]))?;
    }
    let mut programs = programs::build(cargo_test().args(selection.cargo_arguments()))?;
    programs.retain(|program| selection.contains(program));
    programs.sort_by_key(Program::place);
    if programs.is_empty() {
        bail!("no test program belongs to these parts");
    }
    Ok(programs)
}

/// What became of all programs.
struct Ran {
    results: Vec<side_by_side::Ran>,
}

impl Ran {
    /// Shows what was skipped and why, and how many tests there were. Fails when one has failed.
    fn close(&self, took: Duration) -> Result<()> {
        let mut counts = Counts::default();
        for ran in &self.results {
            counts.add(&ran.name, &ran.counts);
        }
        let failed: Vec<&str> = self
            .results
            .iter()
            .filter(|ran| !ran.succeeded)
            .map(|ran| ran.name.as_str())
            .collect();
        print!("{}", counts.skips());
        println!(
            "test programs: {}, time: {}",
            self.results.len(),
            progress::duration(took)
        );
        println!("{counts}");
        if !failed.is_empty() {
            bail!("tests failed in {}", failed.join(", "));
        }
        Ok(())
    }
}

/// Runs test programs, each as it is prepared.
fn in_programs(
    programs: &[Program],
    at_a_time: usize,
    verbose: bool,
    prepare: impl Fn(&mut Command) + Sync,
) -> Result<Ran> {
    let trainyard = std::env::var_os(PROGRAM).unwrap_or_else(|| target_dir().join("debug/trainyard").into());
    let results = side_by_side::run(programs, at_a_time, verbose, |tests| {
        prepare(tests.env(PROGRAM, &trainyard));
    })?;
    Ok(Ran { results })
}

/// Tests of the workspace with the features of a development build.
pub(crate) fn cargo_test() -> Command {
    let mut tests = cargo();
    tests.args(["test", "--no-default-features"]);
    tests
}

/// Names the program that real clients are tried on.
pub(crate) const PROGRAM: &str = "TRAINYARD_BIN";

/// Runs the ignored tests of a module of one test program, and shows everything that they print.
pub(crate) fn ignored_of(program: &str, module: &str) -> Result<()> {
    let begun = Instant::now();
    let programs = built(&Selection::of(&[program.to_owned()])?)?;
    let ran = in_programs(&programs, 1, true, |tests| {
        tests.args(["--ignored", module]);
    })?;
    ran.close(begun.elapsed())
}
