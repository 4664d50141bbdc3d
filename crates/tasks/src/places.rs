//! Where objects of a kind are found, by their `apiVersion` and `kind`.

use std::collections::HashMap;

use kube::{Client, core::ApiResource};
use parking_lot::Mutex;
use resources::{Kind, tasks::TaskKind};

/// What the server says of kinds that no table has, remembered.
#[derive(Default)]
pub(crate) struct Places {
    learned: Mutex<HashMap<(String, String), ApiResource>>,
}

impl Places {
    /// None where the cluster has no such kind.
    pub(crate) async fn find(
        &self,
        client: &Client,
        api_version: &str,
        kind: &str,
    ) -> kube::Result<Option<ApiResource>> {
        if let Some(plural) = plural(api_version, kind) {
            return Ok(Some(resource(api_version, kind, plural)));
        }
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.learned.lock().get(&key) {
            return Ok(Some(known.clone()));
        }
        let listed = if api_version.contains('/') {
            client.list_api_group_resources(api_version).await
        } else {
            client.list_core_api_resources(api_version).await
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = listed
            .resources
            .iter()
            .find(|row| row.kind == kind && row.namespaced && !row.name.contains('/'));
        let found = found.map(|row| resource(api_version, kind, &row.name));
        if let Some(found) = &found {
            self.learned.lock().insert(key, found.clone());
        }
        Ok(found)
    }
}

/// The kinds every cluster has.
fn plural(api_version: &str, kind: &str) -> Option<&'static str> {
    match (api_version, kind) {
        ("v1", "ConfigMap") => Some("configmaps"),
        ("v1", "PersistentVolumeClaim") => Some("persistentvolumeclaims"),
        ("v1", "Pod") => Some("pods"),
        ("v1", "Secret") => Some("secrets"),
        ("v1", "Service") => Some("services"),
        ("batch/v1", "Job") => Some("jobs"),
        _ => None,
    }
}

pub(crate) fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// One of our own kinds.
pub(crate) fn of(kind: &TaskKind) -> ApiResource {
    resource(&kind.api_version(), kind.kind, kind.plural)
}

/// The path of a namespace's objects of a kind, or of the cluster's.
pub(crate) fn folder(resource: &ApiResource, namespace: Option<&str>) -> String {
    let ApiResource {
        api_version, plural, ..
    } = resource;
    let root = if api_version.contains('/') { "apis" } else { "api" };
    match namespace {
        Some(namespace) => format!("/{root}/{api_version}/namespaces/{namespace}/{plural}"),
        None => format!("/{root}/{api_version}/{plural}"),
    }
}

/// The version of a training kind that is followed: the stored one, whatever a template is written in.
pub(crate) fn followed_version(api_version: &str, kind: &str) -> String {
    match Kind::of(api_version, kind) {
        Some(row) => format!(
            "{}/{}",
            row.group,
            row.versions.first().copied().unwrap_or_default()
        ),
        None => api_version.to_owned(),
    }
}
