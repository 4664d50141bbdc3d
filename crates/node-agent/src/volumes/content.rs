//! Which files such a volume has. Pure: what they are made from comes in through [`VolumeSources`].

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{
    Container, DownwardAPIVolumeFile, KeyToPath, PersistentVolume, PersistentVolumeClaim, Pod,
    ProjectedVolumeSource, Volume, VolumeProjection,
};

use super::ownership::Ownership;
use crate::environment::{self, Sources};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the volume; may have folders in it.
    pub path: String,
    pub bytes: Vec<u8>,
    pub mode: u32,
    /// The user it belongs to, if that is not the agent.
    pub owner: Option<u32>,
}

/// A token a pod wants to find in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenRequest {
    pub audience: String,
    pub seconds: i64,
}

/// Where volumes come from. The agent answers from its caches.
pub trait VolumeSources: Sources {
    /// A token fetched before (see [`super::Tokens`]), or why there is none.
    fn token(&self, request: &TokenRequest) -> Result<String, String>;
    /// A claim in the pod's namespace.
    fn claim(&self, name: &str) -> Option<Arc<PersistentVolumeClaim>>;
    fn persistent_volume(&self, name: &str) -> Option<Arc<PersistentVolume>>;
    /// Whether another pod on this node has the claim set up.
    fn is_used_by_another_pod(&self, claim: &str) -> bool;
}

/// Why a volume cannot be filled yet.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("configmap \"{0}\" not found")]
    ConfigMap(String),
    #[error("secret \"{0}\" not found")]
    Secret(String),
    #[error("configmap references non-existent config key: {0}")]
    ConfigMapKey(String),
    #[error("references non-existent secret key: {0}")]
    SecretKey(String),
    #[error("failed to fetch token: {0}")]
    Token(String),
    #[error("{0}")]
    Field(String),
    #[error("{0} volumes are not supported")]
    Unsupported(&'static str),
    #[error("[{}]", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Several(Vec<Self>),
}

const DEFAULT_MODE: i32 = 0o644;

/// The files of a volume; `None` if it is not of this sort.
pub(super) fn files(
    pod: &Pod,
    volume: &Volume,
    ownership: &Ownership,
    sources: &impl VolumeSources,
) -> Result<Option<Vec<File>>, Unavailable> {
    let mut files = Files::default();
    if let Some(source) = &volume.config_map {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        let is_optional = source.optional == Some(true);
        files.config_map(&source.name, source.items.as_deref(), mode, is_optional, sources)?;
    } else if let Some(source) = &volume.secret {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        let name = source.secret_name.as_deref().unwrap_or_default();
        let is_optional = source.optional == Some(true);
        files.secret(name, source.items.as_deref(), mode, is_optional, sources)?;
    } else if let Some(source) = &volume.downward_api {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        files.downward(pod, source.items.as_deref(), mode, sources)?;
    } else if let Some(source) = &volume.projected {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        let projections = source.sources.iter().flatten();
        let mut problems: Vec<Unavailable> = projections
            .filter_map(|projection| files.projected(pod, projection, mode, ownership, sources).err())
            .collect();
        match problems.pop() {
            None => {}
            Some(only) if problems.is_empty() => return Err(only),
            Some(last) => {
                problems.push(last);
                return Err(Unavailable::Several(problems));
            }
        }
    } else {
        return Ok(None);
    }
    Ok(Some(files.into_list()))
}

/// The tokens the volumes of a pod ask for.
pub(super) fn tokens(pod: &Pod) -> Vec<TokenRequest> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let projected = volumes.filter_map(|volume| volume.projected.as_ref());
    let mut requests: Vec<TokenRequest> = projected.flat_map(requests).collect();
    requests.sort();
    requests.dedup();
    requests
}

fn requests(volume: &ProjectedVolumeSource) -> impl Iterator<Item = TokenRequest> {
    let projections = volume.sources.iter().flatten();
    projections.filter_map(|projection| {
        let source = projection.service_account_token.as_ref()?;
        Some(TokenRequest {
            audience: source.audience.clone().unwrap_or_default(),
            seconds: source.expiration_seconds.unwrap_or(3600),
        })
    })
}

/// Files by path: of two with the same path the later one counts.
#[derive(Default)]
struct Files {
    by_path: BTreeMap<String, File>,
}

impl Files {
    fn put(&mut self, path: &str, bytes: Vec<u8>, mode: i32) {
        self.put_for(None, path, bytes, mode);
    }

    fn put_for(&mut self, owner: Option<u32>, path: &str, bytes: Vec<u8>, mode: i32) {
        let file = File {
            path: path.to_owned(),
            bytes,
            mode: u32::try_from(mode).unwrap_or_default() & 0o7777,
            owner,
        };
        self.by_path.insert(path.to_owned(), file);
    }

