//! What the operator counts, under the names that dashboards know from the original operators and from
//! controller-runtime.

mod families;
mod histogram;

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use parking_lot::Mutex;

use families::{ALL, Family, Sort};
use histogram::Histogram;

pub(crate) use families::{
    CREATED_POD_GROUPS, CREATED_PODS, DELETED_POD_GROUPS, DELETED_PODS, FAILED_PODS, FAILED_SERVICES,
    IS_LEADER, JOBS_CREATED, JOBS_DELETED, JOBS_FAILED, JOBS_RESTARTED, JOBS_SUCCESSFUL, MPI_JOB_INFO,
    MPI_JOBS_CREATED, MPI_JOBS_FAILED, MPI_JOBS_RESTARTED, MPI_JOBS_SUCCESSFUL, QUEUE_DEPTH,
    SERVICES_CREATED,
};

/// `name="value"`, joined by commas.
type Labels = String;

/// Reads a figure when it is asked for.
type Gauge = Box<dyn Fn() -> Vec<(Labels, f64)> + Send + Sync>;

/// A cheap handle; clones count together.
#[derive(Clone, Default)]
pub struct Metrics {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    counters: Mutex<BTreeMap<(&'static str, Labels), u64>>,
    histograms: Mutex<BTreeMap<(&'static str, Labels), Histogram>>,
    gauges: Mutex<Vec<(&'static str, Gauge)>>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Metrics")
    }
}

impl Metrics {
    pub(crate) fn count(&self, family: &Family, labels: &[(&str, &str)]) {
        self.add(family, labels, 1);
    }

    fn add(&self, family: &Family, labels: &[(&str, &str)], number: u64) {
        let mut counters = self.shared.counters.lock();
        *counters.entry((family.name, written(labels))).or_default() += number;
    }

    /// Shows a figure from now on; what was shown before under other names of the family stays.
    pub(crate) fn show(
        &self,
        family: &Family,
        read: impl Fn() -> Vec<(Labels, f64)> + Send + Sync + 'static,
    ) {
        self.shared.gauges.lock().push((family.name, Box::new(read)));
    }

    /// Figures of a leader that leads no more.
    pub(crate) fn forget_figures(&self) {
        self.shared.gauges.lock().clear();
    }

    pub(crate) fn reconciled(&self, controller: &str, took: Duration, is_success: bool) {
        let labels = [("controller", controller)];
        let mut histograms = self.shared.histograms.lock();
        let histogram = histograms.entry((families::RECONCILE_TIME.name, written(&labels)));
        histogram.or_default().observe(took.as_secs_f64());
        drop(histograms);
        let result = if is_success { "success" } else { "error" };
        self.count(
            &families::RECONCILES,
            &[("controller", controller), ("result", result)],
        );
    }

    pub(crate) fn requested(&self, method: &str, code: Option<u16>) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.count(&families::REQUESTS, &[("code", &code), ("method", method)]);
    }

    /// In Prometheus' text form.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for family in ALL {
            let _ = writeln!(text, "# HELP {} {}", family.name, family.help);
            let _ = writeln!(text, "# TYPE {} {}", family.name, family.sort.name());
            self.write_family(&mut text, family);
        }
        text
    }

    fn write_family(&self, text: &mut String, family: &Family) {
        match family.sort {
            Sort::Counter { is_labelled } => {
                let counters = self.shared.counters.lock();
                let mut is_empty = true;
                for ((_, labels), count) in of_family(&counters, family) {
                    write_sample(text, family.name, labels, &count.to_string());
                    is_empty = false;
                }
                if is_empty && !is_labelled {
                    write_sample(text, family.name, "", "0");
                }
            }
            Sort::Gauge { is_labelled } => {
                let gauges = self.shared.gauges.lock();
                let mut samples: BTreeMap<Labels, f64> = BTreeMap::new();
                for (_, read) in gauges.iter().filter(|(name, _)| *name == family.name) {
                    for (labels, value) in read() {
                        *samples.entry(labels).or_default() += value;
                    }
                }
                // A process that waits for its turn is asked too, and answers with what it is not.
                if samples.is_empty() && !is_labelled {
                    write_sample(text, family.name, "", "0");
                }
                for (labels, value) in samples {
                    write_sample(text, family.name, &labels, &value.to_string());
                }
            }
            Sort::Histogram => {
                let histograms = self.shared.histograms.lock();
                for ((_, labels), histogram) in of_family(&histograms, family) {
                    histogram.write(text, family.name, labels);
                }
            }
        }
    }
}

