//! Where many jobs come at once, the pods of all of them are made before the rest of any: a pod waits for a node,
//! an image and its peers, and the sooner it is there the sooner it has them. Nobody can use an address before its
//! pod runs.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use reconcile::Key;

/// So long a job gives way to the pods of others.
const LONGEST: Duration = Duration::from_secs(10);
/// When it looks again whether there still are any.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct PodsFirst {
    /// How many jobs have pods in the making.
    making: AtomicUsize,
    /// Jobs that have their pods and give way, and until when.
    patient: Mutex<HashMap<Key, Instant>>,
}

/// Pods in the making.
pub(crate) struct Making<'a>(&'a PodsFirst);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.making.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PodsFirst {
    pub(crate) fn making(&self) -> Making<'_> {
        self.making.fetch_add(1, Ordering::Relaxed);
        Making(self)
    }

    /// Whether a job that has its pods, with the rest still to be made, gives way now.
    pub(crate) fn gives_way(&self, key: &Key, now: Instant) -> bool {
        let mut patient = self.patient.lock();
        let until = *patient.entry(key.clone()).or_insert(now + LONGEST);
        let gives_way = self.making.load(Ordering::Relaxed) > 0 && now < until;
        if !gives_way {
            patient.remove(key);
        }
        gives_way
    }

    /// The same, for a job of which it is not known yet what is to be made.
    pub(crate) fn still_gives_way(&self, key: &Key, now: Instant) -> bool {
        self.patient.lock().contains_key(key) && self.gives_way(key, now)
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.patient.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Key {
        Key::new("default", "job")
    }

    #[test]
    fn a_job_gives_way_while_pods_of_others_are_made() {
        let (order, now) = (PodsFirst::default(), Instant::now());
        let others = order.making();
        assert!(order.gives_way(&job(), now));
        assert!(order.still_gives_way(&job(), now));
        drop(others);
        assert!(!order.still_gives_way(&job(), now));
    }

    #[test]
    fn a_job_that_never_had_to_is_not_held_up() {
        let (order, now) = (PodsFirst::default(), Instant::now());
        let _others = order.making();
        assert!(!order.still_gives_way(&job(), now));
    }

    #[test]
    fn patience_ends() {
        let (order, now) = (PodsFirst::default(), Instant::now());
        let _others = order.making();
        assert!(order.gives_way(&job(), now));
        assert!(order.gives_way(&job(), now + LONGEST / 2));
        assert!(!order.still_gives_way(&job(), now + LONGEST));
        assert!(order.patient.lock().is_empty());
    }
}
