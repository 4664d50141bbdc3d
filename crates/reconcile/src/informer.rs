//! One watch and one cache of a kind, shared by all who read it.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream::BoxStream};
use kube::{
    Api,
    runtime::{WatchStreamExt as _, watcher},
};
use parking_lot::{Mutex, RwLock};
use serde::de::DeserializeOwned;
use tokio::{sync::watch, task::JoinSet};

use crate::{
    Cached, Key, Unread,
    cache::{Cache, Transition},
};

/// An object before and after something happened to it.
pub struct Change<'a, K> {
    pub before: Option<&'a Arc<K>>,
    pub after: Option<&'a Arc<K>>,
}

impl<K> Change<'_, K> {
    /// The object as it is, or as it was last.
    pub fn object(&self) -> Option<&Arc<K>> {
        self.after.or(self.before)
    }
}

type Handler<K> = Box<dyn Fn(&Change<'_, K>) + Send + Sync>;

/// A cheap handle; clones read the same cache.
pub struct Informer<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    cache: RwLock<Cache<K>>,
    /// Held from a change of the cache until all have been told of it: whoever follows an object is told
    /// of its changes in their order, although several write.
    handlers: Mutex<Vec<Handler<K>>>,
    is_synced: watch::Sender<bool>,
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<K> Informer<K>
where
    K: Cached + DeserializeOwned + Send + Sync + 'static,
{
    /// Follows all objects the client can see through `api`, which has this kind, until the task is dropped.
    pub fn start(api: Api<Unread>, tasks: &mut JoinSet<()>) -> Self {
        let informer = Self::detached();
        // Boxed, for a task is code for each type of future, and there is one of these for each kind.
        tasks.spawn(follow(informer.clone(), events(api)).boxed());
        informer
    }

    /// A cache that follows nothing, filled by `wrote` and `removed` alone: for tests.
    pub fn detached() -> Self {
        Self {
            shared: Arc::new(Shared {
                cache: RwLock::new(Cache::new()),
                handlers: Mutex::new(Vec::new()),
                is_synced: watch::Sender::new(false),
            }),
        }
    }

    /// Resolves when the first complete list is in the cache.
    pub async fn synced(&self) {
        let mut synced = self.shared.is_synced.subscribe();
        // The sender lives as long as `self`.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Calls `handler` at every change from now on, and at once for what is already known. Handlers run on
    /// the task of the watch or of whoever wrote, and hold up both: they put a key into a queue and return.
    pub fn on_change(&self, handler: impl Fn(&Change<'_, K>) + Send + Sync + 'static) {
        let mut handlers = self.shared.handlers.lock();
        for object in self.all() {
            handler(&Change {
                before: None,
                after: Some(&object),
            });
        }
        handlers.push(Box::new(handler));
    }

    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.shared.cache.read().get(key)
    }

    pub fn all(&self) -> Vec<Arc<K>> {
        self.shared.cache.read().all()
    }

    pub fn len(&self) -> usize {
        self.shared.cache.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.shared.cache.read().in_namespace(namespace)
    }

    /// What the object with this uid controls, by name.
    pub fn controlled_by(&self, uid: &str) -> Vec<Arc<K>> {
        self.shared.cache.read().controlled_by(uid)
    }

    /// Puts the server's answer to our own write into the cache, ahead of the watch.
    pub fn wrote(&self, mut object: K) {
        object.trim();
        self.publish(|cache| cache.wrote(object).into_iter().collect());
    }

    /// Takes an object that the server removed at our request out of the cache, ahead of the watch.
    pub fn removed(&self, object: &K) {
        self.publish(|cache| cache.removed(object).into_iter().collect());
    }

    fn publish(&self, change: impl FnOnce(&mut Cache<K>) -> Vec<Transition<K>>) {
        let handlers = self.shared.handlers.lock();
        let transitions = change(&mut self.shared.cache.write());
        for (before, after) in &transitions {
            let change = Change {
                before: before.as_ref(),
                after: after.as_ref(),
            };
            for handler in handlers.iter() {
                handler(&change);
            }
        }
    }
}

type Event = watcher::Result<watcher::Event<Unread>>;

/// What happens to the objects, from a list on; starts again by itself.
fn events(api: Api<Unread>) -> BoxStream<'static, Event> {
    watcher(api, watcher::Config::default())
        .default_backoff()
        .inspect_err(|error| tracing::warn!(%error, "a watch broke off and starts again"))
        .boxed()
}

async fn follow<K>(informer: Informer<K>, mut events: BoxStream<'static, Event>)
where
    K: Cached + DeserializeOwned + Send + Sync + 'static,
{
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            // It is said before the server is asked.
            Ok(watcher::Event::Init) => {
                listed.clear();
                informer.shared.cache.write().list();
            }
            Ok(watcher::Event::InitApply(object)) => listed.extend(read::<K>(&object)),
            Ok(watcher::Event::InitDone) => {
                let objects = std::mem::take(&mut listed);
                informer.publish(|cache| cache.replace(objects));
                informer.shared.is_synced.send_replace(true);
            }
            Ok(watcher::Event::Apply(object)) => {
                if let Some(object) = read(&object) {
                    informer.publish(|cache| cache.told(object));
                }
            }
            Ok(watcher::Event::Delete(object)) => {
                if let Some(object) = read(&object) {
                    informer.publish(|cache| cache.told_gone(&object));
                }
            }
            // The stream itself waits and starts again.
            Err(_) => {}
        }
    }
}

fn read<K: Cached + DeserializeOwned>(object: &Unread) -> Option<K> {
    let mut object: K = object.read()?;
    object.trim();
    Some(object)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        thread,
    };

    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt as _;
    use serde_json::json;

    use super::*;

    fn pod(version: u64) -> Pod {
        let metadata = json!({
            "namespace": "n", "name": "p", "uid": "u", "resourceVersion": version.to_string(),
        });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn changes_are_told_in_their_order_although_several_write() {
        let informer = Informer::detached();
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        informer.on_change(move |change: &Change<'_, Pod>| {
            let version = change.after.and_then(|pod| pod.resource_version()).unwrap();
            heard.lock().push(version.parse::<u64>().unwrap());
        });
        let next = AtomicU64::new(1);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        informer.wrote(pod(next.fetch_add(1, Ordering::Relaxed)));
                    }
                });
            }
        });
        assert!(told.lock().is_sorted());
        assert_eq!(told.lock().last(), Some(&2000));
    }
}