    fn into_list(self) -> Vec<File> {
        self.by_path.into_values().collect()
    }

    fn config_map(
        &mut self,
        name: &str,
        items: Option<&[KeyToPath]>,
        mode: i32,
        is_optional: bool,
        sources: &impl Sources,
    ) -> Result<(), Unavailable> {
        let Some(map) = sources.config_map(name) else {
            return unless(is_optional, || Unavailable::ConfigMap(name.to_owned()));
        };
        let text = map.data.iter().flatten();
        let binary = map.binary_data.iter().flatten();
        let content: BTreeMap<&str, &[u8]> = text
            .map(|(key, value)| (key.as_str(), value.as_bytes()))
            .chain(binary.map(|(key, value)| (key.as_str(), value.0.as_slice())))
            .collect();
        self.keys(&content, items, mode, is_optional, Unavailable::ConfigMapKey)
    }

    fn secret(
        &mut self,
        name: &str,
        items: Option<&[KeyToPath]>,
        mode: i32,
        is_optional: bool,
        sources: &impl Sources,
    ) -> Result<(), Unavailable> {
        let Some(secret) = sources.secret(name) else {
            return unless(is_optional, || Unavailable::Secret(name.to_owned()));
        };
        let pairs = secret.data.iter().flatten();
        let content = pairs
            .map(|(key, value)| (key.as_str(), value.0.as_slice()))
            .collect();
        self.keys(&content, items, mode, is_optional, Unavailable::SecretKey)
    }

    /// All keys under their own names, or the chosen ones under the names given.
    fn keys(
        &mut self,
        content: &BTreeMap<&str, &[u8]>,
        items: Option<&[KeyToPath]>,
        mode: i32,
        is_optional: bool,
        missing: fn(String) -> Unavailable,
    ) -> Result<(), Unavailable> {
        let Some(items) = items.filter(|items| !items.is_empty()) else {
            for (key, bytes) in content {
                self.put(key, bytes.to_vec(), mode);
            }
            return Ok(());
        };
        for item in items {
            match content.get(item.key.as_str()) {
                Some(bytes) => self.put(&item.path, bytes.to_vec(), item.mode.unwrap_or(mode)),
                None if is_optional => {}
                None => return Err(missing(item.key.clone())),
            }
        }
        Ok(())
    }

    fn downward(
        &mut self,
        pod: &Pod,
        items: Option<&[DownwardAPIVolumeFile]>,
        mode: i32,
        sources: &impl Sources,
    ) -> Result<(), Unavailable> {
        for item in items.unwrap_or_default() {
            let value = if let Some(reference) = &item.field_ref {
                environment::field(pod, &reference.field_path)
            } else if let Some(reference) = &item.resource_field_ref {
                let nobody = Container::default();
                environment::resource(pod, &nobody, reference, sources.allocatable())
            } else {
                continue;
            };
            let value = value.map_err(Unavailable::Field)?;
            self.put(&item.path, value.into_bytes(), item.mode.unwrap_or(mode));
        }
        Ok(())
    }

    fn projected(
        &mut self,
        pod: &Pod,
        projection: &VolumeProjection,
        mode: i32,
        ownership: &Ownership,
        sources: &impl VolumeSources,
    ) -> Result<(), Unavailable> {
        if let Some(source) = &projection.config_map {
            let is_optional = source.optional == Some(true);
            self.config_map(&source.name, source.items.as_deref(), mode, is_optional, sources)?;
        }
        if let Some(source) = &projection.secret {
            let is_optional = source.optional == Some(true);
            self.secret(&source.name, source.items.as_deref(), mode, is_optional, sources)?;
        }
        if let Some(source) = &projection.downward_api {
            self.downward(pod, source.items.as_deref(), mode, sources)?;
        }
        if let Some(source) = &projection.service_account_token {
            let request = TokenRequest {
                audience: source.audience.clone().unwrap_or_default(),
                seconds: source.expiration_seconds.unwrap_or(3600),
            };
            let token = sources.token(&request).map_err(Unavailable::Token)?;
            // Whose it is can be said, so nobody else needs to read it.
            let is_private = ownership.user.is_some() || ownership.group.is_some();
            let mode = if is_private { 0o600 } else { mode };
            self.put_for(ownership.user, &source.path, token.into_bytes(), mode);
        }
        match &projection.cluster_trust_bundle {
            Some(_) => Err(Unavailable::Unsupported("clusterTrustBundle")),
            None => Ok(()),
        }
    }
}

fn unless(is_optional: bool, error: impl FnOnce() -> Unavailable) -> Result<(), Unavailable> {
    if is_optional { Ok(()) } else { Err(error()) }
}

#[cfg(test)]
mod tests;
