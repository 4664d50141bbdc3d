//! Custom resource definitions: which names they get, when they are served, and how they end.

mod seen;

use std::{collections::HashSet, sync::Arc, time::Duration};

use schemas::crd;
use serde_json::{Value, json};
use store::Collection;
use tokio::task::JoinSet;

pub(crate) use self::seen::Definitions;
use super::feed::Feed;
use crate::{
    api::Api,
    error::Result,
    internal,
    kind::Kind,
    object,
    registry::Snapshot,
    writes::{delete::DeleteOptions, timestamp, update::Part},
};

const NAME: &str = "crd-controller";
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const GROUP: &str = "apiextensions.k8s.io";
/// How long an ending definition waits for a change of its instances before it looks again.
const RECHECK: Duration = Duration::from_secs(1);

fn collection() -> Collection {
    Collection::new(GROUP, "customresourcedefinitions")
}

fn kind(api: &Api) -> Option<Arc<Kind>> {
    api.registry
        .snapshot()
        .get(GROUP, "v1", "customresourcedefinitions")
        .cloned()
}

/// Serves the definitions that were established before the last stop.
pub(crate) fn load(api: &Arc<Api>) -> Definitions {
    let mut definitions = Definitions::default();
    serve(api, &mut definitions);
    definitions
}

pub(crate) async fn run(api: Arc<Api>, mut definitions: Definitions) {
    let mut changes = Feed::new(&api.store, &collection());
    // Deletions wait for finalizers of instances and must not hold up each other or the loop.
    let mut ending = HashSet::new();
    let mut tasks: JoinSet<String> = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = tasks.join_next() => {
                if let Ok(uid) = ended {
                    ending.remove(&uid);
                }
            }
            change = changes.next() => {
                if change.is_none() {
                    return;
                }
                // Whoever sees the condition may use the kind: it is served before it says so.
                serve(&api, &mut definitions);
                let all = definitions.oldest_first();
                for definition in &all {
                    if !object::is_deleting(definition) {
                        settle(&api, definition, &all).await;
                    } else if awaits_cleanup(definition) && ending.insert(object::uid(definition).to_owned()) {
                        tasks.spawn(end(api.clone(), (*definition).clone()));
                    }
                }
            }
        }
    }
}

/// Registers the kinds of every definition whose names are accepted.
fn serve(api: &Api, definitions: &mut Definitions) {
    definitions.follow(&api.store.list(&collection(), None, None, None).items);
    api.registry.replace_custom(&definitions.kinds());
}

fn condition_holds(definition: &Value, name: &str) -> bool {
    kinds::read::list(kinds::read::get(definition, "status"), "conditions")
        .iter()
        .any(|condition| condition["type"] == name && condition["status"] == "True")
}

/// Brings the status of one definition up to date.
async fn settle(api: &Arc<Api>, definition: &Value, all: &[&Value]) {
    let names = crd::name_conditions(definition, all.iter().copied());
    let accepted = names.names_accepted["status"] == "True";
    let established = if accepted {
        established(definition, names.established)
    } else {
        names.established
    };
    let settled = change(api, definition, Part::Status, |old| {
        let mut new = old.clone();
        let status = kinds::read::object_mut(&mut new, "status");
        status.insert("acceptedNames".to_owned(), names.accepted.clone());
        set_condition(&mut new, &names.names_accepted);
        set_condition(&mut new, &established);
        new
    })
    .await;
    if let Err(error) = settled {
        tracing::warn!(definition = object::name(definition), error = %error.message, "cannot settle the definition");
    }
}

async fn change(
    api: &Arc<Api>,
    definition: &Value,
    part: Part,
    make: impl FnMut(&Value) -> Value,
) -> Result<()> {
    let Some(kind) = kind(api) else { return Ok(()) };
    internal::change(api, &kind, NAME, part, "", object::name(definition), make)
        .await
        .map(drop)
}

/// Names that are accepted are served at once, so the definition is established.
fn established(definition: &Value, before: Value) -> Value {
    if condition_holds(definition, "Established") {
        before
    } else {
        crd::establish()
    }
}

