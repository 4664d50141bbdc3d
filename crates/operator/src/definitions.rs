//! The kinds themselves: put into the cluster, or waited for.

use futures_util::future::join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, Resource as _, core::ApiResource};
use reconcile::{
    definitions::{self, is_served},
    requests,
};
use resources::Kind;
use serde_json::Value;

use crate::{MANAGER, stored_job::resource};

/// Installs the definitions of kinds and waits until all are served.
pub async fn install_all(client: &Client, kinds: &[&'static Kind]) {
    join_all(kinds.iter().map(|kind| async {
        install(client, kind).await;
        served(client, &resource(kind)).await;
    }))
    .await;
}

/// Makes the definition what this program knows it to be. Tries until it succeeds.
pub(crate) async fn install(client: &Client, kind: &Kind) {
    definitions::install(client, MANAGER, &resources::definitions::definition(kind)).await;
}

/// Resolves when the API has the kind.
pub(crate) async fn served(client: &Client, resource: &ApiResource) {
    definitions::served(client, &resource.group, &resource.version, &resource.plural).await;
}

/// What is found of a definition that somebody else is to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Usable,
    Missing,
    /// The server would drop what the operator has to remember in a job's status.
    Foreign,
}

pub(crate) async fn find(client: &Client, kind: &Kind) -> kube::Result<Found> {
    let version = kind.versions.first().copied().unwrap_or_default();
    let folder = CustomResourceDefinition::url_path(&(), None);
    match requests::get::<Value>(client, &folder, &kind.definition()).await {
        Ok(definition) if !remembers(&definition, version) => return Ok(Found::Foreign),
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Found::Missing),
        // Whoever may not look at definitions finds out what is served.
        Err(kube::Error::Api(status)) if status.code == 403 => {}
        Err(error) => return Err(error),
    }
    let is_served = is_served(client, kind.group, version, kind.plural).await?;
    Ok(if is_served { Found::Usable } else { Found::Missing })
}

/// Whether the version is served, and keeps everything that is written to a status.
fn remembers(definition: &Value, version: &str) -> bool {
    let versions = definition["spec"]["versions"].as_array();
    let version = versions
        .into_iter()
        .flatten()
        .find(|known| known["name"] == version && known["served"] == true);
    version.is_some_and(|version| {
        let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
        status["x-kubernetes-preserve-unknown-fields"] == true
    })
}

#[cfg(test)]
mod tests {
    use resources::{definitions, kinds::ALL};
    use serde_json::json;

    use super::*;

    #[test]
    fn our_own_definitions_are_usable_and_one_that_drops_fields_is_not() {
        for kind in ALL {
            assert!(remembers(&definitions::definition(kind), kind.versions[0]));
        }
        let foreign = json!({"spec": {"versions": [{
            "name": "v1", "served": true,
            "schema": {"openAPIV3Schema": {"properties": {"status": {"type": "object"}}}},
        }]}});
        assert!(!remembers(&foreign, "v1"));
        assert!(!remembers(&foreign, "v2beta1"));
    }
}
