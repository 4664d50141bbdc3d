//! The status of resource quotas: what of each is used, counted anew when a quota changes and when
//! something that counted goes away.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use kinds::quota;
use serde_json::Value;
use store::Collection;
use tokio::{sync::mpsc, task::JoinSet};

use super::feed::{Change, Feeds};
use crate::{api::Api, error::Result, internal, kind::Kind, object, writes::update::Part};

const NAME: &str = "resourcequota-controller";
const QUEUE: usize = 1024;

pub(crate) async fn run(api: Arc<Api>) {
    let (sender, mut receiver) = mpsc::channel(QUEUE);
    let mut registry = api.registry.changes();
    let mut feeds = Feeds::new(sender);
    let mut tasks = JoinSet::new();
    feeds.follow(&api, &mut tasks);
    let mut counter = Counter::default();
    loop {
        tokio::select! {
            changed = registry.changed() => {
                if changed.is_err() {
                    return;
                }
                feeds.follow(&api, &mut tasks);
            }
            change = receiver.recv() => {
                let Some((kind, change)) = change else { return };
                counter.observe(&kind, &change);
                // Everything that is known by now is counted together.
                while let Ok((kind, change)) = receiver.try_recv() {
                    counter.observe(&kind, &change);
                }
                for namespace in std::mem::take(&mut counter.stale) {
                    if let Err(error) = recount(&api, &namespace).await {
                        tracing::warn!(namespace, error = %error.message, "cannot update the status of quotas");
                    }
                }
            }
        }
    }
}

/// Which namespaces have quotas, and in which of them something changed.
#[derive(Default)]
struct Counter {
    quotas: HashMap<String, HashSet<String>>,
    stale: BTreeSet<String>,
}

impl Counter {
    fn observe(&mut self, kind: &Kind, change: &Change) {
        let (stored, gone) = match change {
            Change::Present(stored) => (stored, false),
            Change::Gone(stored) => (stored, true),
        };
        let namespace = stored.namespace();
        if namespace.is_empty() {
            return;
        }
        if kind.is("", "ResourceQuota") {
            let quotas = self.quotas.entry(namespace.to_owned()).or_default();
            if gone {
                quotas.remove(stored.name());
            } else {
                quotas.insert(stored.name().to_owned());
            }
            if quotas.is_empty() {
                self.quotas.remove(namespace);
            }
        }
        // Counting up is admission's work. Down goes what is deleted, and pods that end.
        let may_free = gone
            || kind.is("", "ResourceQuota")
            || kind.is("", "Pod")
            || kind.is("", "PersistentVolumeClaim")
            || kind.is("", "Service");
        if may_free && self.quotas.contains_key(namespace) {
            self.stale.insert(namespace.to_owned());
        }
    }
}

/// Counts what the quotas of a namespace cover and writes what changed.
async fn recount(api: &Arc<Api>, namespace: &str) -> Result<()> {
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get("", "v1", "resourcequotas") else {
        return Ok(());
    };
    let _turn = api.quota_turns.take(namespace).await;
    for stored in api
        .store
        .list(&kind.collection, Some(namespace), None, None)
        .items
    {
        internal::change(api, kind, NAME, Part::Status, namespace, stored.name(), |quota| {
            let status = count(api, namespace, quota);
            let mut new = quota.clone();
            if quota::needs_update(quota, &status) {
                new["status"] = status;
            }
            new
        })
        .await
        .map(drop)
        .or_else(|error| {
            if error.reason == "NotFound" {
                Ok(())
            } else {
                Err(error)
            }
        })?;
    }
    Ok(())
}

fn count(api: &Api, namespace: &str, quota: &Value) -> Value {
    let snapshot = api.registry.snapshot();
    let mut collections = Vec::new();
    for (group, plural) in quota::watched(quota) {
        if snapshot.by_plural(group, plural).is_none() {
            continue;
        }
        let list = api
            .store
            .list(&Collection::new(group, plural), Some(namespace), None, None);
        let objects: Vec<Value> = list
            .items
            .iter()
            .filter_map(|stored| object::readable(stored))
            .collect();
        collections.push((group, plural, objects));
    }
    quota::recalculate(
        quota,
        collections
            .iter()
            .map(|(group, plural, objects)| (*group, *plural, objects.iter())),
        jiff::Timestamp::now(),
    )
}
