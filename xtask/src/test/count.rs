//! How many tests passed, failed and were skipped, by what test programs print.

use std::{
    fmt,
    io::{BufRead as _, BufReader},
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result};

#[derive(Default)]
pub(super) struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Runs tests, shows what they print, and adds up what each test program counted.
    pub(super) fn of(&mut self, command: &mut Command) -> Result<ExitStatus> {
        let mut tests = command
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start cargo")?;
        let output = tests.stdout.take().context("cargo has no output")?;
        for line in BufReader::new(output).lines() {
            self.read(&line.context("cannot read what the tests print")?);
        }
        tests.wait().context("cannot wait for cargo")
    }

    /// Shows a line of a test program, and counts what it says.
    pub(super) fn read(&mut self, line: &str) {
        println!("{line}");
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += counted(counts, "passed");
            self.failed += counted(counts, "failed");
        } else if line.contains("skipped: ") {
            self.skipped += 1;
        }
    }
}

/// The closing line of all tests. One that was skipped has told so and passed.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.passed.saturating_sub(self.skipped);
        write!(
            f,
            "{passed} passed, {} failed, {} skipped",
            self.failed, self.skipped
        )
    }
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
    fn counts_are_read_from_the_closing_lines() {
        let mut counts = Counts::default();
        for line in [
            "skipped: a_test: there is no kubectl",
            "test result: ok. 28 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
        ] {
            counts.read(line);
        }
        assert_eq!(counts.to_string(), "29 passed, 3 failed, 1 skipped");
    }
}
