//! Lets claims, volumes and classes of volumes go when they are deleted and nothing uses them any
//! more. What counts as use is decided in `kinds`.

use std::{collections::HashSet, sync::Arc};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use kinds::objects::storage_protection::{Protection, Step};
use serde_json::Value;
use store::{Collection, Key};

use super::feed::{Change, Feed};
use crate::{api::Api, error::Result, internal, object, writes::update::Part};

/// A change of a protected object, or of something that may use one.
enum Seen {
    Own(Change),
    User(Change),
}

pub(crate) async fn run(api: Arc<Api>, protection: &'static Protection) {
    let own = follow(&api, protection.group, protection.plural, Seen::Own);
    let users = protection
        .users
        .iter()
        .map(|plural| follow(&api, "", plural, Seen::User));
    let mut changes = stream::select_all(users.chain([own]));
    // Deleted, but in use.
    let mut waiting: HashSet<Key> = HashSet::new();
    while let Some(seen) = changes.next().await {
        let stale: Vec<Key> = match seen {
            Seen::Own(Change::Present(stored)) => vec![stored.key().clone()],
            Seen::Own(Change::Gone(stored)) => {
                waiting.remove(stored.key());
                continue;
            }
            Seen::User(Change::Present(user) | Change::Gone(user)) => {
                let near = |key: &&Key| key.namespace().is_empty() || key.namespace() == user.namespace();
                waiting.iter().filter(near).cloned().collect()
            }
        };
        for key in stale {
            match look(&api, protection, &key).await {
                Ok(Step::Wait) => drop(waiting.insert(key)),
                Ok(_) => drop(waiting.remove(&key)),
                Err(error) => {
                    tracing::warn!(resource = protection.plural, name = key.name(), error = %error.message, "cannot settle the protection");
                }
            }
        }
    }
}

fn follow(api: &Api, group: &str, plural: &str, seen: fn(Change) -> Seen) -> BoxStream<'static, Seen> {
    let feed = Feed::new(&api.store, &Collection::new(group, plural));
    let next = move |mut feed: Feed| async move { feed.next().await.map(|change| (seen(change), feed)) };
    stream::unfold(feed, next).boxed()
}

/// Brings the finalizer of one object up to date, and says what there was to do.
async fn look(api: &Arc<Api>, protection: &Protection, key: &Key) -> Result<Step> {
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.by_plural(protection.group, protection.plural) else {
        return Ok(Step::Nothing);
    };
    let step = |object: &Value| protection.step(object, || users(api, protection, key.namespace()));
    let Some(stored) = api.store.get(&kind.collection, key.namespace(), key.name()) else {
        return Ok(Step::Nothing);
    };
    let seen = step(&object::parse(&stored)?);
    if matches!(seen, Step::Nothing | Step::Wait) {
        return Ok(seen);
    }
    let (namespace, name) = (key.namespace(), key.name());
    let changed = internal::change(
        api,
        kind,
        protection.controller,
        Part::Main,
        namespace,
        name,
        |old| {
            let mut new = old.clone();
            // Somebody may have been faster.
            match step(old) {
                Step::Protect => object::add_finalizer(&mut new, protection.finalizer),
                Step::Release => object::remove_finalizer(&mut new, protection.finalizer),
                Step::Nothing | Step::Wait => {}
            }
            new
        },
    );
    match changed.await {
        Err(error) if error.reason != "NotFound" => Err(error),
        _ => Ok(seen),
    }
}

/// Everything that may use an object of a namespace, or of the cluster.
fn users(api: &Api, protection: &Protection, namespace: &str) -> Vec<Value> {
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    protection
        .users
        .iter()
        .flat_map(|plural| {
            api.store
                .list(&Collection::new("", plural), namespace, None, None)
                .items
        })
        .filter_map(|stored| object::readable(&stored))
        .collect()
}
