//! What a plan asks for, done at the server, in an order in which it may end anywhere: pods, the object, the rest.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream::FuturesUnordered};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{DeleteParams, Preconditions};
use reconcile::{Cached as _, Key, requests};
use resources::workflows::{WORKFLOW, WorkflowKind};
use serde_json::{Value, json};
use workflows::{Event, Gone, Memory, Observed, Plan, PodName, Refusal, names};

use crate::{
    kept::{KeptWorkflow, SeenPod},
    places::{built_in, folder},
    workflow::{Carried, Controller},
};

/// So much of a workflow is made at a time.
const AT_A_TIME: usize = 32;
/// A pod that has run so long is stopped by its node.
const AT_ONCE: i64 = 1;

impl Controller {
    pub(crate) async fn carry_out(
        &self,
        key: &Key,
        object: &Value,
        observed: &Observed,
        plan: &Plan,
    ) -> kube::Result<Carried> {
        // Destructured, so that nothing a plan asks for is forgotten.
        let Plan {
            unknown: _,
            make,
            stop,
            object: wanted,
            remember,
            label_completed,
            delete,
            delete_workflow,
            events,
            left_queue: _,
            wake_at: _,
        } = plan;
        if let Some(held) = plan.newly_held(object) {
            return Ok(match self.store(key, &held).await? {
                Some(stored) => Carried::Stored(stored),
                None => Carried::Late,
            });
        }
        let refusals = self.make(key, object, make).await?;
        let is_refused = !refusals.is_empty();
        // What was not tried again is refused as before, until the status tells of it.
        let mut known = observed.refusals.clone();
        known.retain(|refused, _| !make.iter().any(|object| name(object) == *refused));
        known.extend(refusals);
        if self.remember(key, known) {
            return Ok(Carried::Again);
        }
        self.stop(key, observed, stop).await?;
        for memory in remember {
            self.keep_result(key, memory).await?;
        }
        if let Some(wanted) = wanted {
            if self.store(key, wanted).await?.is_none() {
                return Ok(Carried::Late);
            }
            if wanted["status"]["synchronization"] != object["status"]["synchronization"] {
                self.locks_changed(key);
            }
            if !is_refused {
                self.remember(key, BTreeMap::new());
            }
        } else if !delete.is_empty() && !self.is_current(key, object).await? {
            return Ok(Carried::Late);
        }
        self.tell(object, events);
        self.label(key, label_completed).await?;
        for gone in delete {
            self.delete(key, gone).await?;
        }
        if *delete_workflow {
            self.delete_workflow(key, object).await?;
        }
        Ok(if is_refused {
            Carried::Refused
        } else {
            Carried::Out
        })
    }

    /// Makes what is not there; what the API refuses, by name.
    async fn make(
        &self,
        key: &Key,
        owner: &Value,
        objects: &[Value],
    ) -> kube::Result<BTreeMap<String, Refusal>> {
        let mut refusals = BTreeMap::new();
        // Pods need claims.
        let (pods, first): (Vec<&Value>, Vec<&Value>) =
            objects.iter().partition(|object| object["kind"] == "Pod");
        let _working = self.recorder.at_work();
        for object in first {
            if let Some(refusal) = self.make_one(key, owner, object).await? {
                refusals.insert(name(object), refusal);
                return Ok(refusals);
            }
        }
        let (mut pods, mut making, mut failure) = (pods.into_iter(), FuturesUnordered::new(), None);
        loop {
            if making.len() < AT_A_TIME
                && failure.is_none()
                && !self.closing.is_said()
                && let Some(pod) = pods.next()
            {
                making.push(self.make_pod(key, owner, pod));
                continue;
            }
            // What was sent is heard out, whatever happens to the rest.
            match making.next().await {
                Some((_, Ok(None))) => {}
                Some((name, Ok(Some(refusal)))) => {
                    refusals.insert(name, refusal);
                }
                Some((_, Err(error))) => failure = Some(error),
                None => break,
            }
        }
        if self.closing.is_said() && failure.is_none() && pods.next().is_some() {
            // The object must not tell of pods that were not made.
            failure = Some(kube::Error::Service("the engine is being ended".into()));
        }
        failure.map_or(Ok(refusals), Err)
    }

    async fn make_pod(
        &self,
        key: &Key,
        owner: &Value,
        pod: &Value,
    ) -> (String, kube::Result<Option<Refusal>>) {
        (name(pod), self.make_one(key, owner, pod).await)
    }

