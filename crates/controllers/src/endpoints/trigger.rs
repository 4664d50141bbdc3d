//! The moment something happened that makes endpoints change, by which their delay is measured.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use reconcile::Key;

use crate::pods::health;

/// What was known of each service when it was looked at last.
#[derive(Default)]
pub(crate) struct Triggers {
    services: HashMap<Key, BTreeMap<String, Timestamp>>,
}

impl Triggers {
    /// The earliest change since the last look; for a service never seen, its creation.
    pub(crate) fn since_last_look(
        &mut self,
        key: &Key,
        service: &Service,
        pods: &[Arc<Pod>],
    ) -> Option<String> {
        let times: BTreeMap<String, Timestamp> = pods
            .iter()
            .filter_map(|pod| Some((pod.metadata.name.clone()?, changed(pod)?)))
            .collect();
        let news = match self.services.get(key) {
            None => service.metadata.creation_timestamp.as_ref().map(|time| time.0),
            Some(known) => {
                let newer = times.iter().filter(|(name, time)| known.get(*name) < Some(time));
                newer.map(|(_, time)| *time).min()
            }
        };
        self.services.insert(key.clone(), times);
        news.map(|time| time.to_string())
    }

    pub(crate) fn forget(&mut self, key: &Key) {
        self.services.remove(key);
    }
}

fn changed(pod: &Pod) -> Option<Timestamp> {
    let ready = health::condition(pod, "Ready")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, second: i64) -> Arc<Pod> {
        let time = Timestamp::from_second(second).unwrap();
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": time});
        let pod = json!({"metadata": {"name": name}, "status": {"conditions": [ready]}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn the_first_look_tells_of_the_service_and_later_ones_of_what_is_new() {
        let service: Service =
            serde_json::from_value(json!({"metadata": {"creationTimestamp": "1970-01-01T00:00:05Z"}}))
                .unwrap();
        let key = Key::new("n", "s");
        let mut triggers = Triggers::default();
        let mut look = |pods: &[Arc<Pod>]| triggers.since_last_look(&key, &service, pods);
        assert_eq!(look(&[pod("a", 7)]).as_deref(), Some("1970-01-01T00:00:05Z"));
        assert_eq!(look(&[pod("a", 7)]), None);
        assert_eq!(
            look(&[pod("a", 7), pod("b", 9), pod("c", 8)]).as_deref(),
            Some("1970-01-01T00:00:08Z")
        );
    }
}
