//! What is measured, and how good it has to be.

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) struct Measure {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    /// Everything else is better when it is less.
    pub(super) more_is_better: bool,
    pub(super) bars: &'static [Bar],
}

#[derive(Clone, Copy)]
pub(super) enum Unit {
    Milliseconds,
    Megabytes,
    Percent,
    PerSecond,
}

/// What ours has to reach.
#[derive(Clone, Copy)]
pub(super) enum Bar {
    AtMost(f64),
    /// So many times better than the real one.
    Times(f64),
}

use Bar::{AtMost, Times};
use Unit::{Megabytes, Milliseconds, PerSecond, Percent};

const fn less(id: &'static str, title: &'static str, unit: Unit, bars: &'static [Bar]) -> Measure {
    Measure {
        id,
        title,
        unit,
        more_is_better: false,
        bars,
    }
}

const fn more(id: &'static str, title: &'static str, unit: Unit, bars: &'static [Bar]) -> Measure {
    Measure {
        more_is_better: true,
        ..less(id, title, unit, bars)
    }
}

/// What `bench pods` measures.
pub(super) const PODS: &[Measure] = &[
    less(
        "system_memory",
        "idle memory, whole system",
        Megabytes,
        &[AtMost(40.0)],
    ),
    less("system_cpu", "idle CPU, whole system", Percent, &[AtMost(0.5)]),
    less(
        "first_line_p50",
        "one pod: submit to its line, p50",
        Milliseconds,
        &[AtMost(90.0)],
    ),
    less(
        "job_running",
        "Job with 100 pods: submit to all running",
        Milliseconds,
        &[AtMost(2000.0)],
    ),
    more("crowd_made", "10,000 pods, 16 clients: made", PerSecond, &[]),
    more(
        "crowd_bound",
        "10,000 pods on 1,000 nodes: bound",
        PerSecond,
        &[Times(1.0)],
    ),
    more(
        "crowd_running",
        "10,000 pods on 1,000 nodes: running",
        PerSecond,
        &[Times(1.0)],
    ),
];

/// What `bench packages` measures.
pub(super) const PACKAGES: &[Measure] = &[
    less("small_time", "small package", Milliseconds, &[Times(10.0)]),
    less("small_memory", "small package: peak memory", Megabytes, &[]),
    less(
        "tree_time",
        "1,000 resources in 10 bases",
        Milliseconds,
        &[Times(5.0)],
    ),
    less(
        "tree_memory",
        "1,000 resources in 10 bases: peak memory",
        Megabytes,
        &[],
    ),
    less(
        "overlays_time",
        "200 overlays of a base",
        Milliseconds,
        &[Times(5.0)],
    ),
    less(
        "overlays_memory",
        "200 overlays of a base: peak memory",
        Megabytes,
        &[],
    ),
    less(
        "patches_time",
        "10,000 lines of patches",
        Milliseconds,
        &[Times(5.0)],
    ),
    less(
        "patches_memory",
        "10,000 lines of patches: peak memory",
        Megabytes,
        &[],
    ),
];

/// What `bench pipelines` measures.
pub(super) const PIPELINES: &[Measure] = &[
    less("chain_step", "a step of a chain of 20", Milliseconds, &[]),
    more(
        "fan_out",
        "steps that begin at once, one workflow",
        PerSecond,
        &[],
    ),
    more("many", "steps of many workflows at a time", PerSecond, &[]),
    less("memory_before", "memory, whole system, before", Megabytes, &[]),
    less(
        "memory_after",
        "memory, whole system, all ended and kept",
        Megabytes,
        &[],
    ),
];

/// What `bench tasks` measures.
pub(super) const TASKS: &[Measure] = &[
    more(
        "renders",
        "renders over HTTP, 8 clients",
        PerSecond,
        &[Times(5.0)],
    ),
    more("renders_alone", "renders over HTTP, 1 client", PerSecond, &[]),
    more("submissions", "submissions, 8 clients", PerSecond, &[Times(5.0)]),
    less("submission_p50", "submission, 8 clients, p50", Milliseconds, &[]),
    less(
        "submission_p99",
        "submission, 8 clients, p99",
        Milliseconds,
        &[AtMost(50.0), Times(2.0)],
    ),
    less(
        "list_p99",
        "list of 50 of all tasks stored, p99",
        Milliseconds,
        &[AtMost(10.0)],
    ),
    less(
        "list_filtered_p99",
        "list of a creator's few among them, p99",
        Milliseconds,
        &[AtMost(50.0)],
    ),
    less(
        "service_memory",
        "memory of the service, all stored",
        Megabytes,
        &[],
    ),
    less(
        "server_memory",
        "memory of the API server, all stored",
        Megabytes,
        &[],
    ),
    less(
        "callback_p50",
        "submission to first callback, p50",
        Milliseconds,
        &[],
    ),
    less(
        "callback_p99",
        "submission to first callback, p99",
        Milliseconds,
        &[],
    ),
    less(
        "last_callback_p99",
        "submission to last callback, p99",
        Milliseconds,
        &[],
    ),
];

