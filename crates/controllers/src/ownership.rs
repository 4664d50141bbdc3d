//! Taking in orphans and letting go of strays, at the server.

use std::{fmt::Debug, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use reconcile::Informer;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Result,
    pods::claim::{self, Claim},
};

/// An object of a namespace that controllers read and write.
pub(crate) trait Namespaced:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Namespaced for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// What a controller writes into the objects it makes.
pub(crate) fn reference(owner: &impl Resource<DynamicType = ()>) -> OwnerReference {
    OwnerReference {
        block_owner_deletion: Some(true),
        ..owner.controller_owner_ref(&()).unwrap_or_default()
    }
}

/// The objects of a kind in the namespace of another.
pub(crate) fn beside<K: Namespaced>(client: &Client, object: &impl Resource) -> Api<K> {
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    Api::namespaced(client.clone(), namespace)
}

/// Acts on a claim and gives what is the owner's own afterwards.
pub(crate) async fn settle<O: Namespaced, K: Namespaced>(
    client: &Client,
    owner: &O,
    informer: &Informer<K>,
    claim: Claim<K>,
) -> Result<Vec<Arc<K>>> {
    let api: Api<K> = beside(client, owner);
    let mut own = claim.own;
    if !claim.adopt.is_empty() && is_alive(client, owner).await? {
        let reference = reference(owner);
        for orphan in claim.adopt {
            let patch = claim::adoption(&*orphan, &reference);
            own.extend(change(&api, informer, &*orphan, patch).await?);
        }
    }
    let uid = owner.meta().uid.as_deref().unwrap_or_default();
    for stray in claim.release {
        change(&api, informer, &*stray, claim::release(&*stray, uid)).await?;
    }
    Ok(own)
}

async fn change<K: Namespaced>(
    api: &Api<K>,
    informer: &Informer<K>,
    object: &K,
    patch: Value,
) -> Result<Option<Arc<K>>> {
    let patch = Patch::Strategic(patch);
    match api
        .patch(&object.name_any(), &PatchParams::default(), &patch)
        .await
    {
        Ok(object) => {
            informer.wrote(object.clone());
            Ok(Some(Arc::new(object)))
        }
        // It has gone, or its name has passed to another.
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 422 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Asks the server itself: an owner that was deleted and made again must not adopt for its predecessor.
async fn is_alive<O: Namespaced>(client: &Client, owner: &O) -> Result<bool> {
    let api: Api<O> = beside(client, owner);
    let fresh = api.get_opt(&owner.name_any()).await?;
    Ok(fresh.is_some_and(|fresh| {
        fresh.meta().uid == owner.meta().uid && fresh.meta().deletion_timestamp.is_none()
    }))
}
