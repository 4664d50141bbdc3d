//! The Secret of a task's callbacks. Whoever may write tasks names it, and need not be allowed to read or change
//! Secrets: so nothing is taken from one, written into one or deleted but where it is the task's own.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use kube::{
    api::{DeleteParams, ListParams},
    core::{DynamicObject, PartialObjectMeta},
};
use reconcile::{Key, requests};
use resources::tasks::{
    CALLBACK_DELIVERY, DeliveryPhase, TASK,
    names::{self, SIGNING_KEY, labels},
};
use serde_json::{Map, Value, json};

use crate::{
    apply::{carried, secrets},
    controller::{Carried, Controller},
    objects,
    places::folder,
    plan::{APPLIED, Task, without_headers},
    requests::{ignore_gone, only},
    world::World,
};

/// Whether a Secret was made for the callbacks of a task: labelled with its name, and owned by no other.
pub(crate) fn is_of(secret: &Value, task: &str, uid: &str) -> bool {
    let meta = &secret["metadata"];
    let owners = meta["ownerReferences"].as_array().into_iter().flatten();
    let is_right = |owner: &Value| {
        if owner["kind"] == TASK.kind {
            owner["uid"] == uid
        } else {
            owner["kind"] == CALLBACK_DELIVERY.kind
        }
    };
    meta["labels"][labels::TASK] == task && owners.into_iter().all(is_right)
}

impl Controller {
    /// Moves headers from the values into a Secret. The Secret is first, so that none is lost.
    pub(crate) async fn hide_headers(&self, task: &mut Task) -> kube::Result<Carried> {
        let mut values = task.spec.values.clone();
        let headers = take_headers(&mut values);
        let mut patch = json!({});
        if !headers.is_empty() {
            let name = self.keep_headers(task, headers).await?;
            let endpoints = values.get("endpoints").cloned().unwrap_or_default();
            patch["spec"] = json!({"values": {"endpoints": endpoints}, "callbackSecret": name});
        }
        if let Some(applied) = &task.applied {
            // Without it kubectl would ask for it with a warning; what cannot be read goes all the same.
            patch["metadata"] = json!({"annotations": {APPLIED: without_headers(applied)}});
        }
        Ok(carried(self.world.patch_task(task, patch).await?))
    }

    /// Puts headers into the Secret the task names, or into one of its own where that is somebody else's; its name.
    async fn keep_headers(&self, task: &Task, mut headers: Map<String, Value>) -> kube::Result<String> {
        let usual = names::callback_secret(&task.name);
        let uid: String = task.uid.chars().take(8).collect();
        let wanted = task.spec.callback_secret.clone();
        let candidates = [wanted, Some(usual.clone()), Some(format!("{usual}-{uid}"))];
        for name in candidates.into_iter().flatten() {
            match self.find_secret(task, &name).await? {
                Some(secret) if is_of(&secret, &task.name, &task.uid) => {
                    let folder = folder(&secrets(), Some(&task.namespace));
                    let patch = json!({"data": headers});
                    requests::merge::<Value>(&self.world.client, &folder, &name, &patch).await?;
                    return Ok(name);
                }
                // Whoever was named still signs.
                Some(secret) => {
                    if let Some(key) = secret["data"].get(SIGNING_KEY)
                        && task.spec.callback_secret.as_deref() == Some(name.as_str())
                    {
                        headers.insert(SIGNING_KEY.to_owned(), key.clone());
                    }
                }
                None => {
                    self.make_secret(task, &name, &headers).await?;
                    return Ok(name);
                }
            }
        }
        Err(kube::Error::Service(
            format!(
                "every name for the Secret of the callbacks of {} is taken",
                task.name
            )
            .into(),
        ))
    }

    async fn find_secret(&self, task: &Task, name: &str) -> kube::Result<Option<Value>> {
        let folder = folder(&secrets(), Some(&task.namespace));
        match requests::get::<Value>(&self.world.client, &folder, name).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            found => found.map(Some),
        }
    }

    async fn make_secret(&self, task: &Task, name: &str, headers: &Map<String, Value>) -> kube::Result<()> {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": task.namespace,
                "labels": {labels::TASK: task.name},
                "ownerReferences": [objects::owner(task)],
            },
            "data": headers,
        });
        let folder = folder(&secrets(), Some(&task.namespace));
        requests::create::<Value>(&self.world.client, &folder, &secret)
            .await
            .map(drop)
    }

    /// The Secret of a task's callbacks belongs to the deliveries that are still to be made.
    pub(crate) async fn hand_over_secret(&self, task: &Task) -> kube::Result<()> {
        let Some(name) = &task.spec.callback_secret else {
            return Ok(());
        };
        let Some(secret) = self
            .find_secret(task, name)
            .await?
            .filter(|secret| is_of(secret, &task.name, &task.uid))
        else {
            return Ok(());
        };
        let pending = self.world.deliveries.in_namespace(&task.namespace);
        let pending = pending
            .iter()
            .filter(|kept| kept.task_uid() == task.uid && kept.phase() == DeliveryPhase::Pending);
        let owners: Vec<Value> = pending.map(|kept| kept.as_owner()).collect();
        let (client, folder) = (&self.world.client, folder(&secrets(), Some(&task.namespace)));
        if owners.is_empty() {
            let uid = secret["metadata"]["uid"].as_str().unwrap_or_default();
            let parameters = DeleteParams::background().preconditions(only(uid));
            let deleted = requests::delete::<Value>(client, &folder, name, &parameters).await;
            return ignore_gone(deleted.map(drop));
        }
        let patch = json!({"metadata": {"ownerReferences": owners}});
        ignore_gone(
            requests::merge::<Value>(client, &folder, name, &patch)
                .await
                .map(drop),
        )
    }
}

