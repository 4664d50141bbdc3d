//! Locks of workflows that are gone. Each pod carries the locks that it was made under; when nobody else is left to say
//! who holds them, they are the pod's until it has ended.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Locks, unlock::is_part, walk::Walk};
use crate::{names, observed::Pod};

/// A lock that a pod was made under.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Under {
    pub lock: String,
    /// `namespace/workflow@uid` or `namespace/workflow@uid/node`: another workflow of that name is somebody else, and
    /// no workflow is called so.
    pub holder: String,
}

impl Under {
    /// What is written on a pod; nothing, where that cannot be read.
    pub(crate) fn read(annotation: &Value) -> Vec<Self> {
        let text = annotation.as_str();
        text.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// Whether this workflow holds it, or one of its nodes.
    pub fn is_held_by(&self, namespace: &str, workflow: &str, uid: &str) -> bool {
        let rest = self.holder.strip_prefix(&heir(namespace, workflow, uid));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Locks {
    /// Whether something is held by pods of a workflow of this name that is gone.
    pub fn has_heirs(&self, namespace: &str, workflow: &str) -> bool {
        let start = heir(namespace, workflow, "");
        self.all().any(|(_, who)| who.starts_with(&start))
    }

    /// Finds out anew what is held by pods of workflows of this name that are gone. `living` is the uid of the one
    /// that is there, or empty: what is held under that is in its status.
    pub fn inherit<'p>(
        &mut self,
        namespace: &str,
        workflow: &str,
        living: &str,
        pods: impl IntoIterator<Item = &'p Pod>,
    ) {
        let start = heir(namespace, workflow, "");
        self.forget(|who| who.starts_with(&start));
        let running = pods.into_iter().filter(|pod| !pod.has_ended());
        for under in running.flat_map(|pod| &pod.under) {
            let rest = under.holder.strip_prefix(&start);
            let uid = rest.and_then(|rest| rest.split('/').next());
            if uid.is_some_and(|uid| uid != living) {
                self.keep(&under.lock, &under.holder);
            }
        }
    }
}

impl Walk<'_> {
    /// Writes on the pods that are to be made what they are made under.
    pub(super) fn note_locks(&mut self) {
        let held: Vec<(String, String)> = self.locks.held(&self.namespace, &self.name);
        let uid = self.object["metadata"]["uid"].as_str().unwrap_or_default();
        let whole = heir(&self.namespace, &self.name, uid);
        for pod in self.plan.make.iter_mut().filter(|object| object["kind"] == "Pod") {
            let Some(annotations) = pod["metadata"]["annotations"].as_object_mut() else {
                continue;
            };
            let name = annotations.get(names::NODE_NAME).and_then(Value::as_str);
            let name = name.unwrap_or_default();
            let is_around = |id: &str| {
                let node = self.status.nodes.get(id);
                id.is_empty() || node.is_none_or(|node| is_part(name, &node.name))
            };
            let around = held.iter().filter(|(_, id)| is_around(id));
            let under: Vec<Under> = around
                .map(|(lock, id)| Under {
                    lock: lock.clone(),
                    holder: match id.as_str() {
                        "" => whole.clone(),
                        id => format!("{whole}/{id}"),
                    },
                })
                .collect();
            // Nobody else says what is held.
            annotations.remove(names::LOCKS);
            if !under.is_empty() {
                annotations.insert(names::LOCKS.to_owned(), json!(json!(under).to_string()));
            }
        }
    }
}

fn heir(namespace: &str, workflow: &str, uid: &str) -> String {
    format!("{namespace}/{workflow}@{uid}")
}
