//! Keys that wait for their turn. A key is in the queue once, however often it is added, so the queue
//! is never longer than the number of objects.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// A cheap handle; clones are the same queue.
pub struct Queue<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

struct State<T> {
    ready: VecDeque<T>,
    /// What is in `ready`.
    waiting: HashSet<T>,
    /// What is being worked on, and whether it was added again meanwhile.
    running: HashMap<T, bool>,
    timers: BTreeSet<(Instant, T)>,
    timer_of: HashMap<T, Instant>,
    failures: HashMap<T, u32>,
    is_closed: bool,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T: Clone + Eq + Hash + Ord> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone + Eq + Hash + Ord> Queue<T> {
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    ready: VecDeque::new(),
                    waiting: HashSet::new(),
                    running: HashMap::new(),
                    timers: BTreeSet::new(),
                    timer_of: HashMap::new(),
                    failures: HashMap::new(),
                    is_closed: false,
                }),
                changed: Notify::new(),
            }),
        }
    }

    /// Asks for the key to be worked on; after the present work on it, if there is any.
    pub fn add(&self, key: T) {
        self.shared.state.lock().add(key);
        self.shared.changed.notify_one();
    }

    /// Asks for the key to be worked on in a while, or earlier if that was asked for already.
    pub fn add_after(&self, key: T, wait: Duration) {
        self.shared.state.lock().set_timer(key, Instant::now() + wait);
        self.shared.changed.notify_one();
    }

    /// How many keys wait for their turn now; those that wait for a time are not among them.
    pub fn len(&self) -> usize {
        self.shared.state.lock().ready.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nobody gets another key; what is being worked on is finished.
    pub fn close(&self) {
        self.shared.state.lock().is_closed = true;
        self.shared.changed.notify_one();
    }

    /// The next key whose turn it is. It stays taken until [`Queue::done`]. None when the queue is closed.
    pub(crate) async fn next(&self) -> Option<T> {
        loop {
            let changed = self.shared.changed.notified();
            let until = {
                let mut state = self.shared.state.lock();
                if state.is_closed {
                    // The other workers are to hear of it too.
                    self.shared.changed.notify_one();
                    return None;
                }
                state.fire_timers(Instant::now());
                if let Some(key) = state.take() {
                    // Another worker may have something to do as well.
                    self.shared.changed.notify_one();
                    return Some(key);
                }
                state.timers.first().map(|(at, _)| *at)
            };
            match until {
                Some(at) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Work on the key has ended. After failures it comes back by itself, later each time.
    pub(crate) fn done(&self, key: T, outcome: Outcome) {
        self.shared.state.lock().done(key, outcome, Instant::now());
        self.shared.changed.notify_one();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Again(Duration),
    Failed,
}

const FIRST_RETRY: Duration = Duration::from_millis(5);
const LONGEST_RETRY: Duration = Duration::from_mins(1);

impl<T: Clone + Eq + Hash + Ord> State<T> {
    fn add(&mut self, key: T) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = true;
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn set_timer(&mut self, key: T, at: Instant) {
        match self.timer_of.get(&key) {
            Some(earlier) if *earlier <= at => return,
            Some(later) => {
                self.timers.remove(&(*later, key.clone()));
            }
            None => {}
        }
        self.timer_of.insert(key.clone(), at);
        self.timers.insert((at, key));
    }

    fn fire_timers(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.timers.pop_first() {
                self.timer_of.remove(&key);
                self.add(key);
            }
        }
    }

    fn take(&mut self) -> Option<T> {
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone(), false);
        Some(key)
    }

    fn done(&mut self, key: T, outcome: Outcome, now: Instant) {
        let was_added_again = self.running.remove(&key).unwrap_or_default();
        match outcome {
            Outcome::Failed => {
                let failures = self.failures.entry(key.clone()).or_default();
                let wait = retry_after(*failures);
                *failures += 1;
                self.set_timer(key.clone(), now + wait);
            }
            Outcome::Again(wait) => {
                self.failures.remove(&key);
                self.set_timer(key.clone(), now + wait);
            }
            Outcome::Done => {
                self.failures.remove(&key);
            }
        }
        if was_added_again {
            self.add(key);
        }
    }
}

/// Doubles from five milliseconds to a minute.
fn retry_after(failures: u32) -> Duration {
    FIRST_RETRY
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(LONGEST_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_added_twice_is_worked_on_once() {
        let queue = Queue::new();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next().await, Some("a"));
        assert_eq!(queue.next().await, Some("b"));
        assert!(queue.shared.state.lock().ready.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_during_its_work_comes_again_afterwards() {
        let queue = Queue::new();
        queue.add("a");
        let key = queue.next().await.unwrap();
        queue.add("a");
        assert!(queue.shared.state.lock().ready.is_empty());
        queue.done(key, Outcome::Done);
        assert_eq!(queue.next().await, Some("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_come_back_later_each_time_until_one_succeeds() {
        let queue = Queue::new();
        queue.add("a");
        let mut waits = Vec::new();
        for _ in 0..16 {
            let start = Instant::now();
            let key = queue.next().await.unwrap();
            waits.push(start.elapsed().as_millis());
            queue.done(key, Outcome::Failed);
        }
        assert_eq!(waits[..4], [0, 5, 10, 20]);
        assert_eq!(waits[15], 60_000);
        let key = queue.next().await.unwrap();
        queue.done(key, Outcome::Done);
        assert!(queue.shared.state.lock().failures.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_timers_counts() {
        let queue = Queue::new();
        queue.add_after("a", Duration::from_secs(9));
        queue.add_after("a", Duration::from_secs(2));
        queue.add_after("a", Duration::from_secs(5));
        let start = Instant::now();
        assert_eq!(queue.next().await, Some("a"));
        assert_eq!(start.elapsed().as_secs(), 2);
        assert!(queue.shared.state.lock().timers.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_queue_gives_nobody_anything() {
        let queue = Queue::new();
        queue.add("a");
        queue.close();
        assert_eq!(queue.next().await, None);
        assert_eq!(queue.next().await, None);
        assert_eq!(queue.len(), 1);
    }
}
