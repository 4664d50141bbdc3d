//! The steps of a plan, done at the server.

use futures_util::future::try_join_all;
use kube::{api::DeleteParams, core::ApiResource};
use reconcile::{Next, requests};
use resources::tasks::{
    Child,
    names::{FINALIZER, TASK_MADE, labels},
};
use serde_json::{Value, json};

use crate::{
    controller::{Carried, Controller},
    kept::SeenRun,
    objects,
    places::{self, folder},
    plan::{Made, Target, Task, runs},
    requests::{Written, ignore_gone, only},
};

impl Controller {
    /// Lets the task stay until it is released.
    pub(crate) async fn hold(&self, task: &mut Task) -> kube::Result<Carried> {
        let mut finalizers = task.finalizers.clone();
        finalizers.push(FINALIZER.to_owned());
        let patch = json!({"metadata": {"finalizers": finalizers}});
        Ok(carried(self.world.patch_task(task, patch).await?))
    }

    /// Makes what was prepared, one after the other: one may need another.
    pub(crate) async fn make(&self, task: &Task) -> kube::Result<Made> {
        let objects = self.kitchen.take(&task.uid);
        for object in objects.iter() {
            let made = self.make_one(task, object).await?;
            if made != Made::All {
                return Ok(made);
            }
        }
        Ok(Made::All)
    }

    async fn make_one(&self, task: &Task, object: &Value) -> kube::Result<Made> {
        let child = objects::child(object);
        let Child {
            api_version,
            kind,
            name,
        } = &child;
        let refused = |reason: &str, message: String| Made::Refused {
            reason: reason.to_owned(),
            message: format!("{kind} {name}: {message}"),
        };
        let missing = || {
            refused(
                "KindMissing",
                format!("the cluster has no {kind} of {api_version}"),
            )
        };
        let Some(resource) = self
            .world
            .places
            .find(&self.world.client, api_version, kind)
            .await?
        else {
            return Ok(missing());
        };
        // Before it is made, so that its first change is seen.
        let informer = if runs(api_version, kind) {
            match self.world.runs(api_version, kind).await? {
                Some(informer) => Some(informer),
                None => return Ok(missing()),
            }
        } else {
            None
        };
        let folder = folder(&resource, Some(&task.namespace));
        let made = match requests::create::<Value>(&self.world.client, &folder, object).await {
            Ok(made) => made,
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                let found: Value = requests::get(&self.world.client, &folder, name).await?;
                if let Some(trouble) = in_the_way(task, &child, &found) {
                    return Ok(trouble);
                }
                found
            }
            Err(kube::Error::Api(status)) => {
                let message = status.message.clone();
                return match (status.code, status.reason.as_str()) {
                    (403, _) if message.contains("quota") => Ok(Made::NotYet {
                        reason: "QuotaExceeded".to_owned(),
                        message: format!("{kind} {name}: {message}"),
                    }),
                    (403, _) => Ok(refused("Forbidden", message)),
                    (404, _) => Ok(missing()),
                    (400 | 413 | 422, _) => Ok(refused("Refused", message)),
                    _ => Err(kube::Error::Api(status)),
                };
            }
            Err(error) => return Err(error),
        };
        if let Some(informer) = informer {
            let seen: SeenRun = serde_json::from_value(made).map_err(kube::Error::SerdeError)?;
            informer.wrote(seen);
        }
        Ok(Made::All)
    }

    /// Asks for the end of objects that run; the watch says when they are gone.
    pub(crate) async fn stop(&self, task: &Task, targets: &[Target]) -> kube::Result<()> {
        let stop = |target: Target| async move {
            let Child {
                api_version,
                kind,
                name,
            } = &target.child;
            let Some(resource) = self
                .world
                .places
                .find(&self.world.client, api_version, kind)
                .await?
            else {
                return Ok(());
            };
            // With its pods: what runs must not outlive what says that it was stopped.
            let parameters = DeleteParams::foreground().preconditions(only(&target.uid));
            let folder = folder(&resource, Some(&task.namespace));
            let deleted = requests::delete::<Value>(&self.world.client, &folder, name, &parameters).await;
            ignore_gone(deleted.map(drop))
        };
        try_join_all(targets.iter().cloned().map(stop)).await.map(drop)
    }

    /// Lets the task go: its claims stay or go, what is not delivered yet keeps its Secret.
    pub(crate) async fn release(&self, task: &mut Task, keep_claims: bool) -> kube::Result<Carried> {
        let claims: Vec<Child> = task
            .status
            .children
            .iter()
            .filter(|child| child.kind == "PersistentVolumeClaim")
            .cloned()
            .collect();
        for claim in claims {
            self.release_claim(task, &claim, keep_claims).await?;
        }
        self.hand_over_secret(task).await?;
        self.use_up_key(task).await?;
        let finalizers: Vec<&String> = task.finalizers.iter().filter(|name| *name != FINALIZER).collect();
        let patch = json!({"metadata": {"finalizers": finalizers}});
        self.kitchen.take(&task.uid);
        match self.world.patch_task(task, patch).await? {
            Written::Done => Ok(Carried::Again(Next::Wait)),
            Written::Changed => Ok(carried(Written::Changed)),
        }
    }

    /// The key a task was submitted with does not make it again, whoever was killed before writing that down.
    async fn use_up_key(&self, task: &Task) -> kube::Result<()> {
        let Some(note) = &task.key_note else {
            return Ok(());
        };
        let config_maps = places::resource("v1", "ConfigMap", "configmaps");
        let folder = folder(&config_maps, Some(&task.namespace));
        let patch = json!({"metadata": {"annotations": {TASK_MADE: "true"}}});
        let marked = requests::merge::<Value>(&self.world.client, &folder, note, &patch).await;
        ignore_gone(marked.map(drop))
    }

    async fn release_claim(&self, task: &Task, claim: &Child, keep: bool) -> kube::Result<()> {
        let resource = places::resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
        let (client, folder) = (&self.world.client, folder(&resource, Some(&task.namespace)));
        let found: Value = match requests::get(client, &folder, &claim.name).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            answer => answer?,
        };
        if found["metadata"]["labels"][labels::TASK] != task.name.as_str() {
            return Ok(());
        }
        let owners = found["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_owned = owners.iter().any(|owner| owner["uid"] == task.uid.as_str());
        if keep && is_owned {
            let others: Vec<&Value> = owners
                .iter()
                .filter(|owner| owner["uid"] != task.uid.as_str())
                .collect();
            let patch = json!({"metadata": {
                "ownerReferences": others,
                "resourceVersion": found["metadata"]["resourceVersion"],
            }});
            return requests::merge::<Value>(client, &folder, &claim.name, &patch)
                .await
                .map(drop);
        }
        if !keep && !is_owned {
            let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
            let parameters = DeleteParams::background().preconditions(only(uid));
            return ignore_gone(
                requests::delete::<Value>(client, &folder, &claim.name, &parameters)
                    .await
                    .map(drop),
            );
        }
        Ok(())
    }
}

