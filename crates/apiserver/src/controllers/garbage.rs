//! The garbage collector: objects whose owners are gone go too; an owner deleted in the foreground
//! waits for its dependents, one that orphans them lets go of them first.
//!
//! It keeps only the edges between objects. Before it acts it looks at the store, so that a late or
//! repeated event does no harm.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;
use store::Key;
use tokio::{sync::mpsc, task::JoinSet};

use super::feed::{Change, Feeds};
use crate::{
    api::Api,
    error::Result,
    internal,
    kind::Kind,
    object,
    thin::{self, OwnerReference, Thin},
    writes::{
        delete::{DeleteOptions, FOREGROUND, ORPHAN, Propagation},
        update::Part,
    },
};

const NAME: &str = "generic-garbage-collector";

/// Events that may wait for the collector; the feeds wait when it is full.
const QUEUE: usize = 1024;

pub(crate) async fn run(api: Arc<Api>) {
    let (sender, mut receiver) = mpsc::channel(QUEUE);
    let mut registry = api.registry.changes();
    let mut feeds = Feeds::new(sender);
    let mut tasks = JoinSet::new();
    feeds.follow(&api, &mut tasks);
    let mut collector = Collector {
        api: api.clone(),
        graph: Graph::default(),
    };
    loop {
        tokio::select! {
            changed = registry.changed() => {
                if changed.is_err() {
                    return;
                }
                feeds.follow(&api, &mut tasks);
            }
            change = receiver.recv() => match change {
                Some((kind, change)) => collector.observe(&kind, change).await,
                None => return,
            },
        }
    }
}

/// An object with owners, or one whose deletion waits for its dependents.
#[derive(Clone)]
struct Node {
    kind: Arc<Kind>,
    key: Key,
    owners: Vec<OwnerReference>,
    foreground: bool,
}

#[derive(Default)]
struct Graph {
    nodes: HashMap<String, Node>,
    dependents: HashMap<String, HashSet<String>>,
}

