//! Requests whose answers are taken apart as they come, so that nothing is kept that nobody reads.

use std::collections::BTreeMap;

use http::{HeaderValue, header::ACCEPT};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client, Resource as _,
    api::{DeleteParams, GetParams, Patch, PatchParams, PostParams},
    core::{Request, Status},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub async fn create<T: DeserializeOwned>(client: &Client, folder: &str, object: &Value) -> kube::Result<T> {
    client.request(creation(folder, object)?).await
}

/// Asks for the metadata of an object alone.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// The same where the rest of the answer would only repeat what was sent: the server need not write it.
pub async fn create_for_metadata<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    object: &Value,
) -> kube::Result<T> {
    let mut request = creation(folder, object)?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(METADATA));
    client.request(request).await
}

fn creation(folder: &str, object: &Value) -> kube::Result<http::Request<Vec<u8>>> {
    let request = Request::new(folder).create(&PostParams::default(), bytes(object)?);
    request.map_err(kube::Error::BuildRequest)
}

pub async fn get<T: DeserializeOwned>(client: &Client, folder: &str, name: &str) -> kube::Result<T> {
    let request = Request::new(folder).get(name, &GetParams::default());
    client.request(request.map_err(kube::Error::BuildRequest)?).await
}

/// What a ConfigMap says.
pub async fn config_map(
    client: &Client,
    namespace: &str,
    name: &str,
) -> kube::Result<BTreeMap<String, String>> {
    let folder = ConfigMap::url_path(&(), Some(namespace));
    let found: ConfigMap = get(client, &folder, name).await?;
    Ok(found.data.unwrap_or_default())
}

/// Server-side apply, over whatever others have written.
pub async fn apply<T: DeserializeOwned>(
    client: &Client,
    manager: &str,
    folder: &str,
    name: &str,
    object: &Value,
) -> kube::Result<T> {
    let request =
        Request::new(folder).patch(name, &PatchParams::apply(manager).force(), &Patch::Apply(object));
    client.request(request.map_err(kube::Error::BuildRequest)?).await
}

/// The whole object, if it is still of the version it names.
pub async fn replace<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    name: &str,
    object: &Value,
) -> kube::Result<T> {
    let request = Request::new(folder).replace(name, &PostParams::default(), bytes(object)?);
    client.request(request.map_err(kube::Error::BuildRequest)?).await
}

pub async fn replace_status<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    name: &str,
    object: &Value,
) -> kube::Result<T> {
    let request =
        Request::new(folder).replace_subresource("status", name, &PostParams::default(), bytes(object)?);
    client.request(request.map_err(kube::Error::BuildRequest)?).await
}

/// A merge patch.
pub async fn merge<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    name: &str,
    patch: &Value,
) -> kube::Result<T> {
    let request = Request::new(folder).patch(name, &PatchParams::default(), &Patch::Merge(patch));
    client.request(request.map_err(kube::Error::BuildRequest)?).await
}

/// The object while it stops; nothing when it is gone.
pub async fn delete<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    name: &str,
    parameters: &DeleteParams,
) -> kube::Result<Option<T>> {
    let request = Request::new(folder).delete(name, parameters);
    let answer = client
        .request_status(request.map_err(kube::Error::BuildRequest)?)
        .await?;
    Ok(answer.left())
}

/// What the server said, where it is the server that failed us.
pub fn status(error: &kube::Error) -> Option<&Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

fn bytes(object: &impl Serialize) -> kube::Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(kube::Error::SerdeError)
}
