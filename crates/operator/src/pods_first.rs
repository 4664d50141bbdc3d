//! Where many jobs come at once, the pods of all of them are made before the rest of any: a pod waits for a node,
//! an image and its peers, and the sooner it is there the sooner it has them. Nobody can use an address before its
//! pod has a node, so a job gives way until one of its own has.

use std::{collections::HashMap, convert::Infallible, time::Duration};

use parking_lot::Mutex;
use reconcile::{Key, Queue};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

/// So long a job gives way to the pods of others.
const LONGEST: Duration = Duration::from_secs(30);
/// How often it is looked whether there still are any, for all jobs that give way at once.
const PAUSE: Duration = Duration::from_millis(500);
/// Where pods were made so lately, the next are on their way.
const LATELY: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(crate) struct PodsFirst {
    state: Mutex<State>,
    /// A job gives way.
    is_given: Notify,
}

#[derive(Default)]
struct State {
    /// How many jobs have pods in the making.
    making: usize,
    /// The last two jobs whose pods were made, the later one first, and when.
    made: [Option<(Key, Instant)>; 2],
    /// Jobs that have their pods and have given way.
    patient: HashMap<Key, Patience>,
}

struct Patience {
    until: Instant,
    /// Whether the job is to be woken.
    sleeps: bool,
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

    /// Whether a job that has its pods, with the rest still to be made, gives way now. It is woken when it need not
    /// any more.
    pub(crate) fn gives_way(&self, key: &Key, now: Instant) -> bool {
        let gives_way = self.state.lock().gives_way(key, now);
        if gives_way {
            self.is_given.notify_one();
        }
        gives_way
    }

    /// The same, for a job of which it is not known yet what is to be made.
    pub(crate) fn still_gives_way(&self, key: &Key, now: Instant) -> bool {
        let is_patient = self.state.lock().patient.contains_key(key);
        is_patient && self.gives_way(key, now)
    }

    /// All of the job is made, or it is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.state.lock().patient.remove(key);
    }

    /// Wakes those that need not give way any more. A thousand jobs that look for themselves twice a second would
    /// take from the pods what they leave to them.
    pub(crate) async fn wake(&self, queue: &Queue<Key>) -> Infallible {
        loop {
            self.is_given.notified().await;
            let mut is_needed = true;
            while is_needed {
                sleep(PAUSE).await;
                let mut state = self.state.lock();
                state
                    .woken(Instant::now())
                    .into_iter()
                    .for_each(|key| queue.add(key));
                is_needed = state.patient.values().any(|patience| patience.sleeps);
            }
        }
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
        let gives_way = self.makes_for_another(key, now);
        // Patience that has ended stays so until all is made: who begins anew at each look would never have any.
        let patience = self.patient.entry(key.clone()).or_insert(Patience {
            until: now + LONGEST,
            sleeps: false,
        });
        patience.sleeps = gives_way && now < patience.until;
        patience.sleeps
    }

    /// Those that sleep and need not any more, the most patient first.
    fn woken(&mut self, now: Instant) -> Vec<Key> {
        let sleepers = self.patient.iter().filter(|(_, patience)| patience.sleeps);
        let is_over =
            |(key, patience): &(&Key, &Patience)| now >= patience.until || !self.makes_for_another(key, now);
        let woken = sleepers.filter(is_over);
        let mut woken: Vec<(Instant, Key)> = woken
            .map(|(key, patience)| (patience.until, key.clone()))
            .collect();
        woken.sort_unstable();
        let woken: Vec<Key> = woken.into_iter().map(|(_, key)| key).collect();
        for key in &woken {
            if let Some(patience) = self.patient.get_mut(key) {
                patience.sleeps = false;
            }
        }
        woken
    }

    fn makes_for_another(&self, key: &Key, now: Instant) -> bool {
        self.making > 0 || self.has_lately_made_for_another(key, now)
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

    #[tokio::test(start_paused = true)]
    async fn a_job_that_gives_way_is_woken_when_the_pods_of_others_are_made() {
        let (order, queue, job, other) = (PodsFirst::default(), Queue::new(), job(), other());
        let others = order.making(&other);
        assert!(order.gives_way(&job, Instant::now()));
        tokio::select! {
            never = order.wake(&queue) => match never {},
            () = sleep(LONGEST / 2) => assert!(queue.is_empty(), "there are pods in the making"),
        }
        drop(others);
        // Whoever is awake is not woken again, and whoever is gone not at all.
        assert!(order.gives_way(&Key::new("default", "gone"), Instant::now()));
        order.forget(&Key::new("default", "gone"));
        tokio::select! {
            never = order.wake(&queue) => match never {},
            () = sleep(PAUSE * 4) => assert_eq!(queue.len(), 1),
        }
        assert!(order.state.lock().woken(Instant::now()).is_empty());
        assert!(!order.still_gives_way(&job, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_whose_patience_has_ended_is_woken_while_others_go_on() {
        let (order, queue, job, other) = (PodsFirst::default(), Queue::new(), job(), other());
        let _others = order.making(&other);
        assert!(order.gives_way(&job, Instant::now()));
        tokio::select! {
            never = order.wake(&queue) => match never {},
            () = sleep(LONGEST + PAUSE * 2) => assert_eq!(queue.len(), 1),
        }
    }
}