impl Graph {
    fn put(&mut self, uid: &str, node: Node) {
        self.remove(uid);
        for owner in &node.owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(uid.to_owned());
        }
        self.nodes.insert(uid.to_owned(), node);
    }

    fn remove(&mut self, uid: &str) -> Option<Node> {
        let node = self.nodes.remove(uid)?;
        for owner in &node.owners {
            if let Some(set) = self.dependents.get_mut(&owner.uid) {
                set.remove(uid);
                if set.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        Some(node)
    }

    fn dependents(&self, uid: &str) -> Vec<String> {
        self.dependents
            .get(uid)
            .map(|set| set.iter().cloned().collect())
            .unwrap_or_default()
    }
}

struct Collector {
    api: Arc<Api>,
    graph: Graph,
}

/// How the owners of an object stand.
#[derive(Default)]
struct Owners {
    solid: Vec<String>,
    gone: Vec<String>,
    /// Being deleted in the foreground: they wait for this object.
    waiting: Vec<String>,
}

impl Owners {
    fn are_all_solid(&self) -> bool {
        self.gone.is_empty() && self.waiting.is_empty()
    }
}

impl Collector {
    async fn observe(&mut self, kind: &Arc<Kind>, change: Change) {
        let result = match change {
            Change::Present(stored) => self.present(kind, &stored).await,
            Change::Gone(stored) => self.gone(&thin::read(&stored)).await,
        };
        if let Err(error) = result {
            tracing::warn!(kind = %kind.kind, error = %error.message, "garbage collection failed; it is tried again with the next change");
        }
    }

    async fn present(&mut self, kind: &Arc<Kind>, stored: &store::Object) -> Result<()> {
        let thin = thin::read(stored);
        let uid = thin.metadata.uid.clone();
        let foreground = thin.is_deleting() && thin.has_finalizer(FOREGROUND);
        let orphan = thin.is_deleting() && thin.has_finalizer(ORPHAN);
        let before = self.graph.remove(&uid);
        if !thin.metadata.owner_references.is_empty() || foreground {
            let owners = thin.metadata.owner_references.clone();
            self.graph.put(
                &uid,
                Node {
                    kind: kind.clone(),
                    key: stored.key().clone(),
                    owners,
                    foreground,
                },
            );
        }
        if orphan {
            self.orphan(kind, stored.key(), &uid).await?;
        }
        if foreground {
            self.foreground(&uid).await?;
        }
        if !thin.metadata.owner_references.is_empty() {
            self.settle(&uid).await?;
        }
        // An owner may have waited for an edge that is no longer there.
        for owner in before.iter().flat_map(|node| &node.owners) {
            self.foreground(&owner.uid).await?;
        }
        Ok(())
    }

    async fn gone(&mut self, thin: &Thin) -> Result<()> {
        let uid = &thin.metadata.uid;
        self.graph.remove(uid);
        for dependent in self.graph.dependents(uid) {
            self.settle(&dependent).await?;
        }
        // Not those of the graph: whoever looked for it in vain has taken it out of there already.
        for owner in &thin.metadata.owner_references {
            self.foreground(&owner.uid).await?;
        }
        Ok(())
    }

    /// Deletes an object whose owners are all gone, and drops those that are from its references.
    async fn settle(&mut self, uid: &str) -> Result<()> {
        let Some(node) = self.graph.nodes.get(uid) else {
            return Ok(());
        };
        // By what is known of it: if it has others by now, that is yet to be heard. Most stop here, and cost
        // no look at themselves.
        if self.owners(&node.key, &node.owners).are_all_solid() {
            return Ok(());
        }
        let node = node.clone();
        let Some(stored) = self.lookup(&node, uid) else {
            self.graph.remove(uid);
            return Ok(());
        };
        let thin = thin::read(&stored);
        let owners = self.owners(&node.key, &thin.metadata.owner_references);
        if owners.are_all_solid() {
            return Ok(());
        }
        if !owners.solid.is_empty() {
            let drop: Vec<String> = owners.gone.into_iter().chain(owners.waiting).collect();
            return self.drop_references(&node, &drop).await;
        }
        if thin.is_deleting() && !(thin.has_finalizer(FOREGROUND) || thin.has_finalizer(ORPHAN)) {
            return Ok(());
        }
        let dependents = self.graph.dependents(uid);
        let has_dependents = !dependents.is_empty();
        let circular = dependents
            .iter()
            .any(|uid| self.graph.nodes.get(uid).is_some_and(|node| node.foreground));
        if !owners.waiting.is_empty() && circular {
            // Its own dependents wait for theirs, which may lead back here: nobody may block on this one.
            self.unblock(&node).await?;
        }
        let propagation = if thin.has_finalizer(ORPHAN) {
            Propagation::Orphan
        } else if thin.has_finalizer(FOREGROUND) || (!owners.waiting.is_empty() && has_dependents) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        if thin.is_deleting() && propagation != Propagation::Background {
            return Ok(());
        }
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(uid.to_owned()),
            ..DeleteOptions::default()
        };
        let deleted = internal::delete(
            &self.api,
            &node.kind,
            NAME,
            node.key.namespace(),
            node.key.name(),
            &options,
        )
        .await;
        ignore_races(deleted.map(drop))
    }

    /// Starts on the dependents of an owner that waits for them, or lets it go when there are none.
    async fn foreground(&mut self, uid: &str) -> Result<()> {
        let Some(owner) = self.graph.nodes.get(uid).filter(|node| node.foreground).cloned() else {
            return Ok(());
        };
        if self.is_blocked(uid) {
            for dependent in self.graph.dependents(uid) {
                Box::pin(self.settle(&dependent)).await?;
            }
            // Who was looked for in vain blocks nobody, and nobody may ever tell that it is gone.
            if self.is_blocked(uid) {
                return Ok(());
            }
        }
        self.remove_finalizer(&owner.kind, &owner.key, uid, FOREGROUND)
            .await
    }

    fn is_blocked(&self, uid: &str) -> bool {
        let dependents = self.graph.dependents.get(uid).into_iter().flatten();
        let mut owners = dependents
            .filter_map(|dependent| self.graph.nodes.get(dependent))
            .flat_map(|node| &node.owners);
        owners.any(|reference| reference.uid == uid && reference.block_owner_deletion)
    }

    /// Frees the dependents of an owner that orphans them, then the owner.
    async fn orphan(&mut self, kind: &Arc<Kind>, key: &Key, uid: &str) -> Result<()> {
        for dependent in self.graph.dependents(uid) {
            if let Some(node) = self.graph.nodes.get(&dependent).cloned() {
                self.drop_references(&node, &[uid.to_owned()]).await?;
            }
        }
        self.remove_finalizer(kind, key, uid, ORPHAN).await
    }

    fn lookup(&self, node: &Node, uid: &str) -> Option<Arc<store::Object>> {
        let stored = self
            .api
            .store
            .get(&node.kind.collection, node.key.namespace(), node.key.name())?;
        (thin::read(&stored).metadata.uid == uid).then_some(stored)
    }

    fn owners(&self, key: &Key, references: &[OwnerReference]) -> Owners {
        let mut owners = Owners::default();
        let snapshot = self.api.registry.snapshot();
        for reference in references {
            let (group, version) = reference
                .api_version
                .split_once('/')
                .unwrap_or(("", &reference.api_version));
            // An owner of a kind nobody serves may come back; nothing is deleted on a guess.
            let Some(kind) = snapshot.by_kind(group, version, &reference.kind) else {
                owners.solid.push(reference.uid.clone());
                continue;
            };
            let namespace = if kind.namespaced { key.namespace() } else { "" };
            let found = self
                .api
                .store
                .get(&kind.collection, namespace, &reference.name)
                .map(|stored| thin::read(&stored));
            let list = match found {
                Some(owner) if owner.metadata.uid == reference.uid => {
                    if owner.is_deleting() && owner.has_finalizer(FOREGROUND) {
                        &mut owners.waiting
                    } else {
                        &mut owners.solid
                    }
                }
                _ => &mut owners.gone,
            };
            list.push(reference.uid.clone());
        }
        owners
    }

    async fn drop_references(&self, node: &Node, uids: &[String]) -> Result<()> {
        let changed = internal::change(
            &self.api,
            &node.kind,
            NAME,
            Part::Main,
            node.key.namespace(),
            node.key.name(),
            |old| without_owners(old, uids),
        );
        ignore_races(changed.await.map(drop))
    }

    /// Lets the owners of an object go without it.
    async fn unblock(&self, node: &Node) -> Result<()> {
        let (namespace, name) = (node.key.namespace(), node.key.name());
        let changed = internal::change(&self.api, &node.kind, NAME, Part::Main, namespace, name, |old| {
            let mut new = old.clone();
            for reference in kinds::read::list_mut(&mut new["metadata"], "ownerReferences") {
                reference["blockOwnerDeletion"] = false.into();
            }
            new
        });
        ignore_races(changed.await.map(drop))
    }

    async fn remove_finalizer(&self, kind: &Arc<Kind>, key: &Key, uid: &str, name: &str) -> Result<()> {
        let changed = internal::change(
            &self.api,
            kind,
            NAME,
            Part::Main,
            key.namespace(),
            key.name(),
            |old| {
                let mut new = old.clone();
                if object::uid(old) == uid {
                    object::remove_finalizer(&mut new, name);
                }
                new
            },
        );
        ignore_races(changed.await.map(drop))
    }
}

