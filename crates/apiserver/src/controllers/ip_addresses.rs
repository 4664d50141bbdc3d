//! IPAddresses: for each cluster address of a Service an object that says whose it is. The address
//! itself is taken by `allocation`, with the Service; this only shows it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use kinds::{
    objects::{ip_address, service::allocation::plan_delete},
    read,
};
use serde_json::Value;
use store::{Collection, Key, Object};

use super::feed::{Change, Feed};
use crate::{api::Api, bootstrap, error::Result, internal, object, writes::delete::DeleteOptions};

const NAME: &str = "ipallocator";
const GROUP: &str = "networking.k8s.io";
const PATH: &str = "/apis/networking.k8s.io/v1/ipaddresses";

pub(crate) async fn run(api: Arc<Api>) {
    let mut services = Feed::new(&api.store, &Collection::new("", "services"));
    let mut addresses = Feed::new(&api.store, &collection());
    let mut shown = Shown::default();
    loop {
        let settled = tokio::select! {
            change = services.next() => match change {
                Some(change) => shown.follow_service(&api, &change).await,
                None => return,
            },
            change = addresses.next() => match change {
                Some(change) => follow_address(&api, &change).await,
                None => return,
            },
        };
        if let Err(error) = settled {
            tracing::warn!(error = %error.message, "cannot settle the address of a service");
        }
    }
}

fn collection() -> Collection {
    Collection::new(GROUP, "ipaddresses")
}

/// The addresses each Service had when it was last seen.
#[derive(Default)]
struct Shown(HashMap<Key, HashSet<String>>);

impl Shown {
    async fn follow_service(&mut self, api: &Arc<Api>, change: &Change) -> Result<()> {
        let (key, held) = match change {
            Change::Present(stored) => (stored.key(), held_by(stored)?),
            Change::Gone(stored) => (stored.key(), HashSet::new()),
        };
        let before = if held.is_empty() {
            self.0.remove(key)
        } else {
            self.0.insert(key.clone(), held.clone())
        };
        for address in before.unwrap_or_default().difference(&held) {
            withdraw(api, address, key).await?;
        }
        for address in &held {
            let object = ip_address::of_service(address, key.namespace(), key.name());
            bootstrap::ensure(api, PATH, &object).await?;
        }
        Ok(())
    }
}

/// What somebody deleted is shown again, and what a stop left behind goes.
async fn follow_address(api: &Arc<Api>, change: &Change) -> Result<()> {
    let (Change::Present(stored) | Change::Gone(stored)) = change;
    let object = object::parse(stored)?;
    if !ip_address::is_managed(&object) {
        return Ok(());
    }
    let parent = parent_of(&object);
    let service = api.store.get(
        &Collection::new("", "services"),
        parent.namespace(),
        parent.name(),
    );
    let is_held = match service {
        Some(service) => held_by(&service)?.contains(stored.name()),
        None => false,
    };
    match change {
        Change::Present(_) if !is_held => withdraw(api, stored.name(), &parent).await,
        Change::Gone(_) if is_held => {
            let object = ip_address::of_service(stored.name(), parent.namespace(), parent.name());
            bootstrap::ensure(api, PATH, &object).await
        }
        _ => Ok(()),
    }
}

fn held_by(stored: &Object) -> Result<HashSet<String>> {
    let service = object::parse(stored)?;
    // What a Service would give back is what it holds.
    Ok(plan_delete(&service).released_ips.into_iter().collect())
}

fn parent_of(address: &Value) -> Key {
    let parent = read::at(address, &["spec", "parentRef"]);
    Key::new(read::text(parent, "namespace"), read::text(parent, "name"))
}

/// Removes the object of an address that a Service no longer has.
async fn withdraw(api: &Arc<Api>, address: &str, service: &Key) -> Result<()> {
    let Some(stored) = api.store.get(&collection(), "", address) else {
        return Ok(());
    };
    let object = object::parse(&stored)?;
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get(GROUP, "v1", "ipaddresses") else {
        return Ok(());
    };
    if !ip_address::is_managed(&object) || parent_of(&object) != *service {
        return Ok(());
    }
    match internal::delete(api, kind, NAME, "", address, &DeleteOptions::default()).await {
        Err(error) if error.reason != "NotFound" => Err(error),
        _ => Ok(()),
    }
}
