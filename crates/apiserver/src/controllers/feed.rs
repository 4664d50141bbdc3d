//! The state of a collection and then its changes, for ever: a watch that starts over by itself.

use std::{collections::HashSet, sync::Arc};

use store::{Collection, Event, Object, Store, Watcher};

/// What a follower of a collection learns.
pub(crate) enum Change {
    /// The object is there, in this state.
    Present(Arc<Object>),
    /// The object is gone; this was its last state, where it is known.
    Gone(Arc<Object>),
}

pub(crate) struct Feed {
    collection: Collection,
    store: Store,
    pending: std::collections::VecDeque<Change>,
    watcher: Watcher,
}

impl Feed {
    pub(crate) fn new(store: &Store, collection: &Collection) -> Self {
        let (list, watcher) = store.snapshot_and_watch(collection, None);
        Self {
            collection: collection.clone(),
            store: store.clone(),
            pending: list.items.into_iter().map(Change::Present).collect(),
            watcher,
        }
    }

    /// The next change; none when the store is closed.
    pub(crate) async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return Some(change);
            }
            match self.watcher.next().await {
                Ok(events) => self.pending.extend(events.iter().map(|event| change(event))),
                Err(store::WatchEnd::Ended) => return None,
                // Too slow for the log: start over. Followers converge from the state alone.
                Err(store::WatchEnd::Expired(_)) => *self = Self::new(&self.store, &self.collection),
            }
        }
    }
}

fn change(event: &Event) -> Change {
    match event.kind {
        store::Kind::Deleted => Change::Gone(event.object.clone()),
        store::Kind::Added | store::Kind::Modified => Change::Present(event.object.clone()),
    }
}

/// Follows every stored collection, those of custom resources included as they come and go.
pub(crate) struct Feeds {
    sender: tokio::sync::mpsc::Sender<(Arc<crate::kind::Kind>, Change)>,
    following: HashSet<Collection>,
}

impl Feeds {
    pub(crate) fn new(sender: tokio::sync::mpsc::Sender<(Arc<crate::kind::Kind>, Change)>) -> Self {
        Self {
            sender,
            following: HashSet::new(),
        }
    }

    /// Starts to follow what is new in the registry and forgets what is gone.
    pub(crate) fn follow(&mut self, api: &Arc<crate::api::Api>, tasks: &mut tokio::task::JoinSet<()>) {
        let kinds = api.registry.snapshot().stored_kinds();
        self.following
            .retain(|collection| kinds.iter().any(|kind| kind.collection == *collection));
        for kind in kinds {
            if self.following.insert(kind.collection.clone()) {
                tasks.spawn(forward(api.clone(), kind, self.sender.clone()));
            }
        }
    }
}

async fn forward(
    api: Arc<crate::api::Api>,
    kind: Arc<crate::kind::Kind>,
    sender: tokio::sync::mpsc::Sender<(Arc<crate::kind::Kind>, Change)>,
) {
    let mut registry = api.registry.changes();
    let mut feed = Feed::new(&api.store, &kind.collection);
    loop {
        let change = tokio::select! {
            change = feed.next() => change,
            _ = registry.changed() => {
                let kinds = api.registry.snapshot().stored_kinds();
                if kinds.iter().any(|other| other.collection == kind.collection) {
                    continue;
                }
                return;
            }
        };
        let Some(change) = change else { return };
        if sender.send((kind.clone(), change)).await.is_err() {
            return;
        }
    }
}
