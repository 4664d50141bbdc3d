//! Requests whose answers are taken apart as they come, so that nothing is kept that nobody reads.

use std::collections::BTreeMap;

use http::{
    HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kinds::protobuf;
use kube::{
    Client, Resource as _,
    api::{DeleteParams, GetParams, Patch, PatchParams, PostParams},
    core::{Request, Status},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The metadata of an object alone.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// What a server answers that does not read a form.
const UNSUPPORTED: u16 = 415;

pub async fn create<T: DeserializeOwned>(client: &Client, folder: &str, object: &Value) -> kube::Result<T> {
    create_accepting(client, folder, object, JSON).await
}

/// The same where the rest of the answer would only repeat what was sent: the server need not write it.
pub async fn create_for_metadata<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    object: &Value,
) -> kube::Result<T> {
    create_accepting(client, folder, object, METADATA).await
}

/// Objects are sent in protobuf where they can be said in it: a server reads it in a fraction of the time.
async fn create_accepting<T: DeserializeOwned>(
    client: &Client,
    folder: &str,
    object: &Value,
    accepted: &'static str,
) -> kube::Result<T> {
    if let Some(body) = protobuf::encode_object(object) {
        match client
            .request(creation(folder, body, [PROTOBUF, accepted])?)
            .await
        {
            Err(kube::Error::Api(status)) if status.code == UNSUPPORTED => {}
            answer => return answer,
        }
    }
    client
        .request(creation(folder, bytes(object)?, [JSON, accepted])?)
        .await
}

fn creation(
    folder: &str,
    body: Vec<u8>,
    [form, accepted]: [&'static str; 2],
) -> kube::Result<http::Request<Vec<u8>>> {
    let request = Request::new(folder).create(&PostParams::default(), body);
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
    headers.insert(ACCEPT, HeaderValue::from_static(accepted));
    Ok(request)
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

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::{Ready, ready},
        sync::Arc,
        task::{Context, Poll},
    };

    use bytes::Bytes;
    use http::Response;
    use http_body_util::Full;
    use kube::client::Body;
    use parking_lot::Mutex;
    use serde_json::json;
    use tower_service::Service;

    use super::*;

    /// A server that takes some forms and writes down in which it was asked.
    #[derive(Clone)]
    struct Taking {
        forms: &'static [&'static str],
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Service<http::Request<Body>> for Taking {
        type Response = Response<Full<Bytes>>;
        type Error = Infallible;
        type Future = Ready<Result<Response<Full<Bytes>>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: http::Request<Body>) -> Self::Future {
            let form = request.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
            let (code, answer) = if self.forms.contains(&&*form) {
                (201, json!({"metadata": {"uid": "u"}}))
            } else {
                (
                    415,
                    json!({"kind": "Status", "status": "Failure", "code": 415, "reason": "UnsupportedMediaType"}),
                )
            };
            self.asked.lock().push(form);
            let answer = Full::from(answer.to_string());
            ready(Ok(Response::builder().status(code).body(answer).unwrap()))
        }
    }

    async fn asked(forms: &'static [&'static str], object: Value) -> Vec<String> {
        let asked = Arc::default();
        let service = Taking {
            forms,
            asked: Arc::clone(&asked),
        };
        let client = Client::new(service, "default");
        let made: Value = create(&client, "/api/v1/namespaces/n/pods", &object)
            .await
            .unwrap();
        assert_eq!(made["metadata"]["uid"], "u");
        asked.lock().clone()
    }

    fn pod(container: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}})
    }

    #[tokio::test]
    async fn an_object_is_sent_in_protobuf_where_it_can_be_said_in_it() {
        let forms = &[JSON, PROTOBUF];
        assert_eq!(asked(forms, pod(&json!({"name": "c"}))).await, [PROTOBUF]);
        assert_eq!(asked(forms, pod(&json!({"name": "c", "new": 1}))).await, [JSON]);
        let other = json!({"apiVersion": "example.org/v1", "kind": "Thing", "spec": {}});
        assert_eq!(asked(forms, other).await, [JSON]);
    }

    #[tokio::test]
    async fn whoever_takes_no_protobuf_gets_json() {
        assert_eq!(asked(&[JSON], pod(&json!({"name": "c"}))).await, [PROTOBUF, JSON]);
    }
}
