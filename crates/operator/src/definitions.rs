//! The kinds themselves: put into the cluster, or waited for.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Client, Resource as _,
    core::{ApiResource, ListMeta},
};
use resources::{Kind, definitions};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use crate::{requests, stored_job::StoredJob};

const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Where nobody has installed them by then, somebody should know.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes the definition what this program knows it to be. Tries until it succeeds.
pub(crate) async fn install(client: &Client, kind: &Kind) {
    let folder = CustomResourceDefinition::url_path(&(), None);
    let definition = definitions::definition(kind);
    let mut wait = FIRST_LOOK;
    while let Err(error) = requests::apply::<Value>(client, &folder, &kind.definition(), &definition).await {
        tracing::warn!(%error, definition = kind.definition(), "cannot install a definition, will be tried again");
        wait = pause(wait).await;
    }
}

/// Resolves when the API has the kind.
pub(crate) async fn served(client: &Client, resource: &ApiResource, namespace: Option<&str>) {
    let folder = StoredJob::url_path(resource, namespace);
    let (mut wait, mut waited, mut is_said) = (FIRST_LOOK, Duration::ZERO, false);
    loop {
        let Err(error) = look(client, &folder).await else {
            return;
        };
        if waited > PATIENCE && !is_said {
            is_said = true;
            tracing::warn!(%error, kind = resource.kind, "waits for its definition; `--install-crds` installs it");
        }
        waited += wait;
        wait = pause(wait).await;
    }
}

async fn pause(wait: Duration) -> Duration {
    sleep(wait).await;
    (wait * 2).min(LONGEST_WAIT)
}

/// Of a list only that there is one.
#[derive(Deserialize)]
struct Page {
    #[serde(rename = "metadata")]
    _metadata: ListMeta,
}

async fn look(client: &Client, folder: &str) -> kube::Result<Page> {
    let parameters = kube::api::ListParams::default().limit(1);
    let request = kube::core::Request::new(folder).list(&parameters);
    client.request(request.map_err(kube::Error::BuildRequest)?).await
}
