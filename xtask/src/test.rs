//! The tests of the workspace, with what they need.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use crate::run::{check, root};

/// Real clients as black boxes: kubectl, helm, the Python client, kube-rs, a client-go program.
const CLIENTS: &str = "client-tests";

pub(crate) fn run() -> Result<()> {
    count(Command::new("cargo").args(["test", "--workspace", "--exclude", CLIENTS]))
}

/// The black-box tests drive the program users get, with clients that take minutes to build.
pub(crate) fn run_clients() -> Result<()> {
    check(
        Command::new("cargo")
            .args(["build", "--package", "trainyard"])
            .current_dir(root()),
    )?;
    count(Command::new("cargo").args(["test", "--package", CLIENTS]))
}

/// Runs tests, shows what they print, and adds up what each test program counted.
fn count(command: &mut Command) -> Result<()> {
    let mut tests = command
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let output = tests.stdout.take().context("cargo has no output")?;
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(output).lines() {
        let line = line.context("cannot read what the tests print")?;
        println!("{line}");
        if let Some(counts) = line.strip_prefix("test result: ") {
            passed += counted(counts, "passed");
            failed += counted(counts, "failed");
        }
    }
    let status = tests.wait().context("cannot wait for cargo")?;
    println!("{passed} passed, {failed} failed");
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
