//! The objects that a container's environment and a pod's volumes are made from, as they are now.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
};

use images::Keyring;
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{
        ConfigMap, Container, PersistentVolume, PersistentVolumeClaim, Pod, Secret, Service, Volume,
    },
};
use kube::{Api, Client, Resource};
use reconcile::Key;
use serde::de::DeserializeOwned;

use crate::{
    agent::Agent,
    environment::{self, Resources, Sources},
    lifecycle::roles,
    sandbox::is_on_host_network,
    volumes::{TokenRequest, VolumeSources},
};

/// An object whose content pods may show in their volumes.
pub(crate) enum Content {
    ConfigMap(Key),
    Secret(Key),
}

impl Content {
    pub(crate) fn is_used_by(&self, pod: &Pod) -> bool {
        let names = Names::of_volumes(pod);
        let (key, names) = match self {
            Self::ConfigMap(key) => (key, names.config_maps),
            Self::Secret(key) => (key, names.secrets),
        };
        pod.metadata.namespace.as_deref() == Some(&*key.namespace) && names.contains(&*key.name)
    }
}

pub(super) struct Fetched<'a> {
    agent: &'a Agent,
    pod: &'a Pod,
    config_maps: BTreeMap<String, Arc<ConfigMap>>,
    secrets: BTreeMap<String, Arc<Secret>>,
    claims: BTreeMap<String, Arc<PersistentVolumeClaim>>,
    volumes: BTreeMap<String, Arc<PersistentVolume>>,
}

impl Sources for Fetched<'_> {
    fn config_map(&self, name: &str) -> Option<Arc<ConfigMap>> {
        self.config_maps.get(name).cloned()
    }

    fn secret(&self, name: &str) -> Option<Arc<Secret>> {
        self.secrets.get(name).cloned()
    }

    fn services(&self) -> Vec<Arc<Service>> {
        let services = &self.agent.followed.services;
        let api = services.get(&Key::new("default", "kubernetes"));
        if is_on_host_network(self.pod, self.agent.tier.tier) {
            // The addresses of services lead nowhere from there, or to a stranger.
            let address = self.agent.settings.api_server_on_host();
            return api
                .map(|api| Arc::new(environment::at(&api, address)))
                .into_iter()
                .collect();
        }
        let mut all = services.in_namespace(namespace(self.pod));
        all.extend(api);
        all
    }

    fn allocatable(&self) -> Resources {
        self.agent.allocatable()
    }
}

impl VolumeSources for Fetched<'_> {
    fn token(&self, request: &TokenRequest) -> Result<String, String> {
        self.agent.tokens.get(self.pod, request)
    }

    fn claim(&self, name: &str) -> Option<Arc<PersistentVolumeClaim>> {
        self.claims.get(name).cloned()
    }

    fn persistent_volume(&self, name: &str) -> Option<Arc<PersistentVolume>> {
        self.volumes.get(name).cloned()
    }

    fn is_used_by_another_pod(&self, claim: &str) -> bool {
        let others = self.agent.followed.pods.in_namespace(namespace(self.pod));
        others.iter().any(|other| {
            let phase = other.status.as_ref().and_then(|status| status.phase.as_deref());
            other.metadata.uid != self.pod.metadata.uid
                && phase == Some("Running")
                && claims(other).any(|used| used == claim)
        })
    }
}

/// What the environment of a container needs.
pub(super) async fn for_environment<'a>(
    agent: &'a Agent,
    pod: &'a Pod,
    container: &Container,
) -> kube::Result<Fetched<'a>> {
    fetch(agent, pod, Names::of_environment(container)).await
}

/// What the volumes of a pod need; tokens must have been refreshed before.
pub(super) async fn for_volumes<'a>(agent: &'a Agent, pod: &'a Pod) -> kube::Result<Fetched<'a>> {
    let mut fetched = fetch(agent, pod, Names::of_volumes(pod)).await?;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(agent.client.clone(), namespace(pod));
    let volumes: Api<PersistentVolume> = Api::all(agent.client.clone());
    for name in self::claims(pod) {
        let Some(claim) = claims.get_opt(&name).await? else {
            continue;
        };
        let bound = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone());
        if let Some(bound) = bound
            && let Some(volume) = volumes.get_opt(&bound).await?
        {
            fetched.volumes.insert(bound, Arc::new(volume));
        }
        fetched.claims.insert(name, Arc::new(claim));
    }
    Ok(fetched)
}

