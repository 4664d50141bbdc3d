//! Definitions of custom resources: put into a cluster, or waited for.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, Resource as _};
use serde_json::Value;
use tokio::time::sleep;

use crate::requests;

const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Makes a definition what this program knows it to be. Tries until it succeeds.
pub async fn install(client: &Client, manager: &str, definition: &Value) {
    let folder = CustomResourceDefinition::url_path(&(), None);
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let mut wait = FIRST_LOOK;
    while let Err(error) = requests::apply::<Value>(client, manager, &folder, name, definition).await {
        tracing::warn!(%error, definition = name, "cannot install a definition, will be tried again");
        wait = pause(wait).await;
    }
}

/// Resolves when the API has the resource.
pub async fn served(client: &Client, group: &str, version: &str, plural: &str) {
    let mut wait = FIRST_LOOK;
    while !is_served(client, group, version, plural)
        .await
        .unwrap_or_default()
    {
        wait = pause(wait).await;
    }
}

async fn pause(wait: Duration) -> Duration {
    sleep(wait).await;
    (wait * 2).min(LONGEST_WAIT)
}

/// Whether a resource is found in a version of a group.
pub async fn is_served(client: &Client, group: &str, version: &str, plural: &str) -> kube::Result<bool> {
    match client
        .list_api_group_resources(&format!("{group}/{version}"))
        .await
    {
        Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}
