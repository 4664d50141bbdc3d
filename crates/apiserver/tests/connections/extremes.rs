//! Requests with numbers beyond reason, and objects that end in unusual ways.

use apiserver::Limits;
use serde_json::json;

use crate::cluster::{Cluster, body};

const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";

#[tokio::test]
async fn a_grace_period_without_end_is_one_until_the_end_of_time() {
    let cluster = Cluster::start(Limits::default()).await;
    let admin = cluster.admin();
    let pod = json!({
        "metadata": { "name": "patient" },
        "spec": { "nodeName": "n", "terminationGracePeriodSeconds": i64::MAX,
            "containers": [{ "name": "c", "image": "i" }] },
    });
    cluster.ok(&admin.post(PODS, &pod)).await;
    let deleted = cluster.ok(&admin.delete(&format!("{PODS}/patient"))).await;
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], json!(i64::MAX));
}

#[tokio::test]
async fn an_address_is_free_again_when_the_last_finalizer_goes() {
    let cluster = Cluster::start(Limits::default()).await;
    let admin = cluster.admin();
    let service = json!({
        "metadata": { "name": "s", "finalizers": ["example.com/hold"] },
        "spec": { "type": "NodePort", "clusterIP": "10.96.77.7",
            "ports": [{ "port": 80, "nodePort": 30077 }] },
    });
    for _ in 0..2 {
        cluster.ok(&admin.post(SERVICES, &service)).await;
        let path = format!("{SERVICES}/s");
        cluster.ok(&admin.delete(&path)).await;
        let free = json!({ "metadata": { "finalizers": null } });
        cluster.ok(&admin.merge(&path, &free)).await;
    }
}

#[tokio::test]
async fn a_head_request_has_no_body() {
    let cluster = Cluster::start(Limits::default()).await;
    let request = cluster.admin().get("/version").replacen("GET", "HEAD", 1);
    let answer = cluster.ask(&request).await;
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(body(&cluster.ask(&cluster.admin().get("/version")).await)["major"].is_string());
}
