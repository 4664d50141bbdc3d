//! The live state of one collection: its objects, its recent events, and who waits for more.
//!
//! Only the writer changes it, and only with what is durable; one lock covers all of it, so that a
//! list and the watch that follows it agree.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;

use crate::event::Event;
use crate::interest::{Channel, Interests, Scope};
use crate::list::{self, Objects, Range};
use crate::log::{EventLog, TooOld};
use crate::name::Key;
use crate::object::Object;
use crate::options::LogLimits;

/// The most events handed to a watcher at once, and the bytes after which no further one is: a
/// watcher keeps in memory what it was handed until its client has taken it.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 128 << 10;

pub(crate) struct Partition {
    contents: RwLock<Contents>,
}

struct Contents {
    objects: Objects,
    log: EventLog,
    interests: Interests,
    /// Set when the collection is dropped or the store closed: no event will follow.
    ended: bool,
}

/// What the log has for a watcher.
pub(crate) enum Unseen {
    /// Events, and the revision the watcher has seen everything up to once it has these.
    Events(Vec<Arc<Event>>, u64),
    /// Nothing for this watcher, up to a revision.
    Nothing(u64),
    /// Events it should have seen are forgotten.
    Expired(TooOld),
    Ended,
}

impl Partition {
    pub(crate) fn new(objects: Objects, floor: u64) -> Self {
        let contents = Contents {
            objects,
            log: EventLog::new(floor),
            interests: Interests::new(floor),
            ended: false,
        };
        Self {
            contents: RwLock::new(contents),
        }
    }

    pub(crate) fn get(&self, joined: &str) -> Option<Arc<Object>> {
        self.contents.read().objects.get(joined).cloned()
    }

    /// An object, and the revision of the last change among all.
    pub(crate) fn get_with_newest(&self, key: &Key) -> (Option<Arc<Object>>, u64) {
        let contents = self.contents.read();
        (contents.objects.get(key).cloned(), contents.log.newest())
    }

    /// The revision of the last change.
    pub(crate) fn newest(&self) -> u64 {
        self.contents.read().log.newest()
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        self.contents.read().objects.keys().cloned().collect()
    }

    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        self.contents.read().objects.values().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.contents.read().objects.is_empty()
    }

    /// The objects in range, how many follow, and the revision of the last change among all.
    pub(crate) fn list(&self, range: &Range<'_>) -> (Vec<Arc<Object>>, usize, u64) {
        let contents = self.contents.read();
        let (items, remaining) = list::current(&contents.objects, range);
        (items, remaining, contents.log.newest())
    }

    pub(crate) fn list_at(
        &self,
        revision: u64,
        range: &Range<'_>,
    ) -> Result<(Vec<Arc<Object>>, usize), TooOld> {
        let contents = self.contents.read();
        contents.log.check(revision)?;
        Ok(list::rewound(&contents.objects, &contents.log, revision, range))
    }

    pub(crate) fn register(&self, scope: &Scope, after: u64) -> Result<Arc<Channel>, TooOld> {
        let mut contents = self.contents.write();
        contents.log.check(after)?;
        let floor = contents.log.floor();
        Ok(contents.interests.register(scope, floor))
    }

    pub(crate) fn release(&self, scope: &Scope) {
        self.contents.write().interests.release(scope);
    }

    /// What a watcher whose cursor is at `after` gets next.
    pub(crate) fn unseen(&self, scope: &Scope, channel: &Channel, after: u64) -> Unseen {
        let contents = self.contents.read();
        if after < channel.forgotten() {
            return Unseen::Expired(TooOld {
                requested: after,
                oldest: contents.log.floor(),
            });
        }
        let covered = contents
            .log
            .after(after)
            .filter(|event| scope.covers(event.key()));
        let mut bytes = 0;
        let batch = covered.take(BATCH).take_while(|event| {
            let fits = bytes < BATCH_BYTES;
            bytes += event.size();
            fits
        });
        let events: Vec<_> = batch.cloned().collect();
        match events.last() {
            Some(last) if events.len() == BATCH || bytes >= BATCH_BYTES => {
                let seen = last.revision;
                Unseen::Events(events, seen)
            }
            Some(_) => Unseen::Events(events, contents.log.newest()),
            None if contents.ended => Unseen::Ended,
            None => Unseen::Nothing(after.max(contents.log.newest())),
        }
    }

    /// Takes committed events in: objects, log, and then the wake-ups. Returns by how many bytes the
    /// log grew.
    pub(crate) fn publish(&self, events: &[Arc<Event>], limits: &LogLimits, now: Instant) -> isize {
        let mut contents = self.contents.write();
        let before = contents.log.bytes();
        for event in events {
            match event.survivor() {
                Some(object) => contents.objects.insert(object.key().clone(), Arc::clone(object)),
                None => contents.objects.remove(event.key()),
            };
            contents.log.push(Arc::clone(event), now);
        }
        contents.trim(limits, now);
        let growth = contents.log.bytes() as isize - before as isize;
        let woken = contents.interests.woken_by(events);
        drop(contents);
        wake(&woken);
        growth
    }

    /// Forgets events that are too old. Returns how many bytes that freed.
    pub(crate) fn sweep(&self, limits: &LogLimits, now: Instant) -> usize {
        let mut contents = self.contents.write();
        let before = contents.log.bytes();
        contents.trim(limits, now);
        before - contents.log.bytes()
    }

    /// Forgets up to `count` of the oldest events. Returns how many bytes that freed.
    pub(crate) fn forget(&self, count: usize) -> usize {
        let mut contents = self.contents.write();
        let before = contents.log.bytes();
        for _ in 0..count {
            let Some(event) = contents.log.forget_oldest() else {
                break;
            };
            contents.interests.forgot(&event);
        }
        before - contents.log.bytes()
    }

    pub(crate) fn oldest_event(&self) -> Option<u64> {
        self.contents.read().log.oldest()
    }

    pub(crate) fn log_bytes(&self) -> usize {
        self.contents.read().log.bytes()
    }

    /// Lets watchers finish what is in the log and then tells them it was the last.
    pub(crate) fn end(&self) {
        let mut contents = self.contents.write();
        contents.ended = true;
        let all = contents.interests.all();
        drop(contents);
        wake(&all);
    }
}

impl Contents {
    fn trim(&mut self, limits: &LogLimits, now: Instant) {
        while let Some(event) = self.log.trim(limits, now) {
            self.interests.forgot(&event);
        }
    }
}

fn wake(channels: &[Arc<Channel>]) {
    for channel in channels {
        channel.changed.notify_waiters();
    }
}
