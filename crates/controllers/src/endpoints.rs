//! Where the pods of a service can be reached: EndpointSlices, the older Endpoints, and slices that
//! mirror Endpoints which users write themselves.

mod backends;
mod legacy;
mod mirror;
mod pack;
mod slices;
mod subsets;
mod trigger;

use std::sync::Arc;

use k8s_openapi::api::{
    core::v1::{Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, PostParams, Preconditions},
};
use reconcile::{Change, Informer, Key, Queue, selectors};
use tokio::task::JoinSet;

use crate::{Result, ownership, world::World};
use pack::Changes;

const WORKERS: usize = 5;

const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const HEADLESS: &str = "service.kubernetes.io/headless";
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

pub(crate) fn start(world: &Arc<World>, tasks: &mut JoinSet<()>) {
    legacy::start(world, tasks);
    slices::start(world, tasks);
    mirror::start(world, tasks);
}

/// Puts a service into the queue when it or a pod it selects changes.
fn follow_services(world: &World, queue: &Queue<Key>) {
    let added = queue.clone();
    world.services.on_change(move |change| {
        if let Some(service) = change.object() {
            added.add(Key::of(&**service));
        }
    });
    let (touched, services) = (queue.clone(), world.services.clone());
    world.pods.on_change(move |change| {
        for key in concerned(change, &services) {
            touched.add(key);
        }
    });
}

/// The services that select a pod, or did until now.
fn concerned(change: &Change<'_, Pod>, services: &Informer<Service>) -> Vec<Key> {
    let Some(pod) = change.object().filter(|_| backends::matters(change)) else {
        return Vec::new();
    };
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let services = services.in_namespace(namespace);
    let versions = [change.before, change.after];
    let concerned = services
        .iter()
        .filter(|service| versions.iter().flatten().any(|pod| is_selected(service, pod)));
    concerned.map(|service| Key::of(&**service)).collect()
}

fn is_selected(service: &Service, pod: &Pod) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| selectors::matches_all(selector, pod.metadata.labels.as_ref()))
}

/// Whether the cluster finds the service's endpoints by itself.
fn has_selector(service: &Service) -> bool {
    service
        .spec
        .as_ref()
        .is_some_and(|spec| spec.type_.as_deref() != Some("ExternalName") && spec.selector.is_some())
}

fn selected(world: &World, service: &Service) -> Vec<Arc<Pod>> {
    let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
    let mut pods = world.pods.in_namespace(namespace);
    pods.retain(|pod| is_selected(service, pod));
    pods
}

/// The slices of a service that one controller writes.
fn slices_of(world: &World, key: &Key, manager: &str) -> Vec<Arc<EndpointSlice>> {
    let mut slices = world.endpoint_slices.in_namespace(&key.namespace);
    slices.retain(|slice| {
        let labels = slice.labels();
        labels.get(SERVICE_NAME).map(String::as_str) == Some(&*key.name)
            && labels.get(MANAGED_BY).map(String::as_str) == Some(manager)
    });
    slices
}

/// Puts the service of a changed slice into the queue.
fn follow_slices(world: &World, queue: &Queue<Key>, manager: &'static str) {
    let queue = queue.clone();
    world.endpoint_slices.on_change(move |change| {
        for slice in [change.before, change.after].into_iter().flatten() {
            let labels = slice.labels();
            let is_own = labels.get(MANAGED_BY).is_some_and(|by| by == manager);
            if let Some(name) = labels.get(SERVICE_NAME).filter(|_| is_own) {
                queue.add(Key::new(&slice.namespace().unwrap_or_default(), name));
            }
        }
    });
}

async fn apply(world: &World, owner: &impl Resource, changes: Changes) -> Result<()> {
    let api: Api<EndpointSlice> = ownership::beside(&world.client, owner);
    // What is on its way out gets no new slices: the garbage collector would not know of them.
    if owner.meta().deletion_timestamp.is_none() {
        for slice in changes.create {
            match api.create(&PostParams::default(), &slice).await {
                Ok(slice) => world.endpoint_slices.wrote(slice),
                Err(kube::Error::Api(status)) if crate::is_namespace_terminating(&status) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
    for slice in changes.update {
        let written = api
            .replace(&slice.name_any(), &PostParams::default(), &slice)
            .await?;
        world.endpoint_slices.wrote(written);
    }
    for slice in changes.delete {
        delete(&world.client, &world.endpoint_slices, &*slice).await?;
    }
    Ok(())
}

async fn delete<K: ownership::Namespaced>(client: &Client, informer: &Informer<K>, object: &K) -> Result<()> {
    let api: Api<K> = ownership::beside(client, object);
    let parameters = DeleteParams::default().preconditions(Preconditions {
        uid: object.meta().uid.clone(),
        resource_version: None,
    });
    match api.delete(&object.name_any(), &parameters).await {
        Ok(_) => informer.removed(object),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