/// A submission that was cut off leaves its Secret and no task. Its key is forgotten after a day, and then nobody
/// comes for it.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(25);

/// Deletes Secrets of callbacks that no task has.
pub(crate) async fn sweep(world: &World) -> kube::Result<()> {
    let api: kube::Api<PartialObjectMeta<DynamicObject>> =
        kube::Api::all_with(world.client.clone(), &secrets());
    let parameters = ListParams::default().labels(labels::TASK);
    for found in api.list_metadata(&parameters).await?.items {
        let meta = found.metadata;
        let (Some(namespace), Some(name), Some(uid)) = (&meta.namespace, &meta.name, &meta.uid) else {
            continue;
        };
        let task = meta.labels.as_ref().and_then(|all| all.get(labels::TASK));
        let created = meta.creation_timestamp.as_ref().map(|time| time.0);
        if !task.is_some_and(|task| {
            is_abandoned(
                name,
                task,
                meta.owner_references.is_some(),
                created,
                Timestamp::now(),
            ) && world.tasks.get(&Key::new(namespace, task)).is_none()
        }) {
            continue;
        }
        let folder = folder(&secrets(), Some(namespace));
        let parameters = DeleteParams::background().preconditions(only(uid));
        let deleted = requests::delete::<Value>(&world.client, &folder, name, &parameters).await;
        ignore_gone(deleted.map(drop))?;
    }
    Ok(())
}

/// Whether a Secret was made for a task that was never made.
fn is_abandoned(name: &str, task: &str, is_owned: bool, created: Option<Timestamp>, now: Timestamp) -> bool {
    let is_old = created.is_some_and(|created| now.duration_since(created) > FORGOTTEN);
    is_old && !is_owned && name == names::callback_secret(task)
}

/// Takes the headers out of values, as the Secret keeps them.
fn take_headers(values: &mut Map<String, Value>) -> Map<String, Value> {
    let mut headers = Map::new();
    let endpoints = values.get_mut("endpoints").and_then(Value::as_array_mut);
    for (index, endpoint) in endpoints.into_iter().flatten().enumerate() {
        let url = endpoint["endpoint"].as_str().unwrap_or_default().to_owned();
        let hidden = endpoint
            .as_object_mut()
            .and_then(|endpoint| endpoint.remove("headers"));
        if let Some(hidden) = hidden {
            let mut keep =
                |key: String, text: String| headers.insert(key, json!(BASE64_STANDARD.encode(text)));
            keep(names::headers_key(index), hidden.to_string());
            keep(names::url_key(index), url);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_submission_left_that_was_cut_off_is_abandoned_after_a_day() {
        let at = |hours: i64| Timestamp::from_second(hours * 3600).unwrap();
        let abandoned =
            |name: &str, is_owned: bool, now: i64| is_abandoned(name, "t", is_owned, Some(at(0)), at(now));
        assert!(abandoned("t-callbacks", false, 26));
        assert!(!abandoned("t-callbacks", false, 24));
        assert!(!abandoned("t-callbacks", true, 26));
        assert!(!abandoned("somebodys", false, 26));
    }

    #[test]
    fn a_secret_is_a_tasks_own_by_its_label_and_owner() {
        let secret =
            |labels: Value, owners: Value| json!({"metadata": {"labels": labels, "ownerReferences": owners}});
        let own = json!({labels::TASK: "t"});
        for (secret, expected) in [
            (secret(own.clone(), json!([])), true),
            (secret(own.clone(), json!([{"kind": "Task", "uid": "u"}])), true),
            (
                secret(own.clone(), json!([{"kind": "CallbackDelivery", "uid": "d"}])),
                true,
            ),
            (
                secret(own.clone(), json!([{"kind": "Task", "uid": "other"}])),
                false,
            ),
            (secret(own, json!([{"kind": "Deployment", "uid": "u"}])), false),
            (secret(json!({labels::TASK: "other"}), json!([])), false),
            (secret(json!({}), json!([])), false),
        ] {
            assert_eq!(is_of(&secret, "t", "u"), expected, "{secret}");
        }
    }
}
