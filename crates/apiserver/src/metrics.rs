//! Counters of the API server in Prometheus' text form.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use http::StatusCode;
use parking_lot::Mutex;

use crate::{api::Api, request_info::RequestInfo};

/// Upper bounds of the request duration buckets, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Distinct label sets are bounded: names of resources come from clients.
const MAX_SERIES: usize = 2000;

#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(String, String, u16), u64>>,
    durations: Mutex<BTreeMap<String, Histogram>>,
    in_flight: Arc<AtomicI64>,
    watches: Arc<AtomicI64>,
    /// What others in this process measure.
    others: Mutex<Vec<Told>>,
}

/// Says what somebody has measured, in Prometheus' text form.
type Told = Box<dyn Fn() -> String + Send + Sync>;

#[derive(Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// A request being measured.
pub struct Timer {
    verb: String,
    resource: String,
    started: Instant,
    _counted: Counted,
}

/// Counts something until it is dropped: many requests end with their client, without an answer.
pub(crate) struct Counted(Arc<AtomicI64>);

impl Counted {
    fn new(count: &Arc<AtomicI64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tasks that have not ended. Each has memory of its own, so they must not grow with what is stored.
fn tasks() -> usize {
    tokio::runtime::Handle::try_current().map_or(0, |runtime| runtime.metrics().num_alive_tasks())
}

impl Metrics {
    pub fn start(&self, info: &RequestInfo) -> Timer {
        let (verb, resource) = match info {
            RequestInfo::Resource(request) if request.is_stream() => {
                ("connect".to_owned(), request.resource.clone())
            }
            RequestInfo::Resource(request) => (request.verb.to_owned(), request.resource.clone()),
            RequestInfo::NonResource { verb, .. } => ((*verb).to_owned(), String::new()),
        };
        Timer {
            verb,
            resource,
            started: Instant::now(),
            _counted: Counted::new(&self.in_flight),
        }
    }

    /// Shows behind its own what somebody else in this process measures.
    pub fn add(&self, told: impl Fn() -> String + Send + Sync + 'static) {
        self.others.lock().push(Box::new(told));
    }

    /// Counts an open watch.
    pub(crate) fn watch(&self) -> Counted {
        Counted::new(&self.watches)
    }

    pub fn finish(&self, timer: Timer, code: StatusCode) {
        let seconds = timer.started.elapsed().as_secs_f64();
        if timer.verb != "watch" {
            let mut durations = self.durations.lock();
            let histogram = durations.entry(timer.verb.clone()).or_default();
            histogram.count += 1;
            histogram.sum += seconds;
            for (bucket, bound) in histogram.buckets.iter_mut().zip(BUCKETS) {
                *bucket += u64::from(seconds <= bound);
            }
        }
        let mut requests = self.requests.lock();
        let resource = if code == StatusCode::NOT_FOUND || requests.len() >= MAX_SERIES {
            String::new()
        } else {
            timer.resource
        };
        *requests.entry((timer.verb, resource, code.as_u16())).or_default() += 1;
    }

    pub fn render(&self, api: &Api) -> String {
        let mut text = String::new();
        text.push_str("# HELP apiserver_request_total Requests by verb, resource and status code.\n# TYPE apiserver_request_total counter\n");
        for ((verb, resource, code), count) in &*self.requests.lock() {
            let _ = writeln!(
                text,
                "apiserver_request_total{{verb=\"{}\",resource=\"{}\",code=\"{code}\"}} {count}",
                verb.to_uppercase(),
                resource.replace(['\\', '"', '\n'], "_")
            );
        }
        text.push_str("# HELP apiserver_request_duration_seconds Time to answer, by verb; watches left out.\n# TYPE apiserver_request_duration_seconds histogram\n");
        for (verb, histogram) in &*self.durations.lock() {
            let verb = verb.to_uppercase();
            for (bucket, bound) in histogram.buckets.iter().zip(BUCKETS) {
                let _ = writeln!(
                    text,
                    "apiserver_request_duration_seconds_bucket{{verb=\"{verb}\",le=\"{bound}\"}} {bucket}"
                );
            }
            let _ = writeln!(
                text,
                "apiserver_request_duration_seconds_bucket{{verb=\"{verb}\",le=\"+Inf\"}} {}",
                histogram.count
            );
            let _ = writeln!(
                text,
                "apiserver_request_duration_seconds_sum{{verb=\"{verb}\"}} {}",
                histogram.sum
            );
            let _ = writeln!(
                text,
                "apiserver_request_duration_seconds_count{{verb=\"{verb}\"}} {}",
                histogram.count
            );
        }
        let _ = write!(
            text,
            "# HELP apiserver_current_inflight_requests Requests being answered.\n# TYPE apiserver_current_inflight_requests gauge\napiserver_current_inflight_requests {}\n# HELP apiserver_longrunning_requests Streams that are open.\n# TYPE apiserver_longrunning_requests gauge\napiserver_longrunning_requests{{verb=\"WATCH\"}} {}\n# HELP trainyard_store_revision The newest revision of the store.\n# TYPE trainyard_store_revision gauge\ntrainyard_store_revision {}\n# HELP trainyard_store_history_bytes What is kept of states that have passed, for watches that resume.\n# TYPE trainyard_store_history_bytes gauge\ntrainyard_store_history_bytes {}\n# HELP trainyard_tasks What the process works on or waits for: requests, watches, pods that have not ended.\n# TYPE trainyard_tasks gauge\ntrainyard_tasks {}\n",
            self.in_flight.load(Ordering::Relaxed),
            self.watches.load(Ordering::Relaxed),
            api.store.revision(),
            api.store.history_bytes(),
            tasks(),
        );
        self.others.lock().iter().for_each(|told| text += &told());
        text
    }
}
