//! How long a batch waits for company.
//!
//! A commit costs one sync however much is in it, and callers who were just answered tend to come
//! back at once. Where several write at a time they would take turns, each commit with half of them;
//! a moment's patience puts all of them into each.

use std::time::{Duration, Instant};

/// A batch waits for at most this part of what the last commit took.
const PART: u32 = 4;
/// Where commits are faster than this, waiting costs more than a commit for everyone.
const SLOW: Duration = Duration::from_millis(1);

/// What the last commit says about the next.
pub(crate) struct Pace {
    /// The jobs that can be hoped for: those that were answered, and those that waited meanwhile.
    expected: usize,
    /// When waiting for them is over.
    until: Instant,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            expected: 0,
            until: now,
        }
    }

    /// Takes note of a commit that is over now.
    pub(crate) fn committed(&mut self, answered: usize, waiting: usize, took: Duration, now: Instant) {
        self.expected = answered + waiting;
        self.until = if took < SLOW { now } else { now + took / PART };
    }

    /// Whether a batch of so many jobs should wait for more.
    pub(crate) fn hopes_for_more(&self, jobs: usize, now: Instant) -> bool {
        jobs < self.expected && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: Duration = Duration::from_millis(4);

    fn after(answered: usize, waiting: usize) -> (Pace, Instant) {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.committed(answered, waiting, COMMIT, now);
        (pace, now)
    }

    #[test]
    fn a_lone_writer_never_waits() {
        let (pace, now) = after(1, 0);
        assert!(!pace.hopes_for_more(1, now));
    }

    #[test]
    fn the_first_batch_does_not_wait() {
        let now = Instant::now();
        assert!(!Pace::new(now).hopes_for_more(1, now));
    }

    #[test]
    fn two_writers_who_took_turns_are_put_together() {
        let (pace, now) = after(1, 1);
        assert!(pace.hopes_for_more(1, now));
        assert!(!pace.hopes_for_more(2, now));
    }

    #[test]
    fn nobody_waits_where_commits_are_fast() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.committed(8, 8, SLOW / 2, now);
        assert!(!pace.hopes_for_more(8, now));
    }

    #[test]
    fn nobody_waits_for_long() {
        let (pace, now) = after(8, 8);
        assert!(pace.hopes_for_more(8, now + COMMIT / 8));
        assert!(!pace.hopes_for_more(8, now + COMMIT / PART));
    }
}
