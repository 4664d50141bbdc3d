//! What tasks are made of, as it was: immutable ControllerRevisions named by their content, shared by all tasks that
//! use them and kept while one does.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use kube::{Client, api::DeleteParams, core::ApiResource};
use parking_lot::Mutex;
use reconcile::requests;
use resources::tasks::{TaskDefinitionSpec, TaskTemplateSpec, names::labels};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use templates::slug;

use crate::{places, requests::only, world::World};

/// So many revisions are remembered.
const REMEMBERED: usize = 512;
/// A revision that was used a moment ago may be on its way into a task's status.
const IN_USE: Duration = Duration::from_mins(10);
const HASH_LENGTH: usize = 16;
const NAME_LENGTH: usize = 40;

/// What a definition was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definition {
    pub name: String,
    pub spec: TaskDefinitionSpec,
}

/// What a template was, with the texts it may include.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Template {
    pub name: String,
    pub spec: TaskTemplateSpec,
    #[serde(default)]
    pub includes: BTreeMap<String, String>,
}

/// Revisions that were made or read, by namespace and name.
#[derive(Default)]
pub(crate) struct Revisions {
    known: Mutex<HashMap<(String, String), Known>>,
}

struct Known {
    data: Arc<Value>,
    used: Instant,
}

fn resource() -> ApiResource {
    places::resource("apps/v1", "ControllerRevision", "controllerrevisions")
}

impl Revisions {
    /// Makes sure that there is a revision of this content; its name.
    pub(crate) async fn pin(
        &self,
        client: &Client,
        namespace: &str,
        kind: &str,
        name: &str,
        content: &impl Serialize,
    ) -> kube::Result<String> {
        let data = serde_json::to_value(content).map_err(kube::Error::SerdeError)?;
        let revision = revision_name(kind, name, &data);
        let key = (namespace.to_owned(), revision.clone());
        if self.recall(&key).is_some() {
            return Ok(revision);
        }
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": revision,
                "namespace": namespace,
                "labels": {labels::REVISION_OF: kind},
                "annotations": {labels::REVISION_OF: name},
            },
            "revision": 1,
            "data": data,
        });
        let folder = places::folder(&resource(), Some(namespace));
        match requests::create::<Value>(client, &folder, &object).await {
            // The name is its content.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            made => drop(made?),
        }
        self.remember(key, Arc::new(data));
        Ok(revision)
    }

    /// What a revision holds; none where it is gone.
    pub(crate) async fn read(
        &self,
        client: &Client,
        namespace: &str,
        revision: &str,
    ) -> kube::Result<Option<Arc<Value>>> {
        let key = (namespace.to_owned(), revision.to_owned());
        if let Some(known) = self.recall(&key) {
            return Ok(Some(known));
        }
        let folder = places::folder(&resource(), Some(namespace));
        let mut found: Value = match requests::get(client, &folder, revision).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            answer => answer?,
        };
        let data = Arc::new(found["data"].take());
        self.remember(key, data.clone());
        Ok(Some(data))
    }

    fn recall(&self, key: &(String, String)) -> Option<Arc<Value>> {
        let mut known = self.known.lock();
        let found = known.get_mut(key)?;
        found.used = Instant::now();
        Some(found.data.clone())
    }

    fn remember(&self, key: (String, String), data: Arc<Value>) {
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED {
            known.retain(|_, known| known.used.elapsed() < IN_USE);
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(
            key,
            Known {
                data,
                used: Instant::now(),
            },
        );
    }

    /// Whether it was used so lately that its task may not be written yet.
    fn is_in_use(&self, namespace: &str, revision: &str) -> bool {
        let known = self.known.lock();
        let found = known.get(&(namespace.to_owned(), revision.to_owned()));
        found.is_some_and(|known| known.used.elapsed() < IN_USE)
    }

    /// Deletes revisions that no task is made of. `doubtful` are those that none was made of at the last sweep: only
    /// they go, so that a task that is being made while this looks loses nothing.
    pub(crate) async fn sweep(
        &self,
        world: &World,
        doubtful: HashSet<String>,
    ) -> kube::Result<HashSet<String>> {
        let used: HashSet<(String, Box<str>)> = world
            .tasks
            .all()
            .iter()
            .flat_map(|task| {
                let namespace = reconcile::Cached::namespace(&**task).to_owned();
                task.revisions
                    .clone()
                    .map(|revision| (namespace.clone(), revision))
            })
            .collect();
        let api: kube::Api<kube::core::PartialObjectMeta<kube::core::DynamicObject>> =
            kube::Api::all_with(world.client.clone(), &resource());
        let parameters = kube::api::ListParams::default().labels(labels::REVISION_OF);
        let mut unused = HashSet::new();
        for found in api.list_metadata(&parameters).await?.items {
            let meta = found.metadata;
            let (Some(namespace), Some(name), Some(uid)) = (meta.namespace, meta.name, meta.uid) else {
                continue;
            };
            if used.contains(&(namespace.clone(), name.as_str().into())) || self.is_in_use(&namespace, &name)
            {
                continue;
            }
            if !doubtful.contains(&uid) {
                unused.insert(uid);
                continue;
            }
            self.known.lock().remove(&(namespace.clone(), name.clone()));
            let folder = places::folder(&resource(), Some(&namespace));
            let parameters = DeleteParams::background().preconditions(only(&uid));
            let deleted = requests::delete::<Value>(&world.client, &folder, &name, &parameters).await;
            crate::requests::ignore_gone(deleted.map(drop))?;
        }
        Ok(unused)
    }
}

/// `td-mnist-3f…`: what it is of, and a hash of all it holds.
fn revision_name(kind: &str, name: &str, data: &Value) -> String {
    let text = data.to_string();
    let digest = Sha256::digest(text.as_bytes());
    let mut hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hash.truncate(HASH_LENGTH);
    let prefix = if kind == "TaskTemplate" { "tt" } else { "td" };
    format!("{prefix}-{}-{hash}", slug(name, NAME_LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_revision_is_its_content() {
        let one = revision_name("TaskDefinition", "mnist_cpu", &json!({"a": 1}));
        assert_eq!(
            one,
            revision_name("TaskDefinition", "mnist_cpu", &json!({"a": 1}))
        );
        assert_ne!(
            one,
            revision_name("TaskDefinition", "mnist_cpu", &json!({"a": 2}))
        );
        assert!(one.starts_with("td-mnist-cpu-") && one.len() < 63, "{one}");
    }
}
