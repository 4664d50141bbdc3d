//! APIServices of custom groups: one for each version that definitions serve, made and removed with
//! it. Those of built-in groups are made once, at the first start.

use std::{collections::BTreeMap, sync::Arc};

use kinds::{
    objects::api_service,
    read::{at, get},
};
use serde_json::Value;
use store::Collection;

use super::feed::Feed;
use crate::{
    api::Api,
    bootstrap,
    error::Result,
    internal, object,
    writes::{delete::DeleteOptions, update::Part},
};

const NAME: &str = "autoregister";
const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";

fn collection() -> Collection {
    Collection::new(GROUP, PLURAL)
}

pub(crate) async fn run(api: Arc<Api>) {
    let mut registry = api.registry.changes();
    let mut services = Feed::new(&api.store, &collection());
    loop {
        let wanted = wanted(&api);
        if let Err(error) = settle(&api, &wanted).await {
            tracing::warn!(error = %error.message, "cannot settle the APIServices of custom groups");
        }
        let goes_on = tokio::select! {
            changed = registry.changed() => changed.is_ok(),
            change = services.next() => change.is_some(),
        };
        if !goes_on {
            return;
        }
    }
}

/// The services there should be for custom kinds, by name.
fn wanted(api: &Api) -> BTreeMap<String, Value> {
    let snapshot = api.registry.snapshot();
    let versions = snapshot
        .groups
        .iter()
        .flat_map(|group| group.versions.iter().map(move |version| (group, version)));
    versions
        .filter(|(_, version)| version.kinds.iter().any(|kind| kind.is_custom()))
        .map(|(group, version)| {
            let priority = version.kinds.iter().filter_map(|kind| kind.group_priority());
            api_service::of_custom(&group.name, &version.version, priority.max().unwrap_or_default())
        })
        .map(|service| (object::name(&service).to_owned(), service))
        .collect()
}

/// Makes what is missing, restores what somebody changed, and removes what nobody serves any more.
/// Services that others made, or took over, are theirs.
async fn settle(api: &Arc<Api>, wanted: &BTreeMap<String, Value>) -> Result<()> {
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get(GROUP, "v1", PLURAL) else {
        return Ok(());
    };
    for stored in api.store.list(&collection(), None, None, None).items {
        let service = object::parse(&stored)?;
        let name = stored.name();
        if !api_service::follows_definitions(&service) {
            continue;
        }
        match wanted.get(name) {
            None => {
                internal::delete(api, kind, NAME, "", name, &DeleteOptions::default()).await?;
            }
            Some(wanted) if get(wanted, "spec") != get(&service, "spec") => {
                let spec = at(wanted, &["spec"]);
                internal::change(api, kind, NAME, Part::Main, "", name, |old| {
                    let mut new = old.clone();
                    new["spec"] = spec.clone();
                    new
                })
                .await?;
            }
            Some(_) => {}
        }
    }
    for service in wanted.values() {
        bootstrap::ensure(api, bootstrap::API_SERVICES, service).await?;
    }
    api.registry.replace_priorities(priorities_of_users(api)?);
    Ok(())
}

/// The priorities of groups whose APIServices users manage themselves.
fn priorities_of_users(api: &Api) -> Result<BTreeMap<String, i64>> {
    let mut priorities = BTreeMap::new();
    for stored in api.store.list(&collection(), None, None, None).items {
        let service = object::parse(&stored)?;
        if api_service::is_managed(&service) {
            continue;
        }
        if let Some((group, priority)) = api_service::group_priority(&service) {
            let known = priorities.entry(group.to_owned()).or_insert(priority);
            *known = priority.max(*known);
        }
    }
    Ok(priorities)
}
