//! The environment of a container: services first, then whole config maps and secrets, then its own
//! variables, each of which may refer to those before it.

mod expansion;
mod fields;
mod services;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVar, EnvVarSource, Pod, Secret, Service};

pub use expansion::expand;
pub use fields::{Resources, field, resource};
pub(crate) use services::at;

/// Where values come from. The agent answers from its caches.
pub trait Sources {
    fn config_map(&self, name: &str) -> Option<Arc<ConfigMap>>;
    fn secret(&self, name: &str) -> Option<Arc<Secret>>;
    /// The services of the pod's namespace, and `kubernetes` of the default namespace.
    fn services(&self) -> Vec<Arc<Service>>;
    /// What a container without limits may use: all the node has.
    fn allocatable(&self) -> Resources;
}

/// Why a container cannot be started yet, in the words users know.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("configmap \"{0}\" not found")]
    ConfigMap(String),
    #[error("secret \"{0}\" not found")]
    Secret(String),
    #[error("couldn't find key {key} in ConfigMap {namespace}/{name}")]
    ConfigMapKey {
        namespace: String,
        name: String,
        key: String,
    },
    #[error("couldn't find key {key} in Secret {namespace}/{name}")]
    SecretKey {
        namespace: String,
        name: String,
        key: String,
    },
    #[error("{0}")]
    Field(String),
}

/// The variables in order of their first appearance; a later value of a name replaces the earlier one.
#[derive(Debug, Default)]
pub struct Environment {
    order: Vec<String>,
    values: BTreeMap<String, String>,
}

impl Environment {
    fn set(&mut self, name: &str, value: String) {
        if self.values.insert(name.to_owned(), value).is_none() {
            self.order.push(name.to_owned());
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn into_pairs(mut self) -> Vec<(String, String)> {
        let take = |name: String| {
            let value = self.values.remove(&name).unwrap_or_default();
            (name, value)
        };
        self.order.into_iter().map(take).collect()
    }
}

/// The environment of one container of a pod.
pub fn environment(pod: &Pod, container: &Container, sources: &impl Sources) -> Result<Environment, Missing> {
    let mut environment = Environment::default();
    let links = pod.spec.as_ref().and_then(|spec| spec.enable_service_links);
    for (name, value) in services::variables(pod, &sources.services(), links.unwrap_or(true)) {
        environment.set(&name, value);
    }
    import(container, sources, &mut environment)?;
    for variable in container.env.iter().flatten() {
        if let Some(value) = value(pod, container, variable, sources, &environment)? {
            environment.set(&variable.name, value);
        }
    }
    Ok(environment)
}

/// `envFrom`: every key of a config map or secret becomes a variable.
fn import(
    container: &Container,
    sources: &impl Sources,
    environment: &mut Environment,
) -> Result<(), Missing> {
    for from in container.env_from.iter().flatten() {
        let prefix = from.prefix.as_deref().unwrap_or_default();
        let mut set = |key: &str, value: String| environment.set(&format!("{prefix}{key}"), value);
        if let Some(reference) = &from.config_map_ref {
            match sources.config_map(&reference.name) {
                Some(map) => map
                    .data
                    .iter()
                    .flatten()
                    .for_each(|(key, value)| set(key, value.clone())),
                None if reference.optional == Some(true) => {}
                None => return Err(Missing::ConfigMap(reference.name.clone())),
            }
        }
        if let Some(reference) = &from.secret_ref {
            match sources.secret(&reference.name) {
                Some(secret) => secret
                    .data
                    .iter()
                    .flatten()
                    .for_each(|(key, value)| set(key, text(&value.0))),
                None if reference.optional == Some(true) => {}
                None => return Err(Missing::Secret(reference.name.clone())),
            }
        }
    }
    Ok(())
}

/// The value of one variable; `None` leaves it unset.
fn value(
    pod: &Pod,
    container: &Container,
    variable: &EnvVar,
    sources: &impl Sources,
    environment: &Environment,
) -> Result<Option<String>, Missing> {
    let Some(from) = &variable.value_from else {
        let plain = variable.value.as_deref().unwrap_or_default();
        return Ok(Some(expand(plain, |name| environment.get(name))));
    };
    if let Some(reference) = &from.field_ref {
        return field(pod, &reference.field_path)
            .map(Some)
            .map_err(Missing::Field);
    }
    if let Some(reference) = &from.resource_field_ref {
        return resource(pod, container, reference, sources.allocatable())
            .map(Some)
            .map_err(Missing::Field);
    }
    selected(pod, from, sources)
}

/// One key of a config map or secret.
fn selected(pod: &Pod, from: &EnvVarSource, sources: &impl Sources) -> Result<Option<String>, Missing> {
    let namespace = || pod.metadata.namespace.clone().unwrap_or_default();
    if let Some(reference) = &from.config_map_key_ref {
        let is_optional = reference.optional == Some(true);
        let Some(map) = sources.config_map(&reference.name) else {
            return absent(is_optional, || Missing::ConfigMap(reference.name.clone()));
        };
        let value = map.data.as_ref().and_then(|data| data.get(&reference.key));
        return match value {
            Some(value) => Ok(Some(value.clone())),
            None => absent(is_optional, || Missing::ConfigMapKey {
                namespace: namespace(),
                name: reference.name.clone(),
                key: reference.key.clone(),
            }),
        };
    }
    let Some(reference) = &from.secret_key_ref else {
        return Ok(None);
    };
    let is_optional = reference.optional == Some(true);
    let Some(secret) = sources.secret(&reference.name) else {
        return absent(is_optional, || Missing::Secret(reference.name.clone()));
    };
    let value = secret.data.as_ref().and_then(|data| data.get(&reference.key));
    match value {
        Some(value) => Ok(Some(text(&value.0))),
        None => absent(is_optional, || Missing::SecretKey {
            namespace: namespace(),
            name: reference.name.clone(),
            key: reference.key.clone(),
        }),
    }
}

fn absent(is_optional: bool, missing: impl FnOnce() -> Missing) -> Result<Option<String>, Missing> {
    if is_optional { Ok(None) } else { Err(missing()) }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
