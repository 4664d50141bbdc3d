//! The tests of the workspace, with what they need.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

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
    } else if arguments.cargo.is_empty() && std::env::var_os(PROGRAM).is_none() {
        // For the tests of `trainyard` cargo builds the program, before any test runs. When only some are
        // wanted, those that need it build it themselves.
        tests.env(PROGRAM, target_dir().join("debug/trainyard"));
        // What packages are compared with; without Go their test says that it has nothing to compare with.
        if is_installed("go") {
            real_kubernetes::ensure(Component::Kustomize)?;
        }
    }
    count(&mut tests)
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
    let mut tests = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let output = tests.stdout.take().context("cargo has no output")?;
    let (mut passed, mut failed, mut skipped) = (0_u64, 0, 0);
    for line in BufReader::new(output).lines() {
        let line = line.context("cannot read what the tests print")?;
        println!("{line}");
        if let Some(counts) = line.strip_prefix("test result: ") {
            passed += counted(counts, "passed");
            failed += counted(counts, "failed");
        } else if line.contains("skipped: ") {
            skipped += 1;
        }
    }
    let status = tests.wait().context("cannot wait for cargo")?;
    println!(
        "{} passed, {failed} failed, {skipped} skipped",
        passed.saturating_sub(skipped)
    );
    if !status.success() {
        bail!("the tests failed: {status}");
    }
    Ok(())
}

/// The number before a word: `ok. 28 passed; 0 failed; ...`.
fn counted(counts: &str, word: &str) -> u64 {
    let mut words = counts.split([' ', ';']).filter(|part| !part.is_empty());
    let mut before = "";
    words
        .find_map(|part| {
            let number = (part == word).then(|| before.parse().ok());
            before = part;
            number
        })
        .flatten()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_closing_line() {
        let line = "ok. 28 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        assert_eq!((counted(line, "passed"), counted(line, "failed")), (28, 3));
    }
}
