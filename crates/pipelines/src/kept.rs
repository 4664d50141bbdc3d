//! Objects as they are remembered while nobody looks at them.

use jiff::Timestamp;
use reconcile::{Cached, Controller, Identity, Key};
use resources::workflows::WORKFLOW;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use workflows::{Pod, names, node::Phase};

/// A workflow: its text, unless nothing can happen to it unless somebody changes it.
#[derive(Clone, Debug)]
pub(crate) struct KeptWorkflow {
    identity: Identity,
    text: Option<Box<str>>,
    pub phase: Phase,
    pub finished_at: Option<Timestamp>,
    pub is_being_deleted: bool,
    pub is_being_stopped: bool,
    /// Another controller's.
    pub is_foreign: bool,
    /// So many pods of it have not ended, as it was last stored.
    pub unfinished: u32,
}

impl KeptWorkflow {
    /// The workflow itself; none where it has to be asked for.
    pub(crate) fn object(&self) -> Option<Value> {
        serde_json::from_str(self.text.as_deref()?).ok()
    }
}

impl<'de> Deserialize<'de> for KeptWorkflow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        let (meta, status) = (&object["metadata"], &object["status"]);
        Ok(Self {
            identity: Identity::read(meta),
            phase: Phase::deserialize(&status["phase"]).unwrap_or_default(),
            finished_at: status["finishedAt"].as_str().and_then(|time| time.parse().ok()),
            is_being_deleted: meta["deletionTimestamp"].is_string(),
            is_being_stopped: object["spec"]["shutdown"].is_string(),
            is_foreign: meta["labels"][names::INSTANCE].is_string(),
            unfinished: unfinished(status["progress"].as_str().unwrap_or_default()),
            text: (!is_settled(&object)).then(|| object.to_string().into_boxed_str()),
        })
    }
}

/// What is left of `3/10`.
fn unfinished(progress: &str) -> u32 {
    let parts = progress.split_once('/');
    let numbers = parts.and_then(|(done, all)| Some((done.parse::<u32>().ok()?, all.parse::<u32>().ok()?)));
    numbers.map_or(0, |(done, all)| all.saturating_sub(done))
}

/// Whether everything is done that can be without somebody changing it, but for pods that are to be labelled.
fn is_settled(object: &Value) -> bool {
    let (spec, status) = (&object["spec"], &object["status"]);
    let stored = &status["storedWorkflowTemplateSpec"];
    let has = |field: &str| !spec[field].is_null() || !stored[field].is_null();
    object["metadata"]["labels"][names::COMPLETED] == "true"
        && status["finishedAt"].is_string()
        && status["synchronization"].is_null()
        && !has("ttlStrategy")
        && !has("podGC")
        && !has("volumeClaimTemplates")
}

/// A workflow that begins by the clock.
#[derive(Clone, Debug)]
pub(crate) struct KeptCron {
    identity: Identity,
    text: Box<str>,
}

impl KeptCron {
    pub(crate) fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok()
    }
}

impl<'de> Deserialize<'de> for KeptCron {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        Ok(Self {
            identity: Identity::read(&object["metadata"]),
            text: object.to_string().into_boxed_str(),
        })
    }
}

/// A pod; of those that are of no workflow nothing but that they are there.
#[derive(Clone, Debug)]
pub(crate) struct SeenPod {
    identity: Identity,
    pub pod: Option<Box<Pod>>,
}

impl SeenPod {
    /// The workflow it is of, or was before somebody let it go on alone.
    pub(crate) fn workflow(&self) -> Option<Key> {
        Some(Key::new(self.namespace(), self.workflow_name()?))
    }

    pub(crate) fn is_of(&self, workflow: &Key) -> bool {
        self.workflow_name() == Some(&*workflow.name) && self.namespace() == &*workflow.namespace
    }

    pub(crate) fn workflow_name(&self) -> Option<&str> {
        let pod = self.pod.as_deref()?;
        match self.controller() {
            Some(owner) => (owner.kind == WORKFLOW.kind).then_some(owner.name),
            None if pod.under.is_empty() => None,
            None => pod.labels.get(names::WORKFLOW)?.as_str(),
        }
    }

    pub(crate) fn is_under_locks(&self) -> bool {
        self.pod.as_deref().is_some_and(|pod| !pod.under.is_empty())
    }
}

impl<'de> Deserialize<'de> for SeenPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let meta = &object["metadata"];
        let is_ours = meta["labels"][names::WORKFLOW].is_string();
        Ok(Self {
            identity: Identity::read(meta),
            pod: is_ours.then(|| Box::new(Pod::read(&object))),
        })
    }
}

macro_rules! cached {
    ($($kept:ident),*) => {
        $(impl Cached for $kept {
            fn namespace(&self) -> &str {
                self.identity.namespace()
            }

            fn name(&self) -> &str {
                self.identity.name()
            }

            fn uid(&self) -> &str {
                self.identity.uid()
            }

            fn version(&self) -> u64 {
                self.identity.version()
            }

            fn controller(&self) -> Option<Controller<'_>> {
                self.identity.controller()
            }

            fn trim(&mut self) {}
        })*
    };
}

cached!(KeptWorkflow, KeptCron, SeenPod);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(object: Value) -> KeptWorkflow {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_workflow_to_which_nothing_more_happens_is_not_remembered_whole() {
        let mut ended = json!({
            "metadata": {"name": "w", "labels": {names::COMPLETED: "true"}},
            "spec": {"entrypoint": "e"},
            "status": {"phase": "Succeeded", "finishedAt": "2026-01-01T00:00:00Z"},
        });
        let known = kept(ended.clone());
        assert!(known.object().is_none());
        assert_eq!(known.phase, Phase::Succeeded);
        assert!(known.finished_at.is_some());
        let mut holding = ended.clone();
        holding["status"]["synchronization"] = json!({"mutex": {"holding": [{}]}});
        assert!(kept(holding).object().is_some(), "its locks are to be given back");
        ended["spec"]["ttlStrategy"] = json!({"secondsAfterCompletion": 5});
        assert_eq!(kept(ended.clone()).object(), Some(ended));
    }

    #[test]
    fn a_workflow_that_runs_is_remembered_without_what_nobody_reads() {
        let known = kept(json!({
            "metadata": {"name": "w", "managedFields": [{}]}, "spec": {"shutdown": "Stop"},
            "status": {"phase": "Running", "progress": "3/10"},
        }));
        assert!(known.is_being_stopped);
        assert_eq!(known.unfinished, 7);
        assert_eq!(known.object().unwrap()["metadata"], json!({"name": "w"}));
    }
}
