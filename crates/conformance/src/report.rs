//! What a run of the suite comes to: a table of areas and servers, and every failure.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::{Check, Difference, Run};

/// The server that is right by definition; no difference excuses it.
const REFERENCE: &str = "real";

/// The results of all servers.
#[derive(Debug)]
pub struct Report {
    /// Server names with their results, in the order of the checks.
    pub servers: Vec<(String, Vec<Run>)>,
    pub differences: Vec<Difference>,
}

#[derive(Default)]
struct Count {
    passed: usize,
    known: usize,
    failed: usize,
}

impl Report {
    /// Whether everything is as it should be: no failure that is not listed, nothing listed that passes.
    pub fn is_good(&self) -> bool {
        self.failures().next().is_none() && self.stale().is_empty()
    }

    fn difference(&self, server: &str, check: &Check) -> Option<&Difference> {
        let listed =
            |difference: &&Difference| difference.area == check.area && difference.name == check.name;
        self.differences
            .iter()
            .find(listed)
            .filter(|_| server != REFERENCE)
    }

    /// Failures that nothing excuses.
    fn failures(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.runs()
            .filter(|(server, run)| run.outcome.is_err() && self.difference(server, &run.check).is_none())
    }

    fn runs(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.servers
            .iter()
            .flat_map(|(server, runs)| runs.iter().map(move |run| (server.as_str(), run)))
    }

    /// Listed differences whose check ran and passed on a server the list is about.
    fn stale(&self) -> Vec<&Difference> {
        let passes = |difference: &&Difference| {
            let mut runs = self
                .runs()
                .filter(|(server, _)| *server != REFERENCE)
                .filter(|(_, run)| run.check.area == difference.area && run.check.name == difference.name)
                .peekable();
            runs.peek().is_some() && runs.all(|(_, run)| run.outcome.is_ok())
        };
        self.differences.iter().filter(passes).collect()
    }

    /// The whole report for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (server, run) in self.failures() {
            let _ = writeln!(text, "FAILED on {server}: {}: {}", run.check.area, run.check.name);
            if let Err(failure) = &run.outcome {
                let _ = writeln!(text, "{}\n", indented(&failure.to_string()));
            }
        }
        for difference in self.stale() {
            let _ = writeln!(
                text,
                "STALE: {}: {}\n  listed as a difference, but it passes\n",
                difference.area, difference.name
            );
        }
        text.push_str(&self.table());
        text
    }

    fn table(&self) -> String {
        let counts: Vec<BTreeMap<&str, Count>> = self
            .servers
            .iter()
            .map(|(server, runs)| self.count(server, runs))
            .collect();
        let mut areas: Vec<&str> = Vec::new();
        for (_, run) in self.runs() {
            if !areas.contains(&run.check.area) {
                areas.push(run.check.area);
            }
        }
        let mut text = format!("{:28}", "area");
        self.servers
            .iter()
            .for_each(|(server, _)| _ = write!(text, "{server:>24}"));
        text.push('\n');
        for area in areas.iter().copied().chain(["total"]) {
            let _ = write!(text, "{area:28}");
            for counts in &counts {
                let _ = write!(text, "{:>24}", cell(counts, area));
            }
            text.push('\n');
        }
        text
    }

    fn count<'a>(&self, server: &str, runs: &'a [Run]) -> BTreeMap<&'a str, Count> {
        let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
        for run in runs {
            let count = counts.entry(run.check.area).or_default();
            match (&run.outcome, self.difference(server, &run.check)) {
                (Ok(()), _) => count.passed += 1,
                (Err(_), Some(_)) => count.known += 1,
                (Err(_), None) => count.failed += 1,
            }
        }
        counts
    }

    /// The whole report for programs.
    pub fn json(&self) -> Value {
        let mut checks: BTreeMap<(&str, &str), Value> = BTreeMap::new();
        for (server, run) in self.runs() {
            let entry = checks
                .entry((run.check.area, run.check.name))
                .or_insert_with(|| json!({"area": run.check.area, "name": run.check.name, "results": {}}));
            let known = self
                .difference(server, &run.check)
                .map(|difference| difference.reason.as_str());
            entry["results"][server] = result(run, known);
        }
        let stale: Vec<&str> = self
            .stale()
            .iter()
            .map(|difference| difference.name.as_str())
            .collect();
        json!({"good": self.is_good(), "checks": checks.into_values().collect::<Vec<_>>(), "stale": stale})
    }
}

fn result(run: &Run, known: Option<&str>) -> Value {
    let milliseconds = run.took.as_millis() as u64;
    match &run.outcome {
        Ok(()) => json!({"passed": true, "milliseconds": milliseconds}),
        Err(failure) => json!({
            "passed": false, "milliseconds": milliseconds, "knownDifference": known,
            "request": failure.request, "expected": failure.expected, "got": failure.got,
        }),
    }
}

fn cell(counts: &BTreeMap<&str, Count>, area: &str) -> String {
    let chosen: Vec<&Count> = if area == "total" {
        counts.values().collect()
    } else {
        counts.get(area).into_iter().collect()
    };
    let (mut passed, mut known, mut failed) = (0, 0, 0);
    for count in chosen {
        passed += count.passed;
        known += count.known;
        failed += count.failed;
    }
    let mut text = format!("{passed} passed");
    if known > 0 {
        let _ = write!(text, ", {known} known");
    }
    if failed > 0 {
        let _ = write!(text, ", {failed} FAILED");
    }
    text
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
