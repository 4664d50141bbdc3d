//! What autoscalers and the scheduler say of pods that wait, in events.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Event;
use kube::{Api, api::ListParams};
use reconcile::Key;

use crate::{
    controller::Controller,
    plan::{Hint, Pod, Task},
};

/// Events of a pod are asked for so often at most.
const EVERY: Duration = Duration::from_secs(10);

/// What was heard last of the pods of a task, and when.
#[derive(Default)]
pub(crate) struct Heard {
    by_task: HashMap<Key, (Instant, Vec<Hint>)>,
}

impl Heard {
    pub(crate) fn forget(&mut self, key: &Key) {
        self.by_task.remove(key);
    }
}

impl Controller {
    /// What is said of the first pod without a node. That nobody can be asked is no reason to stop.
    pub(crate) async fn heard_of(&self, task: &Task, pods: &[Pod]) -> Vec<Hint> {
        if !self.options.has_autoscaler {
            return Vec::new();
        }
        let key = Key::new(&task.namespace, &task.name);
        if let Some((at, hints)) = self.hints.lock().by_task.get(&key)
            && at.elapsed() < EVERY
        {
            return hints.clone();
        }
        let waiting = pods.iter().filter(|pod| pod.unscheduled.is_some());
        let Some(pod) = waiting.min_by(|one, other| one.name.cmp(&other.name)) else {
            return Vec::new();
        };
        let api: Api<Event> = Api::namespaced(self.world.client.clone(), &task.namespace);
        let parameters = ListParams::default().fields(&format!("involvedObject.uid={}", pod.uid));
        let hints = match api.list(&parameters).await {
            Ok(list) => hints(list.items, &pod.uid),
            Err(error) => {
                tracing::debug!(%error, "the events of a pod cannot be read");
                Vec::new()
            }
        };
        self.hints
            .lock()
            .by_task
            .insert(key, (Instant::now(), hints.clone()));
        hints
    }
}

/// The last word last.
fn hints(mut events: Vec<Event>, uid: &str) -> Vec<Hint> {
    events.sort_by_key(|event| {
        let last = event.last_timestamp.as_ref().or(event.first_timestamp.as_ref());
        last.map(|time| time.0)
            .or(event.event_time.as_ref().map(|time| time.0))
    });
    let hint = |event: Event| {
        let source = event.source.and_then(|source| source.component);
        Hint {
            pod_uid: uid.to_owned(),
            reason: event.reason.unwrap_or_default(),
            message: event.message.unwrap_or_default(),
            reporter: event
                .reporting_component
                .filter(|name| !name.is_empty())
                .or(source)
                .unwrap_or_default(),
        }
    };
    events.into_iter().map(hint).collect()
}
