//! How many tests passed, failed and were skipped, by what test programs print.

use std::{collections::BTreeSet, fmt};

/// Tests of one or more programs.
#[derive(Default)]
pub(super) struct Counts {
    passed: u64,
    failed: u64,
    /// A line for each test that was skipped: its name and the reason.
    skipped: BTreeSet<String>,
}

impl Counts {
    /// Counts what a line of a test program says.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += counted(counts, "passed");
            self.failed += counted(counts, "failed");
        } else if let Some((_, skipped)) = line.split_once("skipped: ") {
            self.skipped.insert(skipped.to_owned());
        }
    }

    /// Adds the tests of a program.
    pub(super) fn add(&mut self, program: &str, tests: &Self) {
        self.passed += tests.passed;
        self.failed += tests.failed;
        let skipped = tests.skipped.iter();
        self.skipped
            .extend(skipped.map(|skipped| format!("{program}: {skipped}")));
    }

    pub(super) fn total(&self) -> u64 {
        self.passed + self.failed
    }

    /// What was skipped and why, a line each.
    pub(super) fn skips(&self) -> String {
        let lines = self.skipped.iter().map(|skipped| format!("skipped: {skipped}\n"));
        lines.collect()
    }
}

/// The closing line. A test that was skipped has passed for its program.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.skipped.len() as u64;
        let passed = self.passed.saturating_sub(skipped);
        write!(f, "{passed} passed, {} failed, {skipped} skipped", self.failed)
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
        let mut all = Counts::default();
        all.add("pods", &counts);
        assert_eq!(all.to_string(), counts.to_string());
        assert_eq!(all.skips(), "skipped: pods: a_test: there is no kubectl\n");
    }
}
