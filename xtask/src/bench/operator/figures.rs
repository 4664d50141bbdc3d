//! What was measured of operators, and which bars ours misses.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::{Contender, Run};
use crate::{
    bench::report::median,
    operators::{
        Limits::{AsShipped, Raised},
        Operator::{Mpi, Ours, Training},
    },
    servers::Side,
};

#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    pub(super) pods_per_second: f64,
    pub(super) requests_per_job: f64,
    /// In milliseconds.
    pub(super) reconcile_p99: Option<f64>,
    pub(super) megabytes: Option<f64>,
    /// What one more idle job takes, where there were enough of them to tell.
    pub(super) kilobytes_per_job: Option<f64>,
}

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

/// What one run gave in each of its rounds.
struct Row {
    run: Run,
    rounds: Vec<Figures>,
}

impl Row {
    /// The medians of the rounds; memory a job is told by the first alone.
    fn figures(&self) -> Figures {
        let of = |figure: fn(&Figures) -> Option<f64>| {
            let known: Vec<f64> = self.rounds.iter().filter_map(figure).collect();
            median(&known)
        };
        Figures {
            seconds: of(|figures| Some(figures.seconds)).unwrap_or_default(),
            pods_per_second: of(|figures| Some(figures.pods_per_second)).unwrap_or_default(),
            requests_per_job: of(|figures| Some(figures.requests_per_job)).unwrap_or_default(),
            reconcile_p99: of(|figures| figures.reconcile_p99),
            megabytes: of(|figures| figures.megabytes),
            kilobytes_per_job: of(|figures| figures.kilobytes_per_job),
        }
    }
}

/// What ours has to reach: so many times the pods a second of another.
const BARS: [(Side, &str, Contender, f64); 5] = [
    (Side::Real, "pytorch", Contender::An(Training(Raised)), 3.0),
    (Side::Real, "pytorch", Contender::An(Training(AsShipped)), 50.0),
    (Side::Real, "mpi", Contender::An(Mpi(Raised)), 3.0),
    (Side::Real, "mpi", Contender::An(Mpi(AsShipped)), 50.0),
    (Side::Ours, "pytorch", Contender::An(Training(Raised)), 10.0),
];
const KILOBYTES_PER_JOB: f64 = 10.0;
/// What is enough of the server's own limit where that is less than three times the originals: a client alone need not
/// hear of jobs and pods, nor think about them.
const ENOUGH: f64 = 0.75;

/// Pods a second of ours beside those of another, and what the same server allows a client alone where that counts.
struct Comparison {
    ours: f64,
    theirs: f64,
    most: Option<f64>,
}

impl Comparison {
    fn times(&self) -> f64 {
        self.ours / self.theirs
    }

    fn is_met(&self, least: f64) -> bool {
        self.times() >= least || self.most.is_some_and(|most| self.ours >= most * ENOUGH)
    }

    fn text(&self, least: f64) -> String {
        let Some(most) = self.most else {
            return format!("(bar {least}×)");
        };
        format!(
            "and {:.0} % of the {:.1}× that the server allows a client alone (bar {least}× or {:.0} %)",
            100.0 * self.ours / most,
            most / self.theirs,
            100.0 * ENOUGH
        )
    }
}

impl Figures {
    pub(super) fn text(&self) -> String {
        let p99 = self
            .reconcile_p99
            .map_or_else(|| "–".to_owned(), |p99| format!("≤ {p99:.0} ms"));
        let per_job = self
            .kilobytes_per_job
            .map_or_else(|| "–".to_owned(), |used| format!("{used:.1} kB"));
        let memory = self
            .megabytes
            .map_or_else(|| "–".to_owned(), |used| format!("{used:.0} MB"));
        format!(
            "{:>8.2} {:>8.0} {:>9.1} {:>9} {:>8} {:>8}",
            self.seconds, self.pods_per_second, self.requests_per_job, p99, memory, per_job,
        )
    }
}