/// What registries are shown to get the pod's images. A secret that cannot be used is no reason not to
/// try without it.
pub(super) async fn keyring(agent: &Agent, pod: &Pod) -> Keyring {
    let secrets: Api<Secret> = Api::namespaced(agent.client.clone(), namespace(pod));
    let mut keyring = Keyring::new();
    for reference in roles::spec(pod).image_pull_secrets.iter().flatten() {
        let Ok(Some(secret)) = secrets.get_opt(&reference.name).await else {
            continue;
        };
        let data = secret.data.into_iter().flatten();
        let data = data.map(|(key, value)| (key, value.0)).collect();
        let kind = secret.type_.unwrap_or_default();
        if let Err(error) = keyring.add_secret(&kind, &data) {
            tracing::warn!(%error, secret = reference.name, "a secret holds no credentials");
        }
    }
    keyring
}

async fn fetch<'a>(agent: &'a Agent, pod: &'a Pod, names: Names<'_>) -> kube::Result<Fetched<'a>> {
    Ok(Fetched {
        agent,
        pod,
        config_maps: get_all(&agent.client, namespace(pod), names.config_maps).await?,
        secrets: get_all(&agent.client, namespace(pod), names.secrets).await?,
        claims: BTreeMap::new(),
        volumes: BTreeMap::new(),
    })
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

fn namespace(pod: &Pod) -> &str {
    pod.metadata.namespace.as_deref().unwrap_or_default()
}

/// The claims a pod uses; those made for it alone have its name in theirs.
fn claims(pod: &Pod) -> impl Iterator<Item = String> {
    let own = pod.metadata.name.as_deref().unwrap_or_default();
    let volumes = roles::spec(pod).volumes.iter().flatten();
    volumes.filter_map(move |volume| match volume {
        Volume {
            persistent_volume_claim: Some(claim),
            ..
        } => Some(claim.claim_name.clone()),
        Volume {
            ephemeral: Some(_),
            name,
            ..
        } => Some(format!("{own}-{name}")),
        _ => None,
    })
}

/// The config maps and secrets that something mentions.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names<'a> {
    config_maps: BTreeSet<&'a str>,
    secrets: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of_environment(container: &'a Container) -> Self {
        let mut names = Self::default();
        for from in container.env_from.iter().flatten() {
            let map = from.config_map_ref.as_ref();
            names
                .config_maps
                .extend(map.map(|reference| reference.name.as_str()));
            let secret = from.secret_ref.as_ref();
            names
                .secrets
                .extend(secret.map(|reference| reference.name.as_str()));
        }
        let variables = container.env.iter().flatten();
        for from in variables.filter_map(|variable| variable.value_from.as_ref()) {
            let map = from.config_map_key_ref.as_ref();
            names
                .config_maps
                .extend(map.map(|reference| reference.name.as_str()));
            let secret = from.secret_key_ref.as_ref();
            names
                .secrets
                .extend(secret.map(|reference| reference.name.as_str()));
        }
        names
    }

    fn of_volumes(pod: &'a Pod) -> Self {
        let mut names = Self::default();
        for volume in roles::spec(pod).volumes.iter().flatten() {
            let map = volume.config_map.as_ref();
            names.config_maps.extend(map.map(|source| source.name.as_str()));
            let secret = volume.secret.as_ref();
            names
                .secrets
                .extend(secret.and_then(|source| source.secret_name.as_deref()));
            let projected = volume
                .projected
                .iter()
                .flat_map(|source| source.sources.iter().flatten());
            for source in projected {
                let map = source.config_map.as_ref();
                names.config_maps.extend(map.map(|source| source.name.as_str()));
                let secret = source.secret.as_ref();
                names.secrets.extend(secret.map(|source| source.name.as_str()));
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_uses_what_its_volumes_mention_in_its_own_namespace() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {"containers": [], "volumes": [
                {"name": "a", "configMap": {"name": "plain"}},
                {"name": "b", "projected": {"sources": [{"secret": {"name": "hidden"}}, {"configMap": {"name": "ca"}}]}},
                {"name": "c", "ephemeral": {}},
            ]},
        }))
        .unwrap();
        assert!(Content::ConfigMap(Key::new("n", "ca")).is_used_by(&pod));
        assert!(Content::Secret(Key::new("n", "hidden")).is_used_by(&pod));
        assert!(!Content::Secret(Key::new("n", "plain")).is_used_by(&pod));
        assert!(!Content::ConfigMap(Key::new("m", "ca")).is_used_by(&pod));
        assert_eq!(claims(&pod).collect::<Vec<_>>(), ["p-c"]);
    }
}