fn set_condition(definition: &mut Value, condition: &Value) {
    let status = kinds::read::object_mut(definition, "status");
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    let mut fresh = condition.clone();
    match list.iter_mut().find(|old| old["type"] == condition["type"]) {
        Some(old) if old["status"] == condition["status"] => {
            fresh["lastTransitionTime"] = old["lastTransitionTime"].clone();
            *old = fresh;
        }
        Some(old) => {
            fresh["lastTransitionTime"] = timestamp(jiff::Timestamp::now()).into();
            *old = fresh;
        }
        None => {
            fresh["lastTransitionTime"] = timestamp(jiff::Timestamp::now()).into();
            list.push(fresh);
        }
    }
}

fn awaits_cleanup(definition: &Value) -> bool {
    object::finalizers(definition).any(|finalizer| finalizer == CLEANUP)
}

/// A definition that is deleted takes its instances with it; their finalizers may hold it. Answers
/// with its uid when it is over.
async fn end(api: Arc<Api>, definition: Value) -> String {
    while let Err(error) = clean_up(&api, &definition).await {
        // Somebody else may have let it go.
        if error.reason == "NotFound" {
            break;
        }
        tracing::warn!(definition = object::name(&definition), error = %error.message, "cannot end the definition");
        tokio::time::sleep(RECHECK).await;
    }
    object::uid(&definition).to_owned()
}

async fn clean_up(api: &Arc<Api>, definition: &Value) -> Result<()> {
    change(api, definition, Part::Status, |old| {
        let mut new = old.clone();
        set_condition(&mut new, &deletion_in_progress());
        new
    })
    .await?;
    let spec = kinds::read::get(definition, "spec");
    let (group, plural) = (
        kinds::read::text(spec, "group"),
        kinds::read::text(kinds::read::get(spec, "names"), "plural"),
    );
    if let Some(instances) = stored_kind(&api.registry.snapshot(), group, plural) {
        delete_instances(api, &instances).await?;
        let _ = api.store.drop_collection(&instances.collection).await;
    }
    change(api, definition, Part::Main, |old| {
        let mut new = old.clone();
        object::remove_finalizer(&mut new, CLEANUP);
        new
    })
    .await
}

/// The instances in the version they are stored in, where it is served: what deletes them need not
/// convert them.
fn stored_kind(snapshot: &Snapshot, group: &str, plural: &str) -> Option<Arc<Kind>> {
    let any = snapshot.by_plural(group, plural)?;
    let storage = any.custom()?.storage_version();
    Some(snapshot.get(group, storage, plural).unwrap_or(any).clone())
}

/// Deletes every instance and waits until the last one is gone.
async fn delete_instances(api: &Arc<Api>, instances: &Arc<Kind>) -> Result<()> {
    let list = || api.store.list(&instances.collection, None, None, None).items;
    loop {
        let revision = api.store.revision();
        for stored in list() {
            let (namespace, name) = (stored.namespace(), stored.name());
            let options = DeleteOptions::default();
            match internal::delete(api, instances, NAME, namespace, name, &options).await {
                Err(error) if error.reason != "NotFound" => return Err(error),
                _ => {}
            }
        }
        if list().is_empty() {
            return Ok(());
        }
        // Finalizers hold some: another try when one of them changes.
        if let Ok(mut changes) = api.store.watch(&instances.collection, None, revision) {
            let _ = tokio::time::timeout(RECHECK, changes.next()).await;
        }
    }
}

fn deletion_in_progress() -> Value {
    json!({
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
        "message": "CustomResource deletion is in progress",
    })
}

/// What a deletion adds to a definition: it waits until its instances are gone.
pub(crate) fn mark_terminating(kind: &Kind, definition: &mut Value) {
    if !kind.is(GROUP, "CustomResourceDefinition") {
        return;
    }
    object::add_finalizer(definition, CLEANUP);
    set_condition(
        definition,
        &json!({
            "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }),
    );
}
