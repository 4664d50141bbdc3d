//! Ending a container: its preStop hook, a polite signal, and in the end one that cannot be ignored.

use std::time::Duration;

use containers::client::{self, Sandbox};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};

use super::{Happening, Worker, hooks, reach::Reach};
use crate::{container, lifecycle::State};

const TERMINATE: i32 = 15;
const KILL: i32 = 9;
/// What a container gets at least after its hook has used up the grace period.
const LEAST_GRACE: SignedDuration = SignedDuration::from_secs(2);

impl Worker {
    pub(super) fn stop(&mut self, name: &str, grace: Duration, why: String, now: Timestamp) {
        let kill = SignedDuration::try_from(grace)
            .ok()
            .and_then(|grace| now.saturating_add(grace).ok())
            .unwrap_or(now);
        self.look_at(Some(kill));
        let Some(record) = self.book.records.get_mut(name) else {
            return;
        };
        match record.state {
            State::Running { since } => {
                record.state = State::Stopping { since, kill };
                self.agent.events.of_container(&self.pod, name, "Killing", why);
                self.ask(name, kill);
            }
            State::Stopping { since, kill: before } => {
                record.state = State::Stopping {
                    since,
                    kill: kill.min(before),
                };
            }
            _ => {}
        }
    }

    /// After a restart of the agent: hooks and signals that may not have been given are given again.
    pub(super) fn resume(&mut self) {
        let records = self.book.records.clone();
        for (name, record) in records {
            match record.state {
                State::Stopping { kill, .. } => self.ask(&name, kill),
                // Whether its postStart hook passed nobody will tell us; it runs.
                State::Running { .. } => self.probe(&name, true),
                _ => {}
            }
        }
    }

    fn ask(&mut self, name: &str, kill: Timestamp) {
        if let Some(launching) = self.launching.take_if(|launching| launching.container == name) {
            launching.abort();
        }
        let Some(live) = &self.live else { return };
        let Some(container) = container::find(&self.pod, name) else {
            return;
        };
        let polite = self.book.stop_signals.get(name).copied().unwrap_or(TERMINATE);
        let (pod, tell) = (self.pod.clone(), self.tell.clone());
        let reach = Reach::new(&self.agent, &self.pod, live);
        self.jobs.spawn(async move {
            before_stop(&reach, &pod, &container, kill).await;
            signal(&reach.live.sandbox, &container.name, polite).await;
            let container = container.name;
            let _ = tell.send(Happening::Asked { container });
        });
    }

    /// The signal was given; whatever its hook took, the container has a moment to follow it.
    pub(super) fn asked(&mut self, name: &str) {
        let Some(record) = self.book.records.get_mut(name) else {
            return;
        };
        let asked_for_mercy = self.pod.metadata.deletion_grace_period_seconds != Some(0);
        if let State::Stopping { since, kill } = record.state
            && asked_for_mercy
            && let Ok(least) = Timestamp::now().saturating_add(LEAST_GRACE)
        {
            record.state = State::Stopping {
                since,
                kill: kill.max(least),
            };
        }
    }

    pub(super) async fn kill(&mut self, name: &str) {
        if let Some(live) = &self.live {
            signal(&live.sandbox, name, KILL).await;
        }
    }
}

async fn before_stop(reach: &Reach, pod: &Pod, container: &Container, kill: Timestamp) {
    let lifecycle = container.lifecycle.as_ref();
    let Some(hook) = lifecycle.and_then(|lifecycle| lifecycle.pre_stop.as_ref()) else {
        return;
    };
    let left = kill
        .duration_since(Timestamp::now())
        .try_into()
        .unwrap_or_default();
    let problem = match tokio::time::timeout(left, hooks::run(reach, container, hook, left)).await {
        Ok(Ok(())) => return,
        Ok(Err(problem)) => problem,
        Err(_) => "it took longer than the grace period".to_owned(),
    };
    let note = format!("PreStopHook failed: {problem}");
    let events = &reach.agent.events;
    events.warning_of_container(pod, &container.name, "FailedPreStopHook", note);
}

async fn signal(sandbox: &Sandbox, container: &str, signal: i32) {
    match sandbox.signal(container, signal).await {
        // It has ended by itself, or with its sandbox.
        Ok(()) | Err(client::Error::Refused(_) | client::Error::Gone { .. }) => {}
        Err(error) => tracing::warn!(%error, container, signal, "a signal was not delivered"),
    }
}
