//! What a cluster has before anybody creates anything: its namespaces, roles, priority classes, the
//! groups it serves, the network of its Services and the one under which pods find the API.

use std::{net::SocketAddr, sync::Arc};

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kinds::objects::{api_service, ip_address};
use serde_json::{Value, json};

use crate::{
    allocation,
    api::Api,
    authentication::User,
    bootstrap_roles,
    error::{ApiError, Result},
};

pub(crate) const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Creates what is missing; what is there stays as the users left it. Nothing is written on a second
/// start, so that the start stays fast.
pub(crate) async fn bootstrap(api: &Arc<Api>, address: SocketAddr) -> Result<()> {
    let once = standing(address.port()).into_iter().chain(objects(&api.ca_pem));
    for (path, object) in once {
        ensure(api, path, &object).await?;
    }
    Ok(())
}

/// Creates an object unless one of its name is there.
pub(crate) async fn ensure(api: &Arc<Api>, path: &str, object: &Value) -> Result<()> {
    let name = crate::object::name(object);
    if exists(api, path, name) {
        return Ok(());
    }
    let (code, body) = post(api, path, object).await;
    if code.is_success() || code == StatusCode::CONFLICT {
        return Ok(());
    }
    Err(ApiError::internal(format!(
        "cannot create {path}/{name}: {}",
        body["message"]
    )))
}

/// Whether the object is in the store, looked up without a request.
fn exists(api: &Api, path: &str, name: &str) -> bool {
    let info = crate::request_info::RequestInfo::read(&Method::GET, &format!("{path}/{name}"), false);
    let crate::request_info::RequestInfo::Resource(target) = info else {
        return false;
    };
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get(&target.group, &target.version, &target.resource) else {
        return false;
    };
    let namespace = if kind.namespaced {
        target.namespace.as_str()
    } else {
        ""
    };
    api.store.get(&kind.collection, namespace, name).is_some()
}

/// A POST by the system itself, through the same door as everybody's.
pub(crate) async fn post(api: &Arc<Api>, path: &str, object: &Value) -> (StatusCode, Value) {
    let body = Full::from(object.to_string())
        .map_err(|never| match never {})
        .boxed_unsync();
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    if let Ok(uri) = format!("{path}?fieldManager=trainyard").parse() {
        *request.uri_mut() = uri;
    }
    let answer = api.clone().call(User::admin(), request).await;
    let code = answer.status();
    let answer = answer.into_body().collect().await;
    let bytes = answer
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// What comes back when somebody removes it, because everything else rests on it: the namespaces, the
/// network of Services, and the one of them under which pods find the API.
pub(crate) fn standing(port: u16) -> Vec<(&'static str, Value)> {
    let mut all: Vec<_> = ["default", "kube-system", "kube-public", "kube-node-lease"]
        .map(|name| ("/api/v1/namespaces", json!({ "metadata": { "name": name } })))
        .into();
    all.push((
        "/apis/networking.k8s.io/v1/servicecidrs",
        json!({
            "metadata": { "name": ip_address::DEFAULT_NETWORK },
            "spec": { "cidrs": [allocation::NETWORK] },
        }),
    ));
    all.push((
        "/api/v1/namespaces/default/services",
        json!({
            "metadata": { "name": "kubernetes", "labels": { "component": "apiserver", "provider": "kubernetes" } },
            "spec": {
                "clusterIP": "10.96.0.1",
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": port }],
            },
        }),
    ));
    all
}

fn objects(ca_pem: &str) -> Vec<(&'static str, Value)> {
    let mut all = bootstrap_roles::objects();
    for (name, value, text) in [
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ] {
        all.push((
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            json!({ "metadata": { "name": name }, "value": value, "description": text }),
        ));
    }
    all.extend(api_service::built_in().map(|service| (API_SERVICES, service)));
    all.push((
        "/api/v1/namespaces/kube-system/configmaps",
        json!({
            "metadata": { "name": bootstrap_roles::AUTHENTICATION },
            "data": { "client-ca-file": ca_pem },
        }),
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_a_part_of_the_api_are_told_whose_certificates_to_believe() {
        let told = objects("the authority");
        let told = told
            .iter()
            .find(|(path, _)| path.ends_with("/kube-system/configmaps"))
            .map(|(_, object)| &object["data"]["client-ca-file"]);
        assert_eq!(told, Some(&json!("the authority")));
    }
}
