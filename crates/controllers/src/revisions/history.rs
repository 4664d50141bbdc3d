//! Writing revisions down, and forgetting them.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use reconcile::Informer;
use serde_json::{Value, json};

use super::Update;
use crate::{
    Result,
    ownership::{self, Namespaced},
    pods::claim,
    world::{World, status_patch},
};

/// The revisions of an owner, the newest last. Those whose labels have changed stay: they are its past.
pub(crate) async fn of<O: Namespaced>(
    world: &World,
    owner: &O,
    is_selected: impl Fn(&ControllerRevision) -> bool,
) -> Result<Vec<Arc<ControllerRevision>>> {
    let namespace = owner.namespace().unwrap_or_default();
    let known = world.controller_revisions.in_namespace(&namespace);
    let mut known = claim::claim(owner.meta(), known, is_selected);
    known.own.append(&mut known.release);
    let mut known = ownership::settle(&world.client, owner, &world.controller_revisions, known).await?;
    super::sort(&mut known);
    Ok(known)
}

/// Makes the update true. If other data has the same name, `collision` is written into the owner's
/// status, so that the next attempt gets another name.
pub(crate) async fn record<O: Namespaced>(
    world: &World,
    owner: &O,
    informer: &Informer<O>,
    update: &Update,
    collision: Value,
) -> Result<()> {
    let api: Api<ControllerRevision> = ownership::beside(&world.client, owner);
    let written = match update {
        Update::Keep(_) => return Ok(()),
        Update::Renumber(revision, number) => {
            let patch = Patch::Merge(json!({ "revision": number }));
            api.patch(&revision.name_any(), &PatchParams::default(), &patch)
                .await?
        }
        Update::Create(revision) => match api.create(&PostParams::default(), revision).await {
            Ok(revision) => revision,
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = api.get(&revision.name_any()).await?;
                if found.data != revision.data {
                    let owners: Api<O> = ownership::beside(&world.client, owner);
                    let patch = status_patch(collision);
                    let written = owners
                        .patch_status(&owner.name_any(), &PatchParams::default(), &patch)
                        .await?;
                    informer.wrote(written);
                    return Err(kube::Error::Api(status).into());
                }
                found
            }
            Err(error) => return Err(error.into()),
        },
    };
    world.controller_revisions.wrote(written);
    Ok(())
}

pub(crate) async fn forget(world: &World, revision: &ControllerRevision) -> Result<()> {
    let api: Api<ControllerRevision> = ownership::beside(&world.client, revision);
    match api.delete(&revision.name_any(), &DeleteParams::default()).await {
        Ok(_) => world.controller_revisions.removed(revision),
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