pub(crate) fn secrets() -> ApiResource {
    places::resource("v1", "Secret", "secrets")
}

pub(crate) fn carried(written: Written) -> Carried {
    match written {
        Written::Done => Carried::Acted,
        Written::Changed => Carried::Again(Next::After(std::time::Duration::from_millis(100))),
    }
}

/// Whether something of this name is not what the task made, or would make.
fn in_the_way(task: &Task, child: &Child, found: &Value) -> Option<Made> {
    let meta = &found["metadata"];
    let owners = meta["ownerReferences"].as_array().into_iter().flatten();
    let is_ours = owners.clone().any(|owner| owner["uid"] == task.uid.as_str());
    let is_run = runs(&child.api_version, &child.kind);
    let is_deleting = meta["deletionTimestamp"].is_string();
    let not_yet = |message: String| Made::NotYet {
        reason: "NameTaken".to_owned(),
        message,
    };
    if is_ours {
        let is_old = is_run && crate::plan::pods::attempt(meta) != task.status.attempt;
        return (is_old || is_deleting).then(|| {
            not_yet(format!(
                "waits until the {} of the last attempt is gone",
                child.kind
            ))
        });
    }
    // A claim that was kept is used again, as far as it is of a task of this name.
    if !is_run && child.kind == "PersistentVolumeClaim" && meta["labels"][labels::TASK] == task.name.as_str()
    {
        return None;
    }
    let was_of_namesake = owners
        .clone()
        .any(|owner| owner["kind"] == "Task" && owner["name"] == task.name.as_str());
    if was_of_namesake || is_deleting {
        return Some(not_yet(format!(
            "waits until {} {} of a deleted task is gone",
            child.kind, child.name
        )));
    }
    Some(Made::Refused {
        reason: "NameTaken".to_owned(),
        message: format!(
            "there is a {} {} that is not of this task",
            child.kind, child.name
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        let mut task = Task {
            name: "t".to_owned(),
            uid: "ours".to_owned(),
            ..Task::default()
        };
        task.status.attempt = 2;
        task
    }

    fn child(kind: &str, api_version: &str) -> Child {
        Child {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: "t".to_owned(),
        }
    }

    fn owned(uid: &str, attempt: &str) -> Value {
        json!({"metadata": {
            "labels": {labels::ATTEMPT: attempt, labels::TASK: "t"},
            "ownerReferences": [{"kind": "Task", "name": "t", "uid": uid}],
        }})
    }

    #[test]
    fn what_we_made_for_this_attempt_is_ours() {
        let job = child("Job", "batch/v1");
        assert_eq!(in_the_way(&task(), &job, &owned("ours", "2")), None);
        assert!(matches!(
            in_the_way(&task(), &job, &owned("ours", "1")),
            Some(Made::NotYet { .. })
        ));
        let config = child("ConfigMap", "v1");
        assert_eq!(in_the_way(&task(), &config, &owned("ours", "")), None);
    }

    #[test]
    fn what_a_deleted_namesake_left_is_waited_for_and_what_is_somebodys_is_refused() {
        let job = child("Job", "batch/v1");
        assert!(matches!(
            in_the_way(&task(), &job, &owned("other", "1")),
            Some(Made::NotYet { .. })
        ));
        assert!(matches!(
            in_the_way(&task(), &job, &json!({"metadata": {}})),
            Some(Made::Refused { .. })
        ));
    }

    #[test]
    fn a_claim_that_was_kept_is_used_again() {
        let claim = child("PersistentVolumeClaim", "v1");
        let kept = json!({"metadata": {"labels": {labels::TASK: "t"}}});
        assert_eq!(in_the_way(&task(), &claim, &kept), None);
        assert!(in_the_way(&task(), &claim, &json!({"metadata": {}})).is_some());
    }
}
