//! A watcher: a cursor into the log of one collection, with no queue of its own.

use std::pin::pin;
use std::sync::Arc;

use crate::event::Event;
use crate::interest::{Channel, Scope};
use crate::log::TooOld;
use crate::memory::Memory;
use crate::partition::{Partition, Unseen};

/// Follows the changes of a collection, a namespace or an object.
pub struct Watcher {
    memory: Arc<Memory>,
    partition: Arc<Partition>,
    scope: Scope,
    channel: Arc<Channel>,
    /// Every event of the scope up to this revision has been handed out.
    after: u64,
}

/// Why a watch yields no more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// The watcher fell behind by more than the log remembers.
    #[error(transparent)]
    Expired(#[from] TooOld),
    #[error("the collection was dropped or the store closed")]
    Ended,
}

impl Watcher {
    pub(crate) fn new(
        memory: Arc<Memory>,
        partition: Arc<Partition>,
        scope: Scope,
        after: u64,
    ) -> Result<Self, TooOld> {
        let channel = partition.register(&scope, after)?;
        Ok(Self {
            memory,
            partition,
            scope,
            channel,
            after,
        })
    }

    /// The next events, at least one, in the order of their revisions.
    ///
    /// Nothing is lost when the future is dropped before it is ready.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, WatchEnd> {
        loop {
            // Listening starts before looking, so that no change falls between the two.
            let mut changed = pin!(self.channel.changed.notified());
            changed.as_mut().enable();
            match self.partition.unseen(&self.scope, &self.channel, self.after) {
                Unseen::Events(events, seen) => {
                    self.after = seen;
                    return Ok(events);
                }
                Unseen::Nothing(seen) => self.after = seen,
                Unseen::Expired(too_old) => return Err(too_old.into()),
                Unseen::Ended => return Err(WatchEnd::Ended),
            }
            changed.await;
        }
    }

    /// The revision a bookmark may carry: every event up to it has been handed out.
    pub fn revision(&self) -> u64 {
        // Read first: what was published by then is in the log when the log is looked at.
        let published = self.memory.revision();
        match self.partition.unseen(&self.scope, &self.channel, self.after) {
            Unseen::Events(..) | Unseen::Expired(_) => self.after,
            Unseen::Nothing(seen) => seen.max(published),
            Unseen::Ended => self.after.max(published),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.partition.release(&self.scope);
    }
}
