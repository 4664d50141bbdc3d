//! Who wants to be woken by which change.
//!
//! Watchers of the same scope share a channel. A change wakes its object's, its namespace's and the
//! collection's channel and no other, so idle watchers of other namespaces or objects sleep on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::event::Event;
use crate::name::Key;

/// The part of a collection a watcher follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Everything,
    Namespace(Box<str>),
    Object(Key),
}

impl Scope {
    pub(crate) fn covers(&self, key: &Key) -> bool {
        match self {
            Self::Everything => true,
            Self::Namespace(namespace) => key.namespace() == &**namespace,
            Self::Object(object) => key == object,
        }
    }
}

/// Wakes the watchers of one scope, and remembers what they can no longer get.
pub(crate) struct Channel {
    pub(crate) changed: Notify,
    /// The newest event of this scope that the log has forgotten. The log's own floor would not do:
    /// a watcher that sleeps while other namespaces are busy has missed nothing.
    forgotten: AtomicU64,
}

impl Channel {
    fn new(floor: u64) -> Arc<Self> {
        Arc::new(Self {
            changed: Notify::new(),
            forgotten: AtomicU64::new(floor),
        })
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Acquire)
    }
}

/// The channels of one collection. Guarded by the collection's lock.
pub(crate) struct Interests {
    everything: Arc<Channel>,
    namespaces: HashMap<Box<str>, Arc<Channel>>,
    objects: HashMap<Key, Arc<Channel>>,
}

impl Interests {
    pub(crate) fn new(floor: u64) -> Self {
        Self {
            everything: Channel::new(floor),
            namespaces: HashMap::new(),
            objects: HashMap::new(),
        }
    }

    pub(crate) fn register(&mut self, scope: &Scope, floor: u64) -> Arc<Channel> {
        let channel = match scope {
            Scope::Everything => &self.everything,
            Scope::Namespace(name) => self
                .namespaces
                .entry(name.clone())
                .or_insert_with(|| Channel::new(floor)),
            Scope::Object(key) => self
                .objects
                .entry(key.clone())
                .or_insert_with(|| Channel::new(floor)),
        };
        Arc::clone(channel)
    }

    /// Forgets the scope of a watcher that is about to drop its channel, unless others share it.
    pub(crate) fn release(&mut self, scope: &Scope) {
        let unshared = |channel: &Arc<Channel>| Arc::strong_count(channel) <= 2;
        match scope {
            Scope::Everything => {}
            Scope::Namespace(name) => {
                if self.namespaces.get(name).is_some_and(unshared) {
                    self.namespaces.remove(name);
                }
            }
            Scope::Object(key) => {
                if self.objects.get(key).is_some_and(unshared) {
                    self.objects.remove(key);
                }
            }
        }
    }

    pub(crate) fn forgot(&self, event: &Event) {
        self.concerned(event)
            .for_each(|channel| channel.forgotten.store(event.revision, Ordering::Release));
    }

    /// The channels to wake after these events, each namespace once per run of its events.
    pub(crate) fn woken_by(&self, events: &[Arc<Event>]) -> Vec<Arc<Channel>> {
        let mut woken: Vec<Arc<Channel>> = Vec::new();
        for channel in events.iter().flat_map(|event| self.concerned(event)) {
            if !woken
                .iter()
                .rev()
                .take(3)
                .any(|known| Arc::ptr_eq(known, channel))
            {
                woken.push(Arc::clone(channel));
            }
        }
        woken
    }

    pub(crate) fn all(&self) -> Vec<Arc<Channel>> {
        let narrow = self.namespaces.values().chain(self.objects.values());
        std::iter::once(&self.everything).chain(narrow).cloned().collect()
    }

    fn concerned(&self, event: &Event) -> impl Iterator<Item = &Arc<Channel>> {
        let namespace = self.namespaces.get(event.key().namespace());
        let object = self.objects.get(event.key());
        [Some(&self.everything), namespace, object].into_iter().flatten()
    }
}
