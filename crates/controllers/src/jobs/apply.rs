//! Carrying out what was planned for a job. Decides nothing.

use std::sync::Arc;

use futures_util::future::join_all;
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use kube::{
    Api, Resource as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::{Value, json};

use super::{
    Controller,
    account::Account,
    make,
    notice::{Notice, words},
    plan::Plan,
    selects, tracking,
};
use crate::{
    Result,
    pods::{claim, health, make::rounds},
};

impl Controller {
    /// Takes in pods that could be the job's, and lets go of those that are its no more.
    pub(super) async fn claim(&self, job: &Job) -> Result<()> {
        let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
        let pods = self.world.pods.in_namespace(namespace);
        let claim = claim::claim(&job.metadata, pods, |pod| selects(job, pod));
        if !claim.adopt.is_empty() && self.is_alive(job).await? {
            let owner = make::owner_reference(job);
            for pod in claim.adopt {
                let mut patch = claim::adoption(&*pod, &owner);
                patch["metadata"]["finalizers"] = json!([tracking::FINALIZER]);
                self.patch(&pod, patch).await?;
            }
        }
        for pod in claim.release {
            let mut patch = claim::release(&*pod, job.metadata.uid.as_deref().unwrap_or_default());
            patch["metadata"]["$deleteFromPrimitiveList/finalizers"] = json!([tracking::FINALIZER]);
            self.patch(&pod, patch).await?;
        }
        Ok(())
    }

    /// Asks the server itself: a job that was deleted and made again must not adopt for its predecessor.
    async fn is_alive(&self, job: &Job) -> Result<bool> {
        let fresh = self
            .jobs(job)
            .get_opt(job.metadata.name.as_deref().unwrap_or_default())
            .await?;
        Ok(fresh.is_some_and(|fresh| {
            fresh.metadata.uid == job.metadata.uid && fresh.metadata.deletion_timestamp.is_none()
        }))
    }

    pub(super) async fn apply(&self, job: &Job, plan: &Plan) -> Result<()> {
        let dismissed = join_all(plan.dismiss.iter().map(|pod| self.dismiss(job, pod))).await;
        let stopped = join_all(plan.stop.iter().map(|pod| self.delete(job, pod))).await;
        dismissed.into_iter().chain(stopped).collect::<Result<()>>()?;
        let mut left = plan.create.as_slice();
        for round in rounds(plan.create.len()) {
            let (now, later) = left.split_at(round);
            let created = join_all(now.iter().map(|pod| self.create(job, pod))).await;
            created.into_iter().collect::<Result<()>>()?;
            left = later;
        }
        Ok(())
    }

    async fn create(&self, job: &Job, pod: &Pod) -> Result<()> {
        match self.pods(job).create(&PostParams::default(), pod).await {
            Ok(pod) => {
                let text = format!(
                    "Created pod: {}",
                    pod.metadata.name.as_deref().unwrap_or_default()
                );
                self.world.pods.wrote(pod);
                self.tell(job, Notice::normal("SuccessfulCreate", text));
                Ok(())
            }
            // Nothing can be made there any more, and soon nobody will ask for it.
            Err(error) if is_namespace_terminating(&error) => Ok(()),
            Err(error) => {
                let text = format!("Error creating: {}", words(&error));
                self.tell(job, Notice::warning("FailedCreate", text));
                Err(error.into())
            }
        }
    }

    async fn dismiss(&self, job: &Job, pod: &Pod) -> Result<()> {
        if tracking::is_tracked(pod) {
            self.patch(pod, tracking::end(pod)).await?;
        }
        self.delete(job, pod).await
    }

    async fn delete(&self, job: &Job, pod: &Pod) -> Result<()> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let parameters = DeleteParams::default().preconditions(Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        });
        match self.pods(job).delete(name, &parameters).await {
            // With a grace period or a finalizer the pod stays for a while; without them it is gone.
            Ok(answer) => match answer.left().filter(health::is_terminating) {
                Some(pod) => self.world.pods.wrote(pod),
                None => self.world.pods.removed(pod),
            },
            // Somebody else was faster.
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => return Ok(()),
            Err(error) => {
                let text = format!("Error deleting: {}", words(&error));
                self.tell(job, Notice::warning("FailedDelete", text));
                return Err(error.into());
            }
        }
        self.tell(
            job,
            Notice::normal("SuccessfulDelete", format!("Deleted pod: {name}")),
        );
        Ok(())
    }

    /// The status first: a pod that is released before the status has noted its end is lost to it.
    pub(super) async fn write(&self, job: &Job, account: Account) -> Result<()> {
        if job.status.as_ref() != Some(&account.status) {
            let mut wanted = job.clone();
            wanted.status = Some(account.status);
            wanted.metadata.managed_fields = None;
            let name = job.metadata.name.as_deref().unwrap_or_default();
            // With the version in it, so that counts are never made from an outdated status.
            let written = self
                .jobs(job)
                .replace_status(name, &PostParams::default(), &wanted)
                .await?;
            self.world.jobs.wrote(written);
        }
        for notice in account.notices {
            self.tell(job, notice);
        }
        let release = |pod: &Arc<Pod>| {
            let pod = pod.clone();
            async move { self.patch(&pod, tracking::end(&pod)).await }
        };
        let released = join_all(account.release.iter().map(release)).await;
        released.into_iter().collect()
    }

    pub(super) async fn patch(&self, pod: &Pod, patch: Value) -> Result<()> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.world.client.clone(), namespace);
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        match api
            .patch(name, &PatchParams::default(), &Patch::Strategic(patch))
            .await
        {
            Ok(pod) => self.world.pods.wrote(pod),
            // It has gone, or its name has passed to another.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {
                if status.code == 404 {
                    self.world.pods.removed(pod);
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn tell(&self, job: &Job, notice: Notice) {
        notice.tell(&self.recorder, job.object_ref(&()));
    }

    fn jobs(&self, job: &Job) -> Api<Job> {
        let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
        Api::namespaced(self.world.client.clone(), namespace)
    }

    fn pods(&self, job: &Job) -> Api<Pod> {
        let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
        Api::namespaced(self.world.client.clone(), namespace)
    }
}

fn is_namespace_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
}
