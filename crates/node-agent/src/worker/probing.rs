//! The probes of a pod's containers, and what their results change.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::{Happening, Worker, reach::Reach};
use crate::{
    container,
    lifecycle::{Record, State, roles},
    probes::{self, News, Report, Standing, Subject},
};

/// How many results may wait to be heard.
const WAITING: usize = 16;

impl Worker {
    /// Begins to probe a container that runs. Without probes it is as ready as it will ever be.
    pub(super) fn probe(&mut self, name: &str, is_adopted: bool) {
        let Some(live) = &self.live else { return };
        let Some(container) = container::find(&self.pod, name) else {
            return;
        };
        let Some(record) = self.book.records.get_mut(name) else {
            return;
        };
        let State::Running { since } = record.state else {
            return;
        };
        let standing = if is_adopted {
            known(record, Standing::new(&container))
        } else {
            Standing::new(&container)
        };
        stand(record, standing);
        let reach = Reach::new(&self.agent, &self.pod, live);
        let subject = Subject {
            container,
            attempt: record.attempts.saturating_sub(1),
            pod_address: reach.address().to_string(),
            age: Duration::try_from(Timestamp::now().duration_since(since)).unwrap_or_default(),
            standing,
            is_adopted,
        };
        let (reports, mut heard) = mpsc::channel(WAITING);
        let Some(watch) = probes::watch(subject, Arc::new(reach), reports) else {
            return;
        };
        self.probes.insert(name.to_owned(), watch);
        let tell = self.tell.clone();
        // Ends with the watch, who holds the other end.
        self.jobs.spawn(async move {
            while let Some(report) = heard.recv().await {
                let _ = tell.send(Happening::Probed(report));
            }
        });
        self.tell_probes_of_ending();
    }

    pub(super) fn probed(&mut self, report: Report) {
        let Report {
            container: name,
            attempt,
            news,
        } = report;
        let is_init = roles::init(&self.pod).iter().any(|init| init.name == name);
        let is_restarted = is_init || roles::is_restarted_after_failure(&self.pod);
        let Some(record) = self.book.records.get_mut(&name) else {
            return;
        };
        // It is about a run that is over.
        if record.attempts != attempt + 1 || !record.is_running() {
            return;
        }
        match news {
            News::Event { reason, message } => {
                let events = &self.agent.events;
                events.warning_of_container(&self.pod, &name, reason, message);
            }
            News::Standing(standing) => {
                stand(record, standing);
                if let Some(kind) = standing.condemned_by {
                    record.doom = Some(probes::doom(&name, kind, is_init, is_restarted));
                }
            }
        }
    }

    /// Whoever ends is only asked whether it is still ready.
    pub(super) fn tell_probes_of_ending(&self) {
        if self.pod.metadata.deletion_timestamp.is_some() {
            self.probes.values().for_each(probes::Watch::pod_is_ending);
        }
    }
}

fn known(record: &Record, fresh: Standing) -> Standing {
    Standing {
        is_started: fresh.is_started || record.is_started,
        is_ready: fresh.is_ready || record.is_ready,
        condemned_by: None,
    }
}

fn stand(record: &mut Record, standing: Standing) {
    record.is_started = standing.is_started;
    record.is_ready = standing.is_ready;
}
