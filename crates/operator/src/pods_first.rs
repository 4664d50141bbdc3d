//! Where many jobs come at once, the pods of all of them are made before the rest of any: a pod waits for a node,
//! an image and its peers, and the sooner it is there the sooner it has them. Nobody can use an address before its
//! pod has a node, so a job gives way until one of its own has.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use reconcile::Key;

/// So long a job gives way to the pods of others.
const LONGEST: Duration = Duration::from_secs(30);
/// When it looks again whether there still are any.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);
/// Where pods were made so lately, the next are on their way.
const LATELY: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(crate) struct PodsFirst {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many jobs have pods in the making.
    making: usize,
    /// The last two jobs whose pods were made, the later one first, and when.
    made: [Option<(Key, Instant)>; 2],
    /// Jobs that have their pods and give way, and until when.
    patient: HashMap<Key, Instant>,
}

/// Pods in the making.
pub(crate) struct Making<'a> {
    order: &'a PodsFirst,
    job: &'a Key,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.order.state.lock().made(self.job, Instant::now());
    }
}

impl PodsFirst {
    pub(crate) fn making<'a>(&'a self, job: &'a Key) -> Making<'a> {
        self.state.lock().making += 1;
        Making { order: self, job }
    }

    /// Whether a job that has its pods, with the rest still to be made, gives way now.
    pub(crate) fn gives_way(&self, key: &Key, now: Instant) -> bool {
        self.state.lock().gives_way(key, now)
    }

    /// The same, for a job of which it is not known yet what is to be made.
    pub(crate) fn still_gives_way(&self, key: &Key, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.patient.contains_key(key) && state.gives_way(key, now)
    }

    /// All of the job is made, or it is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.state.lock().patient.remove(key);
    }
}

impl State {
    fn made(&mut self, job: &Key, now: Instant) {
        self.making -= 1;
        let [last, before] = &mut self.made;
        if last.as_ref().is_some_and(|(key, _)| key != job) {
            *before = last.take();
        }
        *last = Some((job.clone(), now));
    }

    fn gives_way(&mut self, key: &Key, now: Instant) -> bool {
        // Patience that has ended stays so until all is made: who begins anew at each look would never have any.
        let until = *self.patient.entry(key.clone()).or_insert(now + LONGEST);
        (self.making > 0 || self.has_lately_made_for_another(key, now)) && now < until
    }

    fn has_lately_made_for_another(&self, key: &Key, now: Instant) -> bool {
        let mut made = self.made.iter().flatten();
        made.any(|(job, at)| job != key && now.saturating_duration_since(*at) < LATELY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Key {
        Key::new("default", "job")
    }

    fn other() -> Key {
        Key::new("default", "other")
    }

    #[test]
    fn a_job_gives_way_while_pods_of_others_are_made_and_a_moment_longer() {
        let (order, now, job, other) = (PodsFirst::default(), Instant::now(), job(), other());
        let others = order.making(&other);
        assert!(order.gives_way(&job, now));
        assert!(order.still_gives_way(&job, now));
        drop(others);
        assert!(order.still_gives_way(&job, Instant::now()));
        assert!(!order.still_gives_way(&job, Instant::now() + LATELY));
    }

    #[test]
    fn a_job_does_not_wait_for_pods_of_its_own() {
        let (order, job, other) = (PodsFirst::default(), job(), other());
        drop(order.making(&job));
        assert!(!order.gives_way(&job, Instant::now()));
        // For those of another it does, although it was the last to have some.
        drop(order.making(&other));
        drop(order.making(&job));
        assert!(order.gives_way(&job, Instant::now()));
    }

    #[test]
    fn a_job_that_never_had_to_is_not_held_up() {
        let (order, now, other) = (PodsFirst::default(), Instant::now(), other());
        let _others = order.making(&other);
        assert!(!order.still_gives_way(&job(), now));
    }

    #[test]
    fn patience_ends() {
        let (order, now, other) = (PodsFirst::default(), Instant::now(), other());
        let _others = order.making(&other);
        assert!(order.gives_way(&job(), now));
        assert!(order.gives_way(&job(), now + LONGEST / 2));
        assert!(!order.still_gives_way(&job(), now + LONGEST));
        assert!(!order.gives_way(&job(), now + LONGEST));
        order.forget(&job());
        assert!(order.state.lock().patient.is_empty());
    }
}