fn of_family<'a, T>(
    all: &'a BTreeMap<(&'static str, Labels), T>,
    family: &Family,
) -> impl Iterator<Item = (&'a (&'static str, Labels), &'a T)> {
    let name = family.name;
    all.iter().filter(move |((of, _), _)| *of == name)
}

fn write_sample(text: &mut String, name: &str, labels: &str, value: &str) {
    let _ = if labels.is_empty() {
        writeln!(text, "{name} {value}")
    } else {
        writeln!(text, "{name}{{{labels}}} {value}")
    };
}

/// Labels as they stand between braces.
pub(crate) fn written(labels: &[(&str, &str)]) -> Labels {
    let escape = |value: &str| {
        value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
        .collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_shown_under_their_names_and_those_without_labels_from_the_start() {
        let metrics = Metrics::default();
        let labels = [("job_namespace", "team"), ("framework", "pytorch")];
        metrics.count(&JOBS_CREATED, &labels);
        metrics.count(&JOBS_CREATED, &labels);
        let text = metrics.text();
        assert!(text.contains(
            "# TYPE training_operator_jobs_created_total counter\n\
             training_operator_jobs_created_total{job_namespace=\"team\",framework=\"pytorch\"} 2\n"
        ));
        assert!(text.contains("\ncreated_pods_total 0\n"));
        assert!(!text.contains("training_operator_jobs_failed_total{"));
    }

    #[test]
    fn times_are_counted_in_every_bucket_that_holds_them() {
        let metrics = Metrics::default();
        metrics.reconciled("tfjob-controller", Duration::from_millis(7), true);
        metrics.reconciled("tfjob-controller", Duration::from_millis(70), false);
        let text = metrics.text();
        let bucket = |le: &str| {
            format!(
                "controller_runtime_reconcile_time_seconds_bucket{{controller=\"tfjob-controller\",le=\"{le}\"}}"
            )
        };
        assert!(text.contains(&format!("{} 0\n", bucket("0.005"))), "{text}");
        assert!(text.contains(&format!("{} 1\n", bucket("0.01"))));
        assert!(text.contains(&format!("{} 2\n", bucket("+Inf"))));
        assert!(text.contains(
            "controller_runtime_reconcile_total{controller=\"tfjob-controller\",result=\"error\"} 1\n"
        ));
    }

    #[test]
    fn figures_of_the_same_name_are_added_up() {
        let metrics = Metrics::default();
        for depth in [1.0, 2.0] {
            metrics.show(&QUEUE_DEPTH, move || vec![(written(&[("name", "a")]), depth)]);
        }
        assert!(metrics.text().contains("workqueue_depth{name=\"a\"} 3\n"));
        metrics.forget_figures();
        assert!(!metrics.text().contains("workqueue_depth{"));
    }

    #[test]
    fn a_process_that_does_not_lead_says_so() {
        let metrics = Metrics::default();
        assert!(metrics.text().contains("\nmpi_operator_is_leader 0\n"));
        metrics.show(&IS_LEADER, || vec![(String::new(), 1.0)]);
        assert!(metrics.text().contains("\nmpi_operator_is_leader 1\n"));
        metrics.forget_figures();
        assert!(metrics.text().contains("\nmpi_operator_is_leader 0\n"));
    }
}
