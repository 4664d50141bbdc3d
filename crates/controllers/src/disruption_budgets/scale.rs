//! How many pods the owners of a budget's pods want, all together.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::{
    api::{autoscaling::v1::Scale, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, ResourceExt as _,
    api::DynamicObject,
    core::{GroupVersion, GroupVersionKind},
    discovery,
};
use reconcile::Key;

use crate::{Result, pods::claim, world::World};

#[derive(Debug)]
pub(crate) struct Demand {
    /// Pods the owners want, or why that is not known.
    pub pods: std::result::Result<i32, String>,
    /// Pods without an owner.
    pub has_unmanaged: bool,
}

/// An owner and how many pods it wants.
struct Wanted {
    uid: String,
    pods: i32,
}

pub(crate) async fn of(world: &World, pods: &[Arc<Pod>]) -> Result<Demand> {
    let mut wanted: HashMap<String, i32> = HashMap::new();
    let mut known: HashMap<&str, bool> = HashMap::new();
    let mut has_unmanaged = false;
    for pod in pods {
        let Some(owner) = claim::controller(&pod.metadata) else {
            has_unmanaged = true;
            continue;
        };
        if known.insert(&owner.uid, true).is_some() {
            continue;
        }
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let Some(found) = find(world, namespace, owner).await? else {
            let failure = format!("found no controllers for pod {:?}", pod.name_any());
            return Ok(Demand {
                pods: Err(failure),
                has_unmanaged,
            });
        };
        wanted.insert(found.uid, found.pods);
    }
    Ok(Demand {
        pods: Ok(wanted.values().sum()),
        has_unmanaged,
    })
}

async fn find(world: &World, namespace: &str, owner: &OwnerReference) -> Result<Option<Wanted>> {
    let key = Key::new(namespace, &owner.name);
    let is_owner = |uid: &Option<String>| uid.as_deref() == Some(owner.uid.as_str());
    let wanted = |uid: &str, pods: Option<i32>| {
        Some(Wanted {
            uid: uid.to_owned(),
            pods: pods.unwrap_or(1),
        })
    };
    Ok(match owner.kind.as_str() {
        "ReplicaSet" => {
            let set = world
                .replica_sets
                .get(&key)
                .filter(|set| is_owner(&set.metadata.uid));
            set.and_then(|set| {
                let deployment = Key::of_controller(&*set, "Deployment");
                match deployment.and_then(|key| world.deployments.get(&key)) {
                    Some(deployment) => wanted(
                        deployment.metadata.uid.as_deref().unwrap_or_default(),
                        deployment.spec.as_ref().and_then(|spec| spec.replicas),
                    ),
                    None => wanted(&owner.uid, set.spec.as_ref().and_then(|spec| spec.replicas)),
                }
            })
        }
        "StatefulSet" => {
            let set = world
                .stateful_sets
                .get(&key)
                .filter(|set| is_owner(&set.metadata.uid));
            set.and_then(|set| wanted(&owner.uid, set.spec.as_ref().and_then(|spec| spec.replicas)))
        }
        "ReplicationController" => {
            let set = world.replication_controllers.get(&key);
            let set = set.filter(|set| is_owner(&set.metadata.uid));
            set.and_then(|set| wanted(&owner.uid, set.spec.as_ref().and_then(|spec| spec.replicas)))
        }
        _ => scaled(world, namespace, owner).await?.map(|pods| Wanted {
            uid: owner.uid.clone(),
            pods,
        }),
    })
}

/// Any other owner can say it by its scale.
async fn scaled(world: &World, namespace: &str, owner: &OwnerReference) -> Result<Option<i32>> {
    let Ok(version) = owner.api_version.parse::<GroupVersion>() else {
        return Ok(None);
    };
    let kind = GroupVersionKind {
        group: version.group,
        version: version.version,
        kind: owner.kind.clone(),
    };
    let Ok((resource, capabilities)) = discovery::pinned_kind(&world.client, &kind).await else {
        return Ok(None);
    };
    let has_scale = capabilities
        .subresources
        .iter()
        .any(|(sub, _)| sub.plural.ends_with("scale"));
    if !has_scale {
        return Ok(None);
    }
    let api: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), namespace, &resource);
    match api.get_subresource("scale", &owner.name).await {
        Ok(scale) => {
            let scale: Scale = scale.try_parse().unwrap_or_default();
            Ok(scale.spec.map(|spec| spec.replicas.unwrap_or_default()))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}