/// Somebody else was faster: the next event tells what is left to do.
fn ignore_races(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if matches!(&*error.reason, "NotFound" | "Conflict") => Ok(()),
        other => other,
    }
}

fn without_owners(old: &Value, uids: &[String]) -> Value {
    let mut new = old.clone();
    let kept: Vec<Value> = kinds::read::list(&old["metadata"], "ownerReferences")
        .iter()
        .filter(|reference| !uids.iter().any(|uid| uid == kinds::read::text(reference, "uid")))
        .cloned()
        .collect();
    object::set_meta(
        &mut new,
        "ownerReferences",
        (!kept.is_empty()).then_some(Value::Array(kept)),
    );
    new
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{bootstrap, start::Running};

    const FOLDER: &str = "/api/v1/namespaces/default/configmaps";

    async fn create(api: &Arc<Api>, metadata: Value) -> String {
        let (code, made) = bootstrap::post(api, FOLDER, &json!({"metadata": metadata})).await;
        assert_eq!(code, 201, "{made}");
        object::uid(&made).to_owned()
    }

    /// The last dependent goes while the collector looks at its owner, and it does not hear of that: events are
    /// lost to those who are too slow.
    #[tokio::test]
    async fn an_owner_whose_last_dependent_was_looked_for_in_vain_goes_too() {
        let folder = tempfile::tempdir().unwrap();
        let running = Running::without_controllers(folder.path()).await;
        let api = running.api.clone();
        let snapshot = api.registry.snapshot();
        let kind = snapshot.by_kind("", "v1", "ConfigMap").unwrap();
        let stored = |name: &str| api.store.get(&kind.collection, "default", name);
        let owner = create(&api, json!({"name": "owner"})).await;
        let reference = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner, "blockOwnerDeletion": true,
        });
        create(&api, json!({"name": "owned", "ownerReferences": [reference]})).await;
        let owned = stored("owned").unwrap();
        let mut collector = Collector {
            api: api.clone(),
            graph: Graph::default(),
        };
        collector.present(kind, &owned).await.unwrap();

        let delete = async |name: &str, propagation| {
            let options = DeleteOptions {
                propagation: Some(propagation),
                ..DeleteOptions::default()
            };
            internal::delete(&api, kind, "test", "default", name, &options)
                .await
                .unwrap();
        };
        delete("owner", Propagation::Foreground).await;
        delete("owned", Propagation::Background).await;
        assert!(stored("owner").is_some(), "it waits");
        collector.present(kind, &stored("owner").unwrap()).await.unwrap();
        assert!(stored("owner").is_none());
        // It may yet hear of it.
        collector.gone(&thin::read(&owned)).await.unwrap();
        running.stop().await;
    }
}
