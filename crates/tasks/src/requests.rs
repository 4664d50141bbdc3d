//! Writes to the objects of a task.

use kube::api::{DeleteParams, Preconditions};
use reconcile::requests;
use resources::tasks::{TASK, TaskStatus};
use serde_json::{Value, json};

use crate::{
    kept::KeptTask,
    places::{self, folder},
    plan::Task,
    world::World,
};

/// What the server made of a write to a task.
pub(crate) enum Written {
    Done,
    /// It is not the task that was decided on any more; the next look sees it.
    Changed,
}

impl World {
    fn task_folder(task: &Task) -> String {
        folder(&places::of(&TASK), Some(&task.namespace))
    }

    /// The status, with the version it was decided for. What was written is what the next decision sees.
    pub(crate) async fn write_status(&self, task: &mut Task, status: &TaskStatus) -> kube::Result<Written> {
        let object = json!({
            "apiVersion": TASK.api_version(),
            "kind": TASK.kind,
            "metadata": {
                "name": task.name,
                "namespace": task.namespace,
                "uid": task.uid,
                "resourceVersion": task.version,
            },
            "spec": task.spec,
            "status": status,
        });
        let written =
            requests::replace_status(&self.client, &Self::task_folder(task), &task.name, &object).await;
        self.took(task, written)
    }

    /// A change of a task's specification or metadata, if it is still the one that was decided on.
    pub(crate) async fn patch_task(&self, task: &mut Task, mut patch: Value) -> kube::Result<Written> {
        patch["metadata"]["resourceVersion"] = json!(task.version);
        let written = requests::merge(&self.client, &Self::task_folder(task), &task.name, &patch).await;
        self.took(task, written)
    }

    fn took(&self, task: &mut Task, written: kube::Result<Value>) -> kube::Result<Written> {
        let written = match written {
            Ok(written) => written,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return Ok(Written::Changed),
            Err(error) => return Err(error),
        };
        *task = Task::read(&written).map_err(kube::Error::SerdeError)?;
        let kept: KeptTask = serde_json::from_value(written).map_err(kube::Error::SerdeError)?;
        self.tasks.wrote(kept);
        Ok(Written::Done)
    }

    pub(crate) async fn delete_task(&self, task: &Task) -> kube::Result<()> {
        let parameters = DeleteParams::background().preconditions(only(&task.uid));
        let folder = Self::task_folder(task);
        ignore_gone(
            requests::delete::<Value>(&self.client, &folder, &task.name, &parameters)
                .await
                .map(drop),
        )
    }
}

pub(crate) fn only(uid: &str) -> Preconditions {
    Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    }
}

/// What is gone, or has passed its name on, needs no deletion.
pub(crate) fn ignore_gone(outcome: kube::Result<()>) -> kube::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        outcome => outcome,
    }
}