impl Table {
    pub(super) fn add(&mut self, run: Run, figures: Figures) {
        match self.rows.iter_mut().find(|row| row.run == run) {
            Some(row) => row.rounds.push(figures),
            None => self.rows.push(Row {
                run,
                rounds: vec![figures],
            }),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{:<72} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8}\n",
            "", "seconds", "pods/s", "requests", "p99", "memory", "per job"
        );
        for row in &self.rows {
            text.push_str(&format!("{:<72} {}\n", row.run.title(), row.figures().text()));
        }
        text.push('\n');
        for (bar, is_met) in self.bars() {
            text.push_str(&format!("{} {bar}\n", if is_met { "✓" } else { "✗" }));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let figures = row.figures();
            let rounds: Vec<f64> = row.rounds.iter().map(|round| round.pods_per_second).collect();
            json!({
                "run": row.run.title(),
                "podsPerSecondOfRounds": rounds,
                "seconds": figures.seconds,
                "podsPerSecond": figures.pods_per_second,
                "requestsPerJob": figures.requests_per_job,
                "reconcileP99Milliseconds": figures.reconcile_p99,
                "megabytes": figures.megabytes,
                "kilobytesPerJob": figures.kilobytes_per_job,
            })
        });
        let bars = self.bars();
        let bars = bars
            .iter()
            .map(|(bar, is_met)| json!({"bar": bar, "met": is_met}));
        json!({"runs": rows.collect::<Vec<_>>(), "bars": bars.collect::<Vec<_>>()})
    }

    pub(super) fn check(&self) -> Result<()> {
        let missed: Vec<String> = self
            .bars()
            .into_iter()
            .filter_map(|(bar, is_met)| (!is_met).then_some(bar))
            .collect();
        if !missed.is_empty() {
            bail!("missed: {}", missed.join("; "));
        }
        Ok(())
    }

    /// Those for which enough was measured.
    fn bars(&self) -> Vec<(String, bool)> {
        let mut bars = Vec::new();
        for (server, kind, other, least) in BARS {
            let ours = self.rate(server, Contender::An(Ours), kind);
            let theirs = self.rate(Side::Real, other, kind);
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                let is_limited = server == Side::Real && !other.is_throttled();
                let most = self.rate(server, Contender::Client, kind).filter(|_| is_limited);
                let compared = Comparison { ours, theirs, most };
                let place = if server == Side::Real { "there" } else { "on ours" };
                let (times, asked) = (compared.times(), compared.text(least));
                let bar = format!("{kind}: {times:.1}× {}, {place} {asked}", other.name());
                bars.push((bar, compared.is_met(least)));
            }
        }
        let ours = |row: &&Row| row.run.contender == Contender::An(Ours);
        for row in self.rows.iter().filter(ours) {
            let Some(used) = row.figures().kilobytes_per_job else {
                continue;
            };
            let title = row.run.title();
            let bar = format!("{title}: {used:.1} kB a job (bar {KILOBYTES_PER_JOB} kB)");
            bars.push((bar, used < KILOBYTES_PER_JOB));
        }
        bars
    }

    fn rate(&self, server: Side, contender: Contender, kind: &str) -> Option<f64> {
        let found = self.rows.iter().find(|Row { run, .. }| {
            run.server == server && run.contender == contender && run.task.kind == kind && run.task.jobs > 1
        });
        found.map(|row| row.figures().pods_per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(ours: f64, theirs: f64, most: Option<f64>) -> Comparison {
        Comparison { ours, theirs, most }
    }

    #[test]
    fn a_bar_is_no_higher_than_most_of_what_the_server_allows() {
        assert!(compared(300.0, 100.0, None).is_met(3.0));
        assert!(!compared(299.0, 100.0, None).is_met(3.0));
        assert!(!compared(299.0, 100.0, Some(500.0)).is_met(3.0));
        assert!(compared(300.0, 100.0, Some(500.0)).is_met(3.0));
        assert!(compared(200.0, 100.0, Some(250.0)).is_met(3.0));
        assert!(!compared(180.0, 100.0, Some(250.0)).is_met(3.0));
    }

    #[test]
    fn both_multiples_are_told() {
        assert_eq!(compared(200.0, 100.0, None).text(3.0), "(bar 3×)");
        assert_eq!(
            compared(200.0, 100.0, Some(250.0)).text(3.0),
            "and 80 % of the 2.5× that the server allows a client alone (bar 3× or 75 %)"
        );
    }
}
