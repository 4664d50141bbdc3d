//! Custom resource definitions: which names they get, when they are served, and how they end.

use std::sync::Arc;

use schemas::crd;
use serde_json::{Value, json};
use store::Collection;

use super::{feed::Feed, garbage::without_finalizer};
use crate::{
    api::Api,
    custom,
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

fn collection() -> Collection {
    Collection::new(GROUP, "customresourcedefinitions")
}

fn kind(api: &Api) -> Option<Arc<Kind>> {
    api.registry
        .snapshot()
        .get(GROUP, "v1", "customresourcedefinitions")
        .cloned()
}

/// Every definition with the revision of its last change, oldest first: the first to ask for a name
/// has it.
fn definitions(api: &Api) -> Vec<(Value, u64)> {
    let Some(kind) = kind(api) else { return Vec::new() };
    let mut all: Vec<(Value, u64)> = api
        .store
        .list(&collection(), None, None, None)
        .items
        .iter()
        .map(|stored| (kind.read(stored), stored.revision()))
        .collect();
    all.sort_by(|(a, _), (b, _)| {
        let key = |object: &Value| {
            (
                object::meta_text(object, "creationTimestamp").to_owned(),
                object::name(object).to_owned(),
            )
        };
        key(a).cmp(&key(b))
    });
    all
}

/// Serves the definitions that were established before the last stop.
pub(crate) fn load(api: &Arc<Api>) {
    serve(api, &definitions(api));
}

pub(crate) async fn run(api: Arc<Api>) {
    let mut changes = Feed::new(&api.store, &collection());
    while changes.next().await.is_some() {
        let all = definitions(&api);
        // Whoever sees the condition may use the kind: it is served before it says so.
        serve(&api, &all);
        for (definition, _) in &all {
            if let Err(error) = settle(&api, definition, &all).await {
                tracing::warn!(definition = object::name(definition), error = %error.message, "cannot settle the definition");
            }
        }
    }
}

/// Registers the kinds of every definition whose names are accepted.
fn serve(api: &Api, all: &[(Value, u64)]) {
    let mut kinds = Vec::new();
    for (definition, revision) in all {
        if condition_holds(definition, "NamesAccepted") && condition_holds(definition, "Established") {
            kinds.extend(custom::kinds(definition, *revision));
        }
    }
    api.registry.replace_custom(&kinds);
}

fn condition_holds(definition: &Value, name: &str) -> bool {
    kinds::read::list(kinds::read::get(definition, "status"), "conditions")
        .iter()
        .any(|condition| condition["type"] == name && condition["status"] == "True")
}

/// Brings the status of one definition up to date, and ends it when it is being deleted.
async fn settle(api: &Arc<Api>, definition: &Value, all: &[(Value, u64)]) -> Result<()> {
    if object::is_deleting(definition) {
        return finish(api, definition).await;
    }
    let names = crd::name_conditions(definition, all.iter().map(|(other, _)| other));
    let accepted = names.names_accepted["status"] == "True";
    let established = if accepted {
        established(definition, names.established)
    } else {
        names.established
    };
    let Some(kind) = kind(api) else { return Ok(()) };
    internal::change(
        api,
        &kind,
        NAME,
        Part::Status,
        "",
        object::name(definition),
        |old| {
            let mut new = old.clone();
            let status = kinds::read::object_mut(&mut new, "status");
            status.insert("acceptedNames".to_owned(), names.accepted.clone());
            set_condition(&mut new, &names.names_accepted);
            set_condition(&mut new, &established);
            new
        },
    )
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

/// A definition that is deleted takes its instances with it; their finalizers may hold it.
async fn finish(api: &Arc<Api>, definition: &Value) -> Result<()> {
    if !object::finalizers(definition).any(|finalizer| finalizer == CLEANUP) {
        return Ok(());
    }
    let snapshot = api.registry.snapshot();
    let spec = kinds::read::get(definition, "spec");
    let (group, plural) = (
        kinds::read::text(spec, "group"),
        kinds::read::text(kinds::read::get(spec, "names"), "plural"),
    );
    if let Some(instances) = stored_kind(&snapshot, group, plural) {
        let mut left = Feed::new(&api.store, &instances.collection);
        loop {
            let items = api.store.list(&instances.collection, None, None, None).items;
            if items.is_empty() {
                break;
            }
            for stored in items {
                let deleted = internal::delete(
                    api,
                    &instances,
                    NAME,
                    stored.namespace(),
                    stored.name(),
                    &DeleteOptions::default(),
                )
                .await;
                if let Err(error) = deleted
                    && error.reason != "NotFound"
                {
                    return Err(error);
                }
            }
            if api
                .store
                .list(&instances.collection, None, None, None)
                .items
                .is_empty()
            {
                break;
            }
            // Finalizers hold some: another try when one of them changes.
            if tokio::time::timeout(std::time::Duration::from_secs(1), left.next())
                .await
                .is_err()
            {
                retry_later(api, definition);
                return Ok(());
            }
        }
        let _ = api.store.drop_collection(&instances.collection).await;
    }
    let Some(kind) = kind(api) else { return Ok(()) };
    internal::change(
        api,
        &kind,
        NAME,
        Part::Main,
        "",
        object::name(definition),
        |old| without_finalizer(old, CLEANUP),
    )
    .await
    .map(drop)
}

/// The instances in the version they are stored in, where it is served: what deletes them need not
/// convert them.
fn stored_kind(snapshot: &Snapshot, group: &str, plural: &str) -> Option<Arc<Kind>> {
    let any = snapshot.by_plural(group, plural)?;
    let storage = any.custom()?.storage_version();
    Some(snapshot.get(group, storage, plural).unwrap_or(any).clone())
}

/// Comes back to a definition whose instances are held, without holding up the others.
fn retry_later(api: &Arc<Api>, definition: &Value) {
    let (api, definition) = (api.clone(), definition.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = api.stopping() => {}
            () = tokio::time::sleep(std::time::Duration::from_secs(1)) => {
                let _ = Box::pin(finish(&api, &definition)).await;
            }
        }
    });
}

/// What a deletion adds to a definition: it waits until its instances are gone.
pub(crate) fn mark_terminating(kind: &Kind, definition: &mut Value) {
    if !kind.is(GROUP, "CustomResourceDefinition") {
        return;
    }
    let mut finalizers: Vec<Value> = object::finalizers(definition).map(Value::from).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    object::set_meta(definition, "finalizers", Some(finalizers.into()));
    set_condition(
        definition,
        &json!({
            "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }),
    );
}
