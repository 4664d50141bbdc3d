//! Making and deleting pods for their owner, told to the owner's events and to the shared cache.

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, PostParams, Preconditions},
};
use reconcile::Recorder;

use super::health;
use crate::{
    Result, message,
    ownership::{self, Namespaced},
    world::World,
};

pub(crate) async fn create<O: Namespaced>(
    world: &World,
    recorder: &Recorder,
    owner: &O,
    pod: &Pod,
) -> Result<()> {
    let pods: Api<Pod> = ownership::beside(&world.client, owner);
    match pods.create(&PostParams::default(), pod).await {
        Ok(pod) => {
            let note = format!("Created pod: {}", pod.name_any());
            world.pods.wrote(pod);
            recorder.normal(owner.object_ref(&()), "SuccessfulCreate", note);
            Ok(())
        }
        Err(error) => {
            let note = format!("Error creating: {}", message(&error));
            recorder.warning(owner.object_ref(&()), "FailedCreate", note);
            Err(error.into())
        }
    }
}

pub(crate) async fn delete<O: Namespaced>(
    world: &World,
    recorder: &Recorder,
    owner: &O,
    pod: &Pod,
) -> Result<()> {
    let pods: Api<Pod> = ownership::beside(&world.client, owner);
    let parameters = DeleteParams::default().preconditions(Preconditions {
        uid: pod.metadata.uid.clone(),
        resource_version: None,
    });
    match pods.delete(&pod.name_any(), &parameters).await {
        // With a grace period the pod stays for a while; without one it is gone.
        Ok(answer) => match answer.left().filter(health::is_terminating) {
            Some(pod) => world.pods.wrote(pod),
            None => world.pods.removed(pod),
        },
        // Somebody else was faster.
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => return Ok(()),
        Err(error) => {
            let note = format!("Error deleting: {}", message(&error));
            recorder.warning(owner.object_ref(&()), "FailedDelete", note);
            return Err(error.into());
        }
    }
    let note = format!("Deleted pod: {}", pod.name_any());
    recorder.normal(owner.object_ref(&()), "SuccessfulDelete", note);
    Ok(())
}
