//! What was measured, as figures.

use std::time::Duration;

/// One request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Counted from 1.
    pub number: usize,
    pub rows: usize,
    pub correct: usize,
    pub took: Duration,
    /// Requests that were sent for it.
    pub attempts: u32,
    pub is_warm_up: bool,
}

impl Iteration {
    /// Of 100.
    pub fn accuracy(&self) -> f64 {
        percent(self.correct, self.rows)
    }
}

/// How long answers took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    pub mean: Duration,
    pub p50: Duration,
    pub p90: Duration,
    pub p99: Duration,
    pub longest: Duration,
}

/// The figures of a run. Latency and throughput are of what came after the warm-up; right answers count from the
/// start, as they have nothing to do with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub iterations: usize,
    pub measured: usize,
    pub rows: usize,
    pub correct: usize,
    pub retries: u32,
    /// None where nothing came after the warm-up.
    pub latency: Option<Latency>,
    /// Rows a second.
    pub throughput: Option<f64>,
    pub requests_per_second: Option<f64>,
}

impl Summary {
    /// Of 100; none where nothing was answered.
    pub fn accuracy(&self) -> Option<f64> {
        (self.rows > 0).then(|| percent(self.correct, self.rows))
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// `window` is the time from the first request after the warm-up to the last answer.
pub(crate) fn summary(iterations: &[Iteration], window: Duration) -> Summary {
    let measured: Vec<&Iteration> = iterations
        .iter()
        .filter(|iteration| !iteration.is_warm_up)
        .collect();
    let rows: usize = measured.iter().map(|iteration| iteration.rows).sum();
    let seconds = Some(window.as_secs_f64()).filter(|seconds| !measured.is_empty() && *seconds > 0.0);
    Summary {
        iterations: iterations.len(),
        measured: measured.len(),
        rows: iterations.iter().map(|iteration| iteration.rows).sum(),
        correct: iterations.iter().map(|iteration| iteration.correct).sum(),
        retries: iterations
            .iter()
            .map(|iteration| iteration.attempts.saturating_sub(1))
            .sum(),
        latency: latency(measured.iter().map(|iteration| iteration.took).collect()),
        throughput: seconds.map(|seconds| rows as f64 / seconds),
        requests_per_second: seconds.map(|seconds| measured.len() as f64 / seconds),
    }
}

fn latency(mut times: Vec<Duration>) -> Option<Latency> {
    times.sort_unstable();
    let longest = *times.last()?;
    // The shortest time that so many of a hundred do not exceed.
    let percentile = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    Some(Latency {
        mean: times.iter().sum::<Duration>() / times.len() as u32,
        p50: percentile(50),
        p90: percentile(90),
        p99: percentile(99),
        longest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iteration(
        number: usize,
        rows: usize,
        correct: usize,
        milliseconds: u64,
        is_warm_up: bool,
    ) -> Iteration {
        Iteration {
            number,
            rows,
            correct,
            took: Duration::from_millis(milliseconds),
            attempts: 1,
            is_warm_up,
        }
    }

    #[test]
    fn the_warm_up_counts_for_accuracy_only() {
        let iterations = [
            iteration(1, 4, 4, 9000, true),
            iteration(2, 4, 2, 10, false),
            iteration(3, 2, 1, 30, false),
        ];
        let summary = summary(&iterations, Duration::from_millis(50));
        assert_eq!(
            (
                summary.iterations,
                summary.measured,
                summary.rows,
                summary.correct
            ),
            (3, 2, 10, 7)
        );
        assert_eq!(summary.accuracy(), Some(70.0));
        let latency = summary.latency.unwrap();
        assert_eq!(
            (latency.mean, latency.longest),
            (Duration::from_millis(20), Duration::from_millis(30))
        );
        // A short last batch counts by its rows.
        assert_eq!(summary.throughput, Some(120.0));
        assert_eq!(summary.requests_per_second, Some(40.0));
    }

    #[test]
    fn nothing_after_the_warm_up_is_no_figure() {
        let summary = summary(&[iteration(1, 1, 1, 5, true)], Duration::ZERO);
        assert_eq!((summary.latency, summary.throughput), (None, None));
        assert_eq!(summary.accuracy(), Some(100.0));
    }

    #[test]
    fn nothing_at_all_is_no_figure() {
        let summary = summary(&[], Duration::ZERO);
        assert_eq!((summary.accuracy(), summary.latency), (None, None));
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = (1..=100).map(Duration::from_millis).collect();
        let found = latency(times).unwrap();
        let milliseconds = [found.p50, found.p90, found.p99].map(|time| time.as_millis());
        assert_eq!(milliseconds, [50, 90, 99]);
        let found = latency(vec![Duration::from_millis(7)]).unwrap();
        assert_eq!(
            (found.p50, found.p99),
            (Duration::from_millis(7), Duration::from_millis(7))
        );
    }
}
