//! The recent events of one collection, bounded by count, bytes and age.
//!
//! Watchers hold a revision as their cursor and find their place by it, so the log knows nothing of
//! them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::event::Event;
use crate::options::LogLimits;

/// The history asked for has been forgotten; `oldest` is the oldest revision it can be followed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {requested} ({oldest})")]
pub struct TooOld {
    pub requested: u64,
    pub oldest: u64,
}

pub(crate) struct EventLog {
    entries: VecDeque<Entry>,
    /// The revision up to which events may have been forgotten.
    floor: u64,
    bytes: usize,
}

struct Entry {
    revision: u64,
    at: Instant,
    weight: usize,
    event: Arc<Event>,
}

impl EventLog {
    pub(crate) fn new(floor: u64) -> Self {
        Self {
            entries: VecDeque::new(),
            floor,
            bytes: 0,
        }
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The revision of the newest event, or the floor where there is none.
    pub(crate) fn newest(&self) -> u64 {
        self.entries.back().map_or(self.floor, |entry| entry.revision)
    }

    /// The revision of the oldest event that is remembered.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.revision)
    }

    pub(crate) fn check(&self, after: u64) -> Result<(), TooOld> {
        if after < self.floor {
            return Err(TooOld {
                requested: after,
                oldest: self.floor,
            });
        }
        Ok(())
    }

    /// Events newer than a revision, oldest first.
    pub(crate) fn after(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        let start = self.entries.partition_point(|entry| entry.revision <= revision);
        self.entries.range(start..).map(|entry| &entry.event)
    }

    pub(crate) fn push(&mut self, event: Arc<Event>, now: Instant) {
        let weight = event.weight();
        self.bytes += weight;
        self.entries.push_back(Entry {
            revision: event.revision,
            at: now,
            weight,
            event,
        });
    }

    /// Forgets the oldest event when a limit asks for it; call until it returns `None`.
    pub(crate) fn trim(&mut self, limits: &LogLimits, now: Instant) -> Option<Arc<Event>> {
        let over = self.entries.len() > limits.events || self.bytes > limits.bytes;
        if over || self.age(now)? > limits.age {
            self.forget_oldest()
        } else {
            None
        }
    }

    pub(crate) fn forget_oldest(&mut self) -> Option<Arc<Event>> {
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.weight;
        self.floor = entry.revision;
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(self.entries.len() * 2);
        }
        Some(entry.event)
    }

    fn age(&self, now: Instant) -> Option<Duration> {
        self.entries
            .front()
            .map(|entry| now.saturating_duration_since(entry.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use crate::name::Key;
    use crate::object::{Body, Object};

    fn event(revision: u64) -> Arc<Event> {
        let body = Body::new(br#"{"resourceVersion":""}"#.to_vec(), 20);
        Arc::new(Event::new(
            Kind::Added,
            Object::stamped(Key::new("", "a"), body, revision),
            None,
        ))
    }

    fn log_of(revisions: &[u64], now: Instant) -> EventLog {
        let mut log = EventLog::new(1);
        for revision in revisions {
            log.push(event(*revision), now);
        }
        log
    }

    fn revisions(log: &EventLog, after: u64) -> Vec<u64> {
        log.after(after).map(|event| event.revision).collect()
    }

    #[test]
    fn a_cursor_finds_its_place_between_revisions() {
        let log = log_of(&[3, 7, 9], Instant::now());
        assert_eq!(revisions(&log, 1), [3, 7, 9]);
        assert_eq!(revisions(&log, 3), [7, 9]);
        assert_eq!(revisions(&log, 8), [9]);
        assert_eq!(revisions(&log, 900), [0; 0]);
        assert_eq!(log.newest(), 9);
    }

    #[test]
    fn each_limit_forgets_the_oldest_first_and_raises_the_floor() {
        let now = Instant::now();
        let unlimited = LogLimits {
            total_bytes: usize::MAX,
            bytes: usize::MAX,
            ..LogLimits::default()
        };
        let weight = event(3).weight();
        for limits in [
            LogLimits {
                events: 2,
                ..unlimited.clone()
            },
            LogLimits {
                bytes: 2 * weight,
                ..unlimited
            },
        ] {
            let mut log = log_of(&[3, 7, 9], now);
            assert_eq!(log.trim(&limits, now).unwrap().revision, 3);
            assert!(log.trim(&limits, now).is_none());
            assert_eq!(log.check(3), Ok(()));
            assert_eq!(
                log.check(2),
                Err(TooOld {
                    requested: 2,
                    oldest: 3
                })
            );
            assert_eq!(log.bytes(), 2 * weight);
        }
    }

    #[test]
    fn events_are_kept_until_they_are_too_old() {
        let limits = LogLimits::default();
        let start = Instant::now();
        let mut log = log_of(&[3, 7], start);
        assert!(log.trim(&limits, start + limits.age).is_none());
        let later = start + limits.age + Duration::from_secs(1);
        assert_eq!(log.trim(&limits, later).unwrap().revision, 3);
        assert_eq!(log.trim(&limits, later).unwrap().revision, 7);
        assert!(log.trim(&limits, later).is_none());
        assert_eq!(log.newest(), 7);
    }
}
