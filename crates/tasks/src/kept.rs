//! Objects as they are remembered while nobody looks at them: there may be a hundred thousand of each.

use reconcile::{Cached, Controller, Identity};
use resources::tasks::{Phase, TaskSpec, names::labels};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::plan::{Pod, RunState, Task, pods, runs};

/// A task: its text, unless nothing can happen to it unless somebody changes it.
#[derive(Clone, Debug)]
pub(crate) struct KeptTask {
    identity: Identity,
    text: Option<Box<str>>,
    /// What it was made of.
    pub revisions: [Box<str>; 2],
    /// The group of nodes it waits for.
    pub waits_for: Option<Box<str>>,
}

impl KeptTask {
    /// The task itself; none where it has to be asked for.
    pub(crate) fn task(&self) -> Option<Result<Task, serde_json::Error>> {
        let text = self.text.as_deref()?;
        Some(serde_json::from_str::<Value>(text).and_then(|object| Task::read(&object)))
    }
}

impl<'de> Deserialize<'de> for KeptTask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        let identity = Identity::read(&object["metadata"]);
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        let pinned = &object["status"]["pinned"];
        let revision = |of: &str| pinned[of]["revision"].as_str().unwrap_or_default().into();
        let waits_for = object["status"]["waiting"]["nodeGroup"].as_str();
        Ok(Self {
            identity,
            revisions: [revision("definition"), revision("template")],
            waits_for: waits_for.map(Into::into),
            text: (!is_settled(&object)).then(|| object.to_string().into_boxed_str()),
        })
    }
}

/// Whether everything is done and told that can be without somebody changing the task.
fn is_settled(object: &Value) -> bool {
    let Ok(task) = Task::read(object) else {
        return false;
    };
    let TaskSpec {
        attempt,
        ttl_seconds_after_finished,
        ..
    } = task.spec;
    // Of several that run, those that are left when one fails are still to be stopped.
    let running = task
        .status
        .children
        .iter()
        .filter(|child| crate::plan::runs(&child.api_version, &child.kind));
    let is_stopped = task.status.phase == Phase::Succeeded || running.count() <= 1;
    let last = task.status.events.last().map_or(0, |event| event.sequence);
    task.status.phase.is_final()
        && is_stopped
        && task.status.observed_generation == task.generation
        && task.status.announced >= last
        && attempt.unwrap_or(1) <= task.status.attempt
        && ttl_seconds_after_finished.is_none()
        && !task.is_deleting()
}

/// An object that runs.
#[derive(Clone, Debug)]
pub(crate) struct SeenRun {
    identity: Identity,
    pub attempt: i32,
    pub is_deleting: bool,
    pub state: RunState,
}

impl<'de> Deserialize<'de> for SeenRun {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let (api_version, kind) = kind_of(&object);
        let meta = &object["metadata"];
        let is_ours = meta["labels"][labels::TASK].is_string();
        Ok(Self {
            identity: Identity::read(meta),
            attempt: pods::attempt(meta),
            is_deleting: meta["deletionTimestamp"].is_string(),
            state: if is_ours {
                runs::state(api_version, kind, &object)
            } else {
                RunState::Waits
            },
        })
    }
}

/// Items of lists of built-in kinds do not say what they are.
fn kind_of(object: &Value) -> (&str, &str) {
    if let (Some(api_version), Some(kind)) = (object["apiVersion"].as_str(), object["kind"].as_str()) {
        return (api_version, kind);
    }
    let spec = &object["spec"];
    if spec["containers"].is_array() {
        ("v1", "Pod")
    } else if spec["strategy"].is_object() {
        ("apps/v1", "Deployment")
    } else if spec["updateStrategy"].is_object() {
        ("apps/v1", "StatefulSet")
    } else {
        ("batch/v1", "Job")
    }
}

/// A pod; of those that are of no task nothing but that they are there.
#[derive(Clone, Debug)]
pub(crate) struct SeenPod {
    identity: Identity,
    /// Its task, as a name and as what it is found by.
    task: Option<(Box<str>, Box<str>)>,
    pub pod: Option<Box<Pod>>,
    /// Its containers, those before the others first.
    pub containers: Box<[Box<str>]>,
}

/// What pods of a task are found by.
pub(crate) fn pods_key(namespace: &str, task: &str) -> String {
    format!("{namespace}/{task}")
}

impl SeenPod {
    pub(crate) fn task_name(&self) -> Option<&str> {
        self.task.as_ref().map(|(name, _)| &**name)
    }
}

impl<'de> Deserialize<'de> for SeenPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let identity = Identity::read(&object["metadata"]);
        let task = object["metadata"]["labels"][labels::TASK].as_str();
        let key = |name: &str| pods_key(identity.namespace(), name).into_boxed_str();
        let task = task.map(|name| (name.into(), key(name)));
        let containers = ["initContainers", "containers"].into_iter().flat_map(|list| {
            let list = object["spec"][list].as_array().into_iter().flatten();
            list.filter_map(|container| container["name"].as_str().map(Into::into))
        });
        let is_ours = task.is_some();
        Ok(Self {
            pod: is_ours.then(|| Box::new(Pod::read(&object))),
            containers: if is_ours {
                containers.collect()
            } else {
                Box::default()
            },
            identity,
            task,
        })
    }
}

/// Definitions, templates, deliveries: the text, which is read when it is needed.
#[derive(Clone, Debug)]
pub(crate) struct KeptText {
    identity: Identity,
    text: Box<str>,
}

impl KeptText {
    pub(crate) fn object(&self) -> Value {
        // It was written by us a moment ago.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for KeptText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        let identity = Identity::read(&object["metadata"]);
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        Ok(Self {
            identity,
            text: object.to_string().into_boxed_str(),
        })
    }
}

macro_rules! cached {
    ($type:ty, |$this:ident| $controller:expr) => {
        impl Cached for $type {
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
                let $this = self;
                $controller
            }

            fn trim(&mut self) {}
        }
    };
}

cached!(KeptTask, |this| this.identity.controller());
cached!(KeptText, |this| this.identity.controller());
cached!(SeenRun, |this| this.identity.controller());
// Pods are found by their task, whatever controls them between it and them.
cached!(SeenPod, |this| this.task.as_ref().map(|(name, key)| Controller {
    kind: "Task",
    name,
    uid: key,
}));
