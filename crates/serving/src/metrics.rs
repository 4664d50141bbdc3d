//! What is counted, in Prometheus' text form.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;

use crate::{catalogue::VersionStatus, failure::Code};

const SECONDS: [f64; 14] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
];
const ROWS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

#[derive(Clone)]
struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
    count: u64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len()],
            sum: 0.0,
            count: 0,
        }
    }

    fn observe(&mut self, value: f64) {
        for (bound, count) in self.bounds.iter().zip(&mut self.counts) {
            if value <= *bound {
                *count += 1;
            }
        }
        self.sum += value;
        self.count += 1;
    }

    fn write(&self, text: &mut String, name: &str, labels: &str) {
        let separator = if labels.is_empty() { "" } else { "," };
        for (bound, count) in self.bounds.iter().zip(&self.counts) {
            let _ = writeln!(text, "{name}_bucket{{{labels}{separator}le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(
            text,
            "{name}_bucket{{{labels}{separator}le=\"+Inf\"}} {}",
            self.count
        );
        let braces = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{labels}}}")
        };
        let _ = writeln!(text, "{name}_sum{braces} {}", self.sum);
        let _ = writeln!(text, "{name}_count{braces} {}", self.count);
    }
}

/// Protocol, method.
type Way = (&'static str, &'static str);

pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(Way, Code), u64>>,
    took: Mutex<BTreeMap<Way, Histogram>>,
    batches: Mutex<(Histogram, Histogram)>,
    turned_away: AtomicU64,
}

/// Figures that are read when they are asked for.
pub(crate) struct Figures {
    pub(crate) model: String,
    pub(crate) waiting: usize,
    pub(crate) versions: Vec<VersionStatus>,
    pub(crate) bytes: usize,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            requests: Mutex::default(),
            took: Mutex::default(),
            batches: Mutex::new((Histogram::new(&ROWS), Histogram::new(&SECONDS))),
            turned_away: AtomicU64::new(0),
        }
    }

    pub(crate) fn answered(&self, way: Way, code: Code, took: Duration) {
        *self.requests.lock().entry((way, code)).or_default() += 1;
        let mut all = self.took.lock();
        let histogram = all.entry(way).or_insert_with(|| Histogram::new(&SECONDS));
        histogram.observe(took.as_secs_f64());
    }

    pub(crate) fn batched(&self, rows: usize, waits: impl Iterator<Item = Duration>) {
        let mut batches = self.batches.lock();
        batches.0.observe(rows as f64);
        for wait in waits {
            batches.1.observe(wait.as_secs_f64());
        }
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn text(&self, figures: &Figures) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, write: &mut dyn FnMut(&mut String, &str)| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            write(&mut text, name);
        };
        let way = |(protocol, method): &Way| format!("protocol=\"{protocol}\",method=\"{method}\"");
        family(
            "trainyard_serving_requests_total",
            "counter",
            "Requests that were answered, by code.",
            &mut |text, name| {
                for ((from, code), count) in self.requests.lock().iter() {
                    let _ = writeln!(text, "{name}{{{},code=\"{}\"}} {count}", way(from), code.name());
                }
            },
        );
        family(
            "trainyard_serving_request_seconds",
            "histogram",
            "From the whole request to its answer.",
            &mut |text, name| {
                for (from, histogram) in self.took.lock().iter() {
                    histogram.write(text, name, &way(from));
                }
            },
        );
        family(
            "trainyard_serving_batch_rows",
            "histogram",
            "Rows that were answered together.",
            &mut |text, name| self.batches.lock().0.write(text, name, ""),
        );
        family(
            "trainyard_serving_queue_seconds",
            "histogram",
            "How long requests waited for a worker.",
            &mut |text, name| self.batches.lock().1.write(text, name, ""),
        );
        family(
            "trainyard_serving_queue_requests",
            "gauge",
            "Requests that wait for a worker.",
            &mut |text, name| {
                let _ = writeln!(text, "{name} {}", figures.waiting);
            },
        );
        family(
            "trainyard_serving_turned_away_total",
            "counter",
            "Requests that found the queue full.",
            &mut |text, name| {
                let _ = writeln!(text, "{name} {}", self.turned_away.load(Ordering::Relaxed));
            },
        );
        family(
            "trainyard_serving_model_bytes",
            "gauge",
            "Memory of the variables of all versions that answer.",
            &mut |text, name| {
                let _ = writeln!(text, "{name} {}", figures.bytes);
            },
        );
        family(
            "trainyard_serving_model_version",
            "gauge",
            "What has become of each version.",
            &mut |text, name| {
                for version in &figures.versions {
                    let _ = writeln!(
                        text,
                        "{name}{{model=\"{}\",version=\"{}\",state=\"{}\"}} 1",
                        escaped(&figures.model),
                        version.version,
                        version.state.name()
                    );
                }
            },
        );
        text
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
