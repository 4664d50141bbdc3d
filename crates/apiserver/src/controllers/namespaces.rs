//! The life of namespaces: each gets its service account and the cluster's certificate; one that is
//! deleted is emptied first, pods before everything else.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    stream::{FuturesUnordered, StreamExt as _},
};
use serde_json::{Value, json};
use store::Collection;
use tokio::task::JoinSet;

use super::feed::{Change, Feed};
use crate::{
    api::Api,
    bootstrap,
    error::Result,
    internal,
    kind::Kind,
    object, thin,
    writes::{
        delete::{DeleteOptions, Propagation},
        timestamp,
        update::{Part, Special},
    },
};

const NAME: &str = "namespace-controller";
/// The ConfigMap with the certificate authority, in every namespace.
const AUTHORITY: &str = "kube-root-ca.crt";

/// A namespace that waits for finalizers is looked at again at least this often.
const RECHECK: Duration = Duration::from_secs(5);

pub(crate) async fn run(api: Arc<Api>) {
    let mut namespaces = Feed::new(&api.store, &Collection::new("", "namespaces"));
    let mut accounts = Feed::new(&api.store, &Collection::new("", "serviceaccounts"));
    let mut config_maps = Feed::new(&api.store, &Collection::new("", "configmaps"));
    let mut emptying: HashSet<String> = HashSet::new();
    let mut tasks: JoinSet<String> = JoinSet::new();
    loop {
        tokio::select! {
            Some(done) = tasks.join_next() => {
                if let Ok(name) = done {
                    emptying.remove(&name);
                }
            }
            change = namespaces.next() => match change {
                None => return,
                Some(Change::Gone(_)) => {}
                Some(Change::Present(stored)) => {
                    let thin = thin::read(&stored);
                    let name = thin.metadata.name.clone();
                    if !thin.is_deleting() {
                        furnish(&api, &name).await;
                    } else if emptying.insert(name.clone()) {
                        tasks.spawn(empty(api.clone(), name));
                    }
                }
            },
            // What every namespace has comes back when it is removed.
            Some(change) = accounts.next() => {
                if let Change::Gone(stored) = change && stored.name() == "default" {
                    furnish(&api, stored.namespace()).await;
                }
            }
            Some(change) = config_maps.next() => {
                match change {
                    Change::Gone(stored) if stored.name() == AUTHORITY => {
                        furnish(&api, stored.namespace()).await;
                    }
                    Change::Present(stored) if stored.name() == AUTHORITY => {
                        correct_authority(&api, &stored).await;
                    }
                    Change::Gone(_) | Change::Present(_) => {}
                }
            }
        }
    }
}

/// Creates what every namespace has. A namespace that ends meanwhile refuses it, which is fine.
async fn furnish(api: &Arc<Api>, namespace: &str) {
    let path = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}");
    let account = json!({ "metadata": { "name": "default", "namespace": namespace } });
    let certificate = json!({
        "metadata": {
            "name": AUTHORITY, "namespace": namespace,
            "annotations": { "kubernetes.io/description": "The certificate authority that signed the API server's certificate, for clients inside pods." },
        },
        "data": { "ca.crt": api.ca_pem },
    });
    for (plural, object) in [("serviceaccounts", account), ("configmaps", certificate)] {
        if let Err(error) = bootstrap::ensure(api, &path(plural), &object).await {
            tracing::debug!(namespace, plural, error = %error.message, "cannot furnish the namespace");
        }
    }
}

/// Pods trust what is written here, so nobody else's word stays.
async fn correct_authority(api: &Arc<Api>, stored: &store::Object) {
    let Some(found) = object::readable(stored) else {
        return;
    };
    let wanted = json!({ "ca.crt": api.ca_pem });
    let is_right = found.get("data") == Some(&wanted) && found.get("binaryData").is_none();
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get("", "v1", "configmaps").filter(|_| !is_right) else {
        return;
    };
    let namespace = stored.namespace();
    let changed = internal::change(api, kind, NAME, Part::Main, namespace, AUTHORITY, |old| {
        let mut new = old.clone();
        new["data"] = wanted.clone();
        if let Some(fields) = new.as_object_mut() {
            fields.remove("binaryData");
        }
        new
    });
    if let Err(error) = changed.await {
        tracing::debug!(namespace, error = %error.message, "cannot correct the certificate authority");
    }
}

/// Deletes everything in a namespace, then lets the namespace go.
async fn empty(api: Arc<Api>, namespace: String) -> String {
    let (api, name) = (&api, namespace.as_str());
    loop {
        let mut remaining = Vec::new();
        let mut failures = Vec::new();
        let kinds = contents(api);
        let (pods, others): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|kind| kind.is("", "Pod"));
        for group in [pods, others] {
            for kind in group {
                if let Err(error) = clear(api, &kind, name).await {
                    failures.push(format!("{}: {}", kind.plural, error.message));
                }
                let left = api.store.list(&kind.collection, Some(name), None, None).items;
                if !left.is_empty() {
                    remaining.push((kind, left));
                }
            }
            // Nothing may lose its network policy or configuration while a pod still runs.
            if !remaining.is_empty() {
                break;
            }
        }
        if remaining.is_empty() && failures.is_empty() {
            let _ = finalize(api, name).await;
            return namespace;
        }
        if report(api, name, &remaining, &failures).await.is_err() {
            return namespace;
        }
        wait_for_change(api, name, &remaining).await;
    }
}

/// Every kind whose objects live in namespaces.
fn contents(api: &Api) -> Vec<Arc<Kind>> {
    let kinds = api.registry.snapshot().stored_kinds();
    kinds
        .into_iter()
        .filter(|kind| kind.namespaced && kind.has_verb("delete"))
        .collect()
}