/// What `bench serving` measures.
pub(super) const SERVING: &[Measure] = &[
    less("start", "start to the first answer", Milliseconds, &[Times(10.0)]),
    less("memory", "memory after all requests", Megabytes, &[Times(5.0)]),
    less(
        "single_p50",
        "one row, one at a time, p50",
        Milliseconds,
        &[Times(2.0)],
    ),
    less("single_p99", "one row, one at a time, p99", Milliseconds, &[]),
    more(
        "crowd",
        "requests of one row, 16 at a time",
        PerSecond,
        &[Times(2.0)],
    ),
    less(
        "crowd_p99",
        "one row, 16 at a time, p99",
        Milliseconds,
        &[Times(2.0)],
    ),
    more(
        "batches",
        "rows in batches of 256, 4 at a time",
        PerSecond,
        &[Times(1.0)],
    ),
    less("batches_p99", "256 rows, 4 at a time, p99", Milliseconds, &[]),
    less(
        "client_p50",
        "client: one row, p50, the same server",
        Milliseconds,
        &[Times(1.0)],
    ),
    more(
        "client_rows",
        "client: rows in batches of 256, the same server",
        PerSecond,
        &[Times(1.0)],
    ),
];

/// What `bench api` measures.
pub(super) const API: &[Measure] = &[
    less("start_fresh", "start, new directory", Milliseconds, &[]),
    less(
        "start_existing",
        "start, 3,000 pods stored",
        Milliseconds,
        &[AtMost(150.0), Times(15.0)],
    ),
    less("idle_memory", "idle memory", Megabytes, &[AtMost(40.0)]),
    less("idle_cpu", "idle CPU", Percent, &[AtMost(0.5)]),
    less(
        "idle_filled_memory",
        "idle memory, 3,000 pods stored",
        Megabytes,
        &[AtMost(40.0)],
    ),
    less(
        "idle_filled_cpu",
        "idle CPU, 3,000 pods stored",
        Percent,
        &[AtMost(0.5)],
    ),
    more("creates_1", "pod creates, 1 client", PerSecond, &[]),
    more("creates_16", "pod creates, 16 clients", PerSecond, &[Times(8.0)]),
    more("gets_16", "pod gets, 16 clients", PerSecond, &[]),
    less("list_p50", "LIST of 2,000 pods, p50", Milliseconds, &[Times(4.0)]),
    less("list_bytes", "LIST of 2,000 pods, size", Megabytes, &[]),
    less(
        "list_selected_p50",
        "LIST of 200 of them by label, p50",
        Milliseconds,
        &[],
    ),
    less(
        "watch_20_p50",
        "patch to seen by 20 watchers, p50",
        Milliseconds,
        &[],
    ),
    less(
        "watch_20_p99",
        "patch to seen by 20 watchers, p99",
        Milliseconds,
        &[Times(5.0)],
    ),
    less(
        "watch_50_p50",
        "patch to seen by 50 watchers, p50",
        Milliseconds,
        &[],
    ),
    less(
        "watch_50_p99",
        "patch to seen by 50 watchers, p99",
        Milliseconds,
        &[],
    ),
    less(
        "delete_collection",
        "DELETE of 2,000 pods at once",
        Milliseconds,
        &[],
    ),
];

/// The samples of each figure by server.
#[derive(Default)]
pub(super) struct Samples(BTreeMap<String, BTreeMap<String, Vec<f64>>>);

impl Samples {
    pub(super) fn add(&mut self, measure: &str, server: &str, value: f64) {
        let by_server = self.0.entry(measure.to_owned()).or_default();
        by_server.entry(server.to_owned()).or_default().push(value);
    }

    /// Takes over what the load generator printed.
    pub(super) fn merge(&mut self, figures: &Value) {
        for (measure, servers) in figures.as_object().into_iter().flatten() {
            for (server, values) in servers.as_object().into_iter().flatten() {
                for value in values.as_array().into_iter().flatten().filter_map(Value::as_f64) {
                    self.add(measure, server, value);
                }
            }
        }
    }

    pub(super) fn of(&self, measure: &str, server: &str) -> &[f64] {
        let samples = self.0.get(measure).and_then(|servers| servers.get(server));
        samples.map_or(&[], Vec::as_slice)
    }
}
