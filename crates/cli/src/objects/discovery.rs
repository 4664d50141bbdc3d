//! Which resource holds objects of a kind, as the cluster itself says.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::jobs::{
    api::{ApiError, escaped},
    place::Cluster,
};

/// What is known so far, a version of a group at a time.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    versions: BTreeMap<String, Vec<Resource>>,
}

/// A resource that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    verbs: Vec<String>,
}

impl Discovery {
    /// The resource of an object; none where the cluster does not know its kind.
    pub(super) async fn of(
        &mut self,
        cluster: &Cluster,
        object: &Value,
    ) -> Result<Option<Resource>, ApiError> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if !self.versions.contains_key(&api_version) {
            let found = read(cluster, &api_version).await?;
            self.versions.insert(api_version.clone(), found);
        }
        let resources = &self.versions[&api_version];
        Ok(resources.iter().find(|resource| resource.kind == kind).cloned())
    }

    /// Forgets what it knows: there are definitions it has not seen.
    pub(super) fn forget(&mut self) {
        self.versions.clear();
    }
}

/// Every resource that can be listed and deleted, each in one version, and the versions whose resources cannot be
/// told: one whose server is away does not keep the others from being seen.
pub(super) async fn all(cluster: &Cluster) -> Result<(Vec<Resource>, Vec<String>), ApiError> {
    let groups = cluster.api.get("/apis").await?;
    let preferred = groups["groups"].as_array().into_iter().flatten();
    let preferred = preferred.filter_map(|group| group["preferredVersion"]["groupVersion"].as_str());
    let mut all = read(cluster, "v1").await?;
    let mut unseen = Vec::new();
    for version in preferred {
        match read(cluster, version).await {
            Ok(resources) => all.extend(resources),
            Err(error @ ApiError::Refused { .. }) => unseen.push(format!("{version}: {error}")),
            Err(error) => return Err(error),
        }
    }
    all.retain(|resource| {
        ["list", "delete"]
            .iter()
            .all(|verb| resource.verbs.iter().any(|one| one == verb))
    });
    Ok((all, unseen))
}

async fn read(cluster: &Cluster, api_version: &str) -> Result<Vec<Resource>, ApiError> {
    let list = cluster.api.find(&root(api_version)).await?.unwrap_or_default();
    let resources = list["resources"].as_array().into_iter().flatten();
    Ok(resources
        .filter_map(|resource| resource_of(api_version, resource))
        .collect())
}

/// Parts of resources (`deployments/status`) are none of their own.
fn resource_of(api_version: &str, resource: &Value) -> Option<Resource> {
    let plural = resource["name"].as_str()?;
    let verbs = resource["verbs"].as_array().into_iter().flatten();
    (!plural.contains('/')).then(|| Resource {
        api_version: api_version.to_owned(),
        kind: resource["kind"].as_str().unwrap_or_default().to_owned(),
        plural: plural.to_owned(),
        namespaced: resource["namespaced"] == true,
        verbs: verbs
            .filter_map(|verb| verb.as_str().map(str::to_owned))
            .collect(),
    })
}

fn root(api_version: &str) -> String {
    match api_version.split_once('/') {
        Some((group, version)) => format!("/apis/{}/{}", escaped(group), escaped(version)),
        None => format!("/api/{}", escaped(api_version)),
    }
}

impl Resource {
    /// Where its objects are, or one of them.
    pub(super) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let mut path = root(&self.api_version);
        if let Some(namespace) = namespace {
            path += &format!("/namespaces/{}", escaped(namespace));
        }
        path += &format!("/{}", self.plural);
        if let Some(name) = name {
            path += &format!("/{}", escaped(name));
        }
        path
    }

    /// An object as kubectl names it: `deployment.apps/trainer`.
    pub(super) fn shown(&self, name: &str) -> String {
        let group = self
            .api_version
            .split_once('/')
            .map(|(group, _)| format!(".{group}"));
        format!("{}{}/{name}", self.kind.to_lowercase(), group.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let row = json!({"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": ["get"]});
        let resource = resource_of("apps/v1", &row).unwrap();
        assert_eq!(
            resource.path(Some("a"), Some("b")),
            "/apis/apps/v1/namespaces/a/deployments/b"
        );
        assert_eq!(resource.shown("b"), "deployment.apps/b");
        let core = Resource {
            api_version: "v1".to_owned(),
            ..resource
        };
        assert_eq!(core.path(None, None), "/api/v1/deployments");
        assert_eq!(core.shown("b"), "deployment/b");
        assert_eq!(
            resource_of("apps/v1", &json!({"name": "deployments/status"})),
            None
        );
    }
}