async fn clear(api: &Arc<Api>, kind: &Arc<Kind>, namespace: &str) -> Result<()> {
    let options = DeleteOptions {
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    for stored in api
        .store
        .list(&kind.collection, Some(namespace), None, None)
        .items
    {
        match internal::delete(api, kind, NAME, namespace, stored.name(), &options).await {
            Ok(_) => {}
            Err(error) if error.reason == "NotFound" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn finalize(api: &Arc<Api>, namespace: &str) -> Result<()> {
    let Some(kind) = api.registry.snapshot().get("", "v1", "namespaces").cloned() else {
        return Ok(());
    };
    let part = Part::Special(Special::unchecked("finalize"));
    internal::change(api, &kind, NAME, part, "", namespace, |old| {
        let mut new = old.clone();
        if let Some(list) = new.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) {
            list.retain(|finalizer| finalizer != "kubernetes");
        }
        new
    })
    .await
    .map(drop)
}

type Remaining = (Arc<Kind>, Vec<Arc<store::Object>>);

/// Says in the namespace's conditions what it waits for.
async fn report(api: &Arc<Api>, namespace: &str, remaining: &[Remaining], failures: &[String]) -> Result<()> {
    let Some(kind) = api.registry.snapshot().get("", "v1", "namespaces").cloned() else {
        return Ok(());
    };
    let conditions = conditions(remaining, failures);
    internal::change(api, &kind, NAME, Part::Status, "", namespace, |old| {
        let mut new = old.clone();
        set_conditions(&mut new, &conditions);
        new
    })
    .await
    .map(drop)
}

/// A condition of a namespace that is being emptied: false as long as all is well.
struct Condition {
    name: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

/// The reason of a condition, and the beginning of its message.
type Words = (&'static str, &'static str);

impl Condition {
    /// A condition that holds where there is something to tell.
    fn of(name: &'static str, troubles: &[String], well: Words, ill: Words) -> Self {
        let holds = !troubles.is_empty();
        let (reason, words) = if holds { ill } else { well };
        Self {
            name,
            holds,
            reason,
            message: format!("{words}{}", troubles.join(", ")),
        }
    }
}

fn conditions(remaining: &[Remaining], failures: &[String]) -> [Condition; 5] {
    [
        Condition::of(
            "NamespaceDeletionDiscoveryFailure",
            &[],
            ("ResourcesDiscovered", "All resources successfully discovered"),
            ("DiscoveryFailed", ""),
        ),
        Condition::of(
            "NamespaceDeletionGroupVersionParsingFailure",
            &[],
            ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
            ("GroupVersionParsingFailed", ""),
        ),
        Condition::of(
            "NamespaceDeletionContentFailure",
            failures,
            (
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            ("ContentDeletionFailed", "Failed to delete all resource types, "),
        ),
        Condition::of(
            "NamespaceContentRemaining",
            &counted(remaining),
            ("ContentRemoved", "All content successfully removed"),
            ("SomeResourcesRemain", "Some resources are remaining: "),
        ),
        Condition::of(
            "NamespaceFinalizersRemaining",
            &finalizers(remaining),
            (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
            (
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: ",
            ),
        ),
    ]
}

/// How many objects of each kind are left.
fn counted(remaining: &[Remaining]) -> Vec<String> {
    let count = |(kind, objects): &Remaining| {
        // The dot stays where there is no group.
        let resource = format!("{}.{}", kind.plural, kind.group);
        format!("{resource} has {} resource instances", objects.len())
    };
    remaining.iter().map(count).collect()
}

/// Which finalizers hold how many of them.
fn finalizers(remaining: &[Remaining]) -> Vec<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    for stored in remaining.iter().flat_map(|(_, objects)| objects) {
        for finalizer in thin::read(stored).metadata.finalizers {
            *counts.entry(finalizer).or_default() += 1;
        }
    }
    let shown = |(name, count)| format!("{name} in {count} resource instances");
    counts.into_iter().map(shown).collect()
}

fn set_conditions(namespace: &mut Value, conditions: &[Condition]) {
    let now = timestamp(jiff::Timestamp::now());
    let status = kinds::read::object_mut(namespace, "status");
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else { return };
    for condition in conditions {
        let truth = if condition.holds { "True" } else { "False" };
        let fresh = json!({
            "type": condition.name, "status": truth, "lastTransitionTime": now,
            "reason": condition.reason, "message": condition.message,
        });
        match list.iter_mut().find(|old| old["type"] == condition.name) {
            Some(old) if old["status"] == truth => {
                old["message"] = condition.message.as_str().into();
                old["reason"] = condition.reason.into();
            }
            Some(old) => *old = fresh,
            None => list.push(fresh),
        }
    }
}

/// Waits until something of what is left changes.
async fn wait_for_change(api: &Arc<Api>, namespace: &str, remaining: &[Remaining]) {
    let mut watchers: Vec<store::Watcher> = remaining
        .iter()
        .filter_map(|(kind, _)| {
            api.store
                .watch(&kind.collection, Some(namespace), api.store.revision())
                .ok()
        })
        .collect();
    let mut changes: FuturesUnordered<_> = watchers
        .iter_mut()
        .map(|watcher| watcher.next().boxed())
        .collect();
    // The lists may have changed between being read and being watched.
    let unchanged = remaining.iter().all(|(kind, objects)| {
        api.store
            .list(&kind.collection, Some(namespace), None, None)
            .items
            .len()
            == objects.len()
    });
    if unchanged {
        let _ = tokio::time::timeout(RECHECK, changes.next()).await;
    }
}