    async fn make_one(&self, key: &Key, owner: &Value, object: &Value) -> kube::Result<Option<Refusal>> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let folder = match kind {
            "Pod" => built_in("pods", &key.namespace),
            "PersistentVolumeClaim" => built_in("persistentvolumeclaims", &key.namespace),
            kind => {
                return Ok(Some(Refusal {
                    message: format!("objects of kind {kind} are not made"),
                    is_passing: false,
                }));
            }
        };
        let client = &self.world.client;
        let made: Value = match requests::create(client, &folder, object).await {
            Ok(made) => made,
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                // Ours from before, or somebody else's.
                match requests::get(client, &folder, &name(object)).await {
                    Ok(found) => found,
                    Err(kube::Error::Api(status)) if status.code == 404 => {
                        return Ok(Some(passing(format!("{kind} {} is just going", name(object)))));
                    }
                    Err(error) => return Err(error),
                }
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 404 | 413 | 422) => {
                return Ok(Some(Refusal {
                    is_passing: is_passing(&key.namespace, &status.message),
                    message: status.message.clone(),
                }));
            }
            Err(error) => return Err(error),
        };
        let owners = made["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten();
        let mut owners = owners.map(|owner| &owner["uid"]);
        if !owners.any(|uid| *uid == owner["metadata"]["uid"]) {
            return Ok(Some(passing(format!(
                "{kind} {} is there already and belongs to somebody else",
                name(object)
            ))));
        }
        if kind == "Pod" {
            let seen: SeenPod = serde_json::from_value(made).map_err(kube::Error::SerdeError)?;
            self.world.pods.wrote(seen);
        }
        Ok(None)
    }

    /// Lets the time of pods be over: their processes end, and what they wrote stays readable. A pod that no node
    /// has yet is deleted.
    async fn stop(&self, key: &Key, observed: &Observed, pods: &[PodName]) -> kube::Result<()> {
        let folder = built_in("pods", &key.namespace);
        for stopped in pods {
            let known = observed.pods.iter().find(|pod| pod.uid == stopped.uid);
            let is_placed = known.is_some_and(|pod| !pod.host.is_empty());
            if !is_placed {
                self.delete_pod(key, &stopped.name, &stopped.uid).await?;
                continue;
            }
            if known.is_some_and(|pod| pod.deadline.is_some_and(|deadline| deadline <= AT_ONCE)) {
                continue;
            }
            let patch = json!({"metadata": {"uid": stopped.uid}, "spec": {"activeDeadlineSeconds": AT_ONCE}});
            match requests::merge::<SeenPod>(&self.world.client, &folder, &stopped.name, &patch).await {
                Ok(pod) => self.world.pods.wrote(pod),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// An entry of a ConfigMap that caches results; the map is made with the first.
    async fn keep_result(&self, key: &Key, memory: &Memory) -> kube::Result<()> {
        let (client, folder) = (&self.world.client, built_in("configmaps", &key.namespace));
        let data = json!({memory.key.as_str(): memory.entry.to_string()});
        let patched =
            requests::merge::<Value>(client, &folder, &memory.config_map, &json!({"data": data})).await;
        match patched {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let map = json!({
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": memory.config_map, "labels": {names::CONFIG_MAP_TYPE: "Cache"}},
                    "data": data,
                });
                requests::create::<Value>(client, &folder, &map).await.map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    /// The whole object, if it is still of the version it was decided for.
    async fn store(&self, key: &Key, object: &Value) -> kube::Result<Option<Value>> {
        let folder = folder(&WORKFLOW, &key.namespace);
        let stored: Value = match requests::replace(&self.world.client, &folder, &key.name, object).await {
            Ok(stored) => stored,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return Ok(None),
            Err(error) => return Err(error),
        };
        let kept: KeptWorkflow = serde_json::from_value(stored.clone()).map_err(kube::Error::SerdeError)?;
        self.world.workflows.wrote(kept);
        Ok(Some(stored))
    }

    /// Whether a workflow that is not stored again is still what was decided on: what is deleted for it does not come
    /// back when somebody has it go on in this moment.
    async fn is_current(&self, key: &Key, object: &Value) -> kube::Result<bool> {
        let folder = folder(&WORKFLOW, &key.namespace);
        match requests::get::<Value>(&self.world.client, &folder, &key.name).await {
            Ok(found) => Ok(found["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"]),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whoever changes the workflow in this moment wants it to stay; it is looked at again then.
    async fn delete_workflow(&self, key: &Key, object: &Value) -> kube::Result<()> {
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        let parameters = DeleteParams::background().preconditions(Preconditions {
            uid: text("uid"),
            resource_version: text("resourceVersion"),
        });
        let folder = folder(&WORKFLOW, &key.namespace);
        match requests::delete::<Value>(&self.world.client, &folder, &key.name, &parameters).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    async fn label(&self, key: &Key, pods: &[PodName]) -> kube::Result<()> {
        let folder = built_in("pods", &key.namespace);
        for some in pods.chunks(AT_A_TIME) {
            let labelled: FuturesUnordered<_> = some.iter().map(|pod| self.label_one(&folder, pod)).collect();
            labelled.try_collect::<Vec<()>>().await?;
        }
        Ok(())
    }

    async fn label_one(&self, folder: &str, pod: &PodName) -> kube::Result<()> {
        let patch = json!({"metadata": {"uid": pod.uid, "labels": {names::COMPLETED: "true"}}});
        match requests::merge::<SeenPod>(&self.world.client, folder, &pod.name, &patch).await {
            Ok(pod) => self.world.pods.wrote(pod),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn delete(&self, key: &Key, gone: &Gone) -> kube::Result<()> {
        if gone.kind == "Pod" {
            return self.delete_pod(key, &gone.name, &gone.uid).await;
        }
        let folder = built_in("persistentvolumeclaims", &key.namespace);
        delete_object(&self.world.client, &folder, &gone.name, &gone.uid).await
    }

    async fn delete_pod(&self, key: &Key, name: &str, uid: &str) -> kube::Result<()> {
        let folder = built_in("pods", &key.namespace);
        let parameters = DeleteParams::background().preconditions(only(uid));
        match requests::delete::<SeenPod>(&self.world.client, &folder, name, &parameters).await {
            Ok(Some(stopping)) => self.world.pods.wrote(stopping),
            Ok(None) => {
                let known = self.world.pods.get(&Key::new(&key.namespace, name));
                if let Some(known) = known.filter(|known| known.uid() == uid) {
                    self.world.pods.removed(&known);
                }
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn tell(&self, object: &Value, events: &[Event]) {
        for event in events {
            let about = reference(&WORKFLOW, object);
            let note = event.message.clone();
            if event.is_warning {
                self.recorder.warning(about, event.reason, note);
            } else {
                self.recorder.normal(about, event.reason, note);
            }
        }
    }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Whether the server may take tomorrow what it refused with this message: a quota has room again, and a namespace
/// that was just made is given its account. Another account that is missing was misspelt and is told at once.
fn is_passing(namespace: &str, message: &str) -> bool {
    let no_account_yet = format!("error looking up service account {namespace}/default:");
    message.contains("exceeded quota") || message.contains(&no_account_yet)
}

fn passing(message: String) -> Refusal {
    Refusal {
        message,
        is_passing: true,
    }
}

fn only(uid: &str) -> Preconditions {
    Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    }
}

/// What is gone, or has passed its name on, needs no deletion. Without a uid any of the name will do.
pub(crate) async fn delete_object(
    client: &kube::Client,
    folder: &str,
    name: &str,
    uid: &str,
) -> kube::Result<()> {
    let mut parameters = DeleteParams::background();
    if !uid.is_empty() {
        parameters = parameters.preconditions(only(uid));
    }
    match requests::delete::<Value>(client, folder, name, &parameters).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// What events are about.
pub(crate) fn reference(kind: &WorkflowKind, object: &Value) -> ObjectReference {
    let meta = &object["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    ObjectReference {
        api_version: Some(kind.api_version()),
        kind: Some(kind.kind.to_owned()),
        namespace: text(&meta["namespace"]),
        name: text(&meta["name"]),
        uid: text(&meta["uid"]),
        resource_version: text(&meta["resourceVersion"]),
        field_path: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_waited_for() {
        let missing = |account: &str| {
            format!(
                "pods \"a\" is forbidden: error looking up service account new/{account}: serviceaccount \
                 \"{account}\" not found"
            )
        };
        assert!(is_passing("new", &missing("default")));
        assert!(!is_passing("new", &missing("defualt")));
        assert!(!is_passing("old", &missing("default")));
        assert!(is_passing(
            "new",
            "pods \"a\" is forbidden: exceeded quota: gpus, requested: 8"
        ));
        assert!(!is_passing(
            "new",
            "pods \"a\" is forbidden: User \"eve\" cannot create resource"
        ));
    }
}
