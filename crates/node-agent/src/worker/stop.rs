//! Ending a container: its preStop hook, a polite signal, and in the end one that cannot be ignored.

use std::time::Duration;

use containers::client::{self, Sandbox};
use jiff::{SignedDuration, Timestamp};

use super::{Happening, Worker, hooks};
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
                // Its postStart hook was under way; nobody will tell us how it went.
                State::Running { .. } if !record.is_started => {
                    if let Some(record) = self.book.records.get_mut(&name) {
                        record.is_started = true;
                        record.is_ready = true;
                    }
                }
                _ => {}
            }
        }
    }

    fn ask(&mut self, name: &str, kill: Timestamp) {
        if let Some((_, launch)) = self.launching.take_if(|(launching, _)| launching == name) {
            launch.abort();
        }
        let Some(live) = self.live.clone() else { return };
        let container = container::find(&self.pod, name);
        let hook = container.and_then(|container| container.lifecycle?.pre_stop);
        let (agent, pod, tell) = (self.agent.clone(), self.pod.clone(), self.tell.clone());
        let name = name.to_owned();
        self.jobs.spawn(async move {
            if let Some(hook) = hook {
                let left = kill
                    .duration_since(Timestamp::now())
                    .try_into()
                    .unwrap_or_default();
                let run = hooks::run(&live.sandbox, &name, &hook);
                let outcome = tokio::time::timeout(left, run).await;
                let problem = match outcome {
                    Ok(Ok(())) => None,
                    Ok(Err(problem)) => Some(problem),
                    Err(_) => Some("it took longer than the grace period".to_owned()),
                };
                if let Some(problem) = problem {
                    let note = format!("PreStopHook failed: {problem}");
                    agent
                        .events
                        .warning_of_container(&pod, &name, "FailedPreStopHook", note);
                }
            }
            signal(&live.sandbox, &name, TERMINATE).await;
            let _ = tell.send(Happening::Asked { container: name });
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

async fn signal(sandbox: &Sandbox, container: &str, signal: i32) {
    match sandbox.signal(container, signal).await {
        // It has ended by itself, or with its sandbox.
        Ok(()) | Err(client::Error::Refused(_) | client::Error::Gone { .. }) => {}
        Err(error) => tracing::warn!(%error, container, signal, "a signal was not delivered"),
    }
}
