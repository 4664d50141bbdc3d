//! The objects a container's environment is made from, as they are when it starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
};

use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Container, Pod, Secret, Service},
};
use kube::{Api, Client, Resource};
use reconcile::Key;
use serde::de::DeserializeOwned;

use crate::{
    agent::Agent,
    environment::{Resources, Sources},
};

pub(super) struct Fetched {
    config_maps: BTreeMap<String, Arc<ConfigMap>>,
    secrets: BTreeMap<String, Arc<Secret>>,
    services: Vec<Arc<Service>>,
    allocatable: Resources,
}

impl Sources for Fetched {
    fn config_map(&self, name: &str) -> Option<Arc<ConfigMap>> {
        self.config_maps.get(name).cloned()
    }

    fn secret(&self, name: &str) -> Option<Arc<Secret>> {
        self.secrets.get(name).cloned()
    }

    fn services(&self) -> Vec<Arc<Service>> {
        self.services.clone()
    }

    fn allocatable(&self) -> Resources {
        self.allocatable.clone()
    }
}

pub(super) async fn fetch(agent: &Agent, pod: &Pod, container: &Container) -> kube::Result<Fetched> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let (config_maps, secrets) = references(container);
    let mut services = agent.services.in_namespace(namespace);
    services.extend(agent.services.get(&Key::new("default", "kubernetes")));
    Ok(Fetched {
        config_maps: get_all(&agent.client, namespace, config_maps).await?,
        secrets: get_all(&agent.client, namespace, secrets).await?,
        services,
        allocatable: agent.allocatable(),
    })
}

/// The names of the config maps and secrets that a container's environment mentions.
fn references(container: &Container) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut config_maps, mut secrets) = (BTreeSet::new(), BTreeSet::new());
    for from in container.env_from.iter().flatten() {
        config_maps.extend(
            from.config_map_ref
                .iter()
                .map(|reference| reference.name.as_str()),
        );
        secrets.extend(from.secret_ref.iter().map(|reference| reference.name.as_str()));
    }
    let variables = container.env.iter().flatten();
    for from in variables.filter_map(|variable| variable.value_from.as_ref()) {
        config_maps.extend(
            from.config_map_key_ref
                .iter()
                .map(|reference| reference.name.as_str()),
        );
        secrets.extend(
            from.secret_key_ref
                .iter()
                .map(|reference| reference.name.as_str()),
        );
    }
    (config_maps, secrets)
}

/// Those that exist.
async fn get_all<K>(
    client: &Client,
    namespace: &str,
    names: BTreeSet<&str>,
) -> kube::Result<BTreeMap<String, Arc<K>>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let mut found = BTreeMap::new();
    for name in names {
        if let Some(object) = api.get_opt(name).await? {
            found.insert(name.to_owned(), Arc::new(object));
        }
    }
    Ok(found)
}
