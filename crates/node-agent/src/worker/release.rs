//! Giving back all that a pod holds, and its last moments in the API.

use std::{fs, sync::Arc};

use containers::client::bury;
use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};

use super::{Happening, Live, Presence, RETRY, Stage, Worker};
use crate::{agent::Agent, folders::PodFolder, lifecycle::roles, orphans::remove, volumes::tear_down};

impl Worker {
    pub(super) fn release(&mut self) {
        // What is being made must be there before it can be cleared away.
        if self.stage != Stage::Open || self.volumes.is_refreshing {
            return;
        }
        let records = &self.book.records;
        if self
            .launching
            .as_ref()
            .is_some_and(|launching| launching.may_run_unseen(records))
        {
            return;
        }
        if let Some(launching) = self.launching.take() {
            launching.abort();
        }
        self.stage = Stage::Releasing;
        self.probes.clear();
        self.book.save(&self.folder);
        let (agent, pod, folder) = (self.agent.clone(), self.pod.clone(), self.folder.clone());
        let (live, tell) = (self.live.take(), self.tell.clone());
        self.jobs.spawn(async move {
            release(&agent, &pod, &folder, live).await;
            let _ = tell.send(Happening::Released);
        });
    }

    /// Whether there is nothing left to do for the pod, ever. Takes the last steps towards it.
    pub(super) async fn is_finished(&mut self) -> bool {
        if !self.is_over() {
            return false;
        }
        if self.presence == Presence::Gone {
            remove(self.folder.path());
            remove(self.folder.logs());
            return true;
        }
        if self.pod.metadata.deletion_timestamp.is_some() && self.presence == Presence::Known {
            match delete(&self.agent, &self.pod).await {
                Ok(()) => self.presence = Presence::Removed,
                Err(error) => {
                    tracing::warn!(%error, "a pod that has ended is not deleted yet");
                    self.look_at(Timestamp::now().saturating_add(RETRY).ok());
                }
            }
        }
        false
    }
}

async fn release(agent: &Agent, pod: &Pod, folder: &PodFolder, live: Option<Live>) {
    if let Some(live) = live
        && let Err(error) = live.sandbox.stop().await
    {
        tracing::warn!(%error, "a sandbox did not stop and is killed");
    }
    // Also what a sandbox that died left behind; a folder without one is no error.
    let _ = bury(folder.path()).await;
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    if let Err(error) = agent.networking.detach(uid).await {
        tracing::warn!(%error, "the address of a pod was not given back");
    }
    agent.tokens.forget(uid);
    if let Some(Err(error)) = agent.gpus.as_ref().map(|pool| pool.release(uid)) {
        tracing::warn!(%error, "the GPUs of a pod were not given back");
    }
    agent.images.release(uid, roles::names(pod));
    let folder = folder.clone();
    let cleared = tokio::task::spawn_blocking(move || {
        if let Err(error) = tear_down(&folder.volumes()) {
            tracing::warn!(%error, "volumes of a pod stay behind");
        }
        clear(&folder);
    });
    let _ = cleared.await;
}

/// Removes everything but what the agent itself remembers.
fn clear(folder: &PodFolder) {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path() != folder.book()) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        } else {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the pod from the API, unless another has its name by now.
async fn delete(agent: &Agent, pod: &Pod) -> kube::Result<()> {
    let meta = &pod.metadata;
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(agent.client.clone(), namespace);
    let now = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions {
            uid: meta.uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match pods.delete(meta.name.as_deref().unwrap_or_default(), &now).await {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// A pod that vanished from the API, as if somebody had deleted it properly.
pub(super) fn deleted(pod: Arc<Pod>) -> Arc<Pod> {
    if pod.metadata.deletion_timestamp.is_some() {
        return pod;
    }
    let mut pod = Arc::unwrap_or_clone(pod);
    pod.metadata.deletion_timestamp = Some(Time(Timestamp::now()));
    pod.metadata.deletion_grace_period_seconds = roles::spec(&pod).termination_grace_period_seconds;
    Arc::new(pod)
}
