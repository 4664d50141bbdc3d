//! The tests of the workspace, with what they need.

mod count;
mod programs;
mod side_by_side;

use std::process::Command;

use anyhow::{Result, bail};
use clap::ValueEnum;

use count::Counts;
use programs::Program;

use crate::{
    real_kubernetes::{self, Component},
    run::{cargo, is_installed, target_dir},
};

#[derive(Default, clap::Args)]
pub(crate) struct Arguments {
    /// The API that black-box tests run against. With `real`, those of the operator, the task service
    /// and packages unless others are named
    #[arg(long, value_enum, value_name = "SERVER", default_value_t)]
    against: Against,

    /// What else `cargo test` is told: `--test kubectl`, `-- --nocapture`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    cargo: Vec<String>,
}

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
    if arguments.against == Against::Ours && arguments.cargo.is_empty() {
        return all();
    }
    let mut tests = cargo_test();
    tests.args(&arguments.cargo);
    if arguments.against == Against::Real {
        for component in REAL {
            real_kubernetes::ensure(component)?;
        }
        tests.env("TRAINYARD_TESTS_AGAINST", "real");
        if arguments.cargo.is_empty() {
            for name in AGAINST_REAL {
                tests.args(["--test", name]);
            }
        }
    }
    count(&mut tests)
}

/// Every test there is.
fn all() -> Result<()> {
    // What packages are compared with; without Go their test says that it has nothing to compare with.
    if is_installed("go") {
        real_kubernetes::ensure(Component::Kustomize)?;
    }
    let programs = built()?;
    let mut counts = Counts::default();
    let ran = in_programs(&programs, &mut counts, |_| {});
    let documented = counts.of(cargo_test().arg("--doc"))?;
    println!("{counts}");
    ran?;
    if !documented.success() {
        bail!("the examples in the documentation failed: {documented}");
    }
    Ok(())
}

/// Tests that are ignored otherwise.
pub(crate) fn ignored(prepare: impl Fn(&mut Command) + Sync) -> Result<()> {
    let programs = built()?;
    let mut counts = Counts::default();
    let ran = in_programs(&programs, &mut counts, |tests| prepare(tests.arg("--ignored")));
    println!("{counts}");
    ran
}

/// The test programs of the workspace. Those that take long are first, so that none is left alone at the end.
fn built() -> Result<Vec<Program>> {
    let mut programs = programs::build(&mut cargo_test())?;
    programs.sort_by_key(|program| !program.drives_clusters());
    Ok(programs)
}

/// Runs test programs, each as it is prepared.
fn in_programs(
    programs: &[Program],
    counts: &mut Counts,
    prepare: impl Fn(&mut Command) + Sync,
) -> Result<()> {
    // Cargo has built it for the tests of its package. When only some are wanted, those that need it build it
    // themselves.
    let trainyard = std::env::var_os(PROGRAM).unwrap_or_else(|| target_dir().join("debug/trainyard").into());
    let failed = side_by_side::run(programs, counts, |tests| prepare(tests.env(PROGRAM, &trainyard)))?;
    if !failed.is_empty() {
        let names: Vec<String> = failed.into_iter().map(side_by_side::name).collect();
        bail!("tests failed in {}", names.join(", "));
    }
    Ok(())
}

/// The whole workspace at once, so that each dependency is built once, with one set of features.
pub(crate) fn cargo_test() -> Command {
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--no-fail-fast"]);
    tests
}

/// Names the program that real clients are tried on.
pub(crate) const PROGRAM: &str = "TRAINYARD_BIN";

/// Runs tests, shows what they print, and adds up what each test program counted.
pub(crate) fn count(command: &mut Command) -> Result<()> {
    let mut counts = Counts::default();
    let status = counts.of(command)?;
    println!("{counts}");
    if !status.success() {
        bail!("the tests failed: {status}");
    }
    Ok(())
}
