//! How long a batch waits for company.
//!
//! A commit costs one sync however much is in it, and callers who were just answered tend to come
//! back at once. Where several write at a time they would take turns, each commit with a few of them;
//! a moment's patience puts more of them into each. How many there are is not known, so now and then a
//! batch hopes for more than came last time: rarely, as long as that is in vain.

use std::time::{Duration, Instant};

/// A batch waits no longer than this after the last commit,
const MOMENT: Duration = Duration::from_millis(1);
/// or than this part of what the last commit took, where that is longer.
const PART: u32 = 4;
/// How many commits lie between two hopes for more, at most.
const SELDOM: u32 = 64;

/// What the last commits say about the next.
pub(crate) struct Pace {
    /// The jobs that are waited for,
    expected: usize,
    /// and whether those are more than came last time.
    hopes: bool,
    /// When waiting for them is over.
    until: Instant,
    /// Commits until more are hoped for than came.
    rest: u32,
    /// How many those were the last time.
    pause: u32,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            expected: 0,
            hopes: false,
            until: now,
            rest: 0,
            pause: 1,
        }
    }

    /// Takes note of a commit that is over now: how many it answered, and how many came meanwhile.
    pub(crate) fn committed(&mut self, answered: usize, waiting: usize, took: Duration, now: Instant) {
        if self.hopes && answered >= self.expected {
            self.pause = 1;
        } else if self.hopes {
            self.pause = (self.pause * 2).min(SELDOM);
            self.rest = self.pause;
        }
        let here = answered + waiting;
        self.hopes = self.rest == 0 && here > 1;
        self.expected = here + if self.hopes { here.div_ceil(4) } else { 0 };
        self.rest = self.rest.saturating_sub(1);
        self.until = now + MOMENT.max(took / PART);
    }

    /// Whether a batch of so many jobs should wait for more.
    pub(crate) fn hopes_for_more(&self, jobs: usize, now: Instant) -> bool {
        jobs < self.expected && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_micros(100);

    #[test]
    fn the_first_batch_does_not_wait() {
        let now = Instant::now();
        assert!(!Pace::new(now).hopes_for_more(1, now));
    }

    #[test]
    fn a_lone_writer_never_waits() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        for _ in 0..100 {
            pace.committed(1, 0, QUICK, now);
            assert!(!pace.hopes_for_more(1, now));
        }
    }

    #[test]
    fn two_writers_who_took_turns_are_put_together() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.committed(1, 1, QUICK, now);
        assert!(pace.hopes_for_more(1, now));
    }

    #[test]
    fn nobody_waits_for_long() {
        let now = Instant::now();
        let slow = MOMENT * 40;
        let mut pace = Pace::new(now);
        for (took, longest) in [(QUICK, MOMENT), (slow, slow / PART)] {
            pace.committed(8, 8, took, now);
            assert!(pace.hopes_for_more(8, now + longest / 2));
            assert!(!pace.hopes_for_more(8, now + longest));
        }
    }

    #[test]
    fn batches_grow_to_as_many_as_there_are() {
        let (writers, now) = (16, Instant::now());
        let mut pace = Pace::new(now);
        pace.committed(1, 1, QUICK, now);
        for _ in 0..12 {
            let batch = pace.expected.min(writers);
            pace.committed(batch, 0, QUICK, now);
        }
        assert!(pace.expected >= writers, "{}", pace.expected);
    }

    #[test]
    fn few_writers_seldom_wait_in_vain() {
        let (writers, now) = (3, Instant::now());
        let mut pace = Pace::new(now);
        pace.committed(1, 1, QUICK, now);
        let in_vain = (0..1000)
            .filter(|_| {
                let in_vain = pace.hopes_for_more(writers, now);
                pace.committed(writers, 0, QUICK, now);
                in_vain
            })
            .count();
        assert!(in_vain < 25, "{in_vain}");
    }
}
