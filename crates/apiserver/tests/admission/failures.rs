//! What happens when a webhook does not answer, and how it is found.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    hook::{CONFIG_MAPS, Hook, REGISTRATION, allow, config_map, deny, register, webhook},
};

#[tokio::test]
async fn failures_refuse_or_are_ignored_as_the_webhook_says() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| json!({ "allowed": true, "after": 3000 })).await;
    let mut slow = webhook("slow", &hook.client_config("/slow"), "", "configmaps");
    slow["timeoutSeconds"] = 1.into();
    register(&cluster, "Validating", "slow", &[slow.clone()]).await;
    let begun = Instant::now();
    let refused = cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await;
    let address = hook.address;
    let message = format!(
        "Internal error occurred: failed calling webhook \"slow.example.com\": failed to call webhook: Post \"https://{address}/slow?timeout=1s\": context deadline exceeded"
    );
    assert_eq!(refused.refusal(), (500, "InternalError", &*message));
    assert!(begun.elapsed() < Duration::from_millis(2500));

    slow["failurePolicy"] = "Ignore".into();
    let path = format!("{REGISTRATION}/validatingwebhookconfigurations/slow");
    cluster.merge(&path, &json!({ "webhooks": [slow] })).await.ok();
    cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await.ok();
    cluster.delete(&path).await.ok();

    let mut stranger = hook.client_config("/x");
    stranger["caBundle"] = Hook::start(|_, _| allow()).await.ca_bundle().into();
    register(
        &cluster,
        "Validating",
        "stranger",
        &[webhook("stranger", &stranger, "", "configmaps")],
    )
    .await;
    let refused = cluster.post(CONFIG_MAPS, &config_map("b", &json!({}))).await;
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert!(refused.refusal().2.ends_with(unknown), "{refused:?}");
}

#[tokio::test]
async fn a_slow_webhook_holds_up_nobody_else() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| json!({ "allowed": true, "after": 1500 })).await;
    let hooks: Vec<Value> = ["a", "b", "c"]
        .iter()
        .map(|name| webhook(name, &hook.client_config("/"), "", "configmaps"))
        .collect();
    register(&cluster, "Validating", "slow", &hooks).await;
    let begun = Instant::now();
    let (slow, quick) = tokio::join!(
        async {
            cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await.ok();
            begun.elapsed()
        },
        async {
            cluster
                .post(
                    "/api/v1/namespaces/default/secrets",
                    &json!({ "metadata": { "name": "s" } }),
                )
                .await
                .ok();
            begun.elapsed()
        },
    );
    assert!(quick < Duration::from_secs(1), "{quick:?}");
    assert!(
        slow < Duration::from_millis(3500),
        "all three are asked at once: {slow:?}"
    );
}

#[tokio::test]
async fn webhooks_are_reached_through_services() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| deny("through the service")).await;
    let config = json!({
        "service": { "namespace": "default", "name": "hook", "port": 8443, "path": "/x" },
        "caBundle": hook.ca_bundle(),
    });
    register(
        &cluster,
        "Validating",
        "v",
        &[webhook("check", &config, "", "configmaps")],
    )
    .await;
    let failed = "Internal error occurred: failed calling webhook \"check.example.com\": failed to call webhook: Post \"https://hook.default.svc:8443/x?timeout=10s\": ";
    let refused = cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await;
    assert_eq!(refused.refusal().2, format!("{failed}service \"hook\" not found"));
    let service = json!({
        "metadata": { "name": "hook" },
        "spec": { "ports": [{ "name": "https", "port": 8443, "targetPort": 8444 }] },
    });
    cluster
        .post("/api/v1/namespaces/default/services", &service)
        .await
        .ok();
    let refused = cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await;
    assert_eq!(
        refused.refusal().2,
        format!("{failed}no endpoints available for service \"hook\"")
    );
    let slice = json!({
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": { "resourceVersion": "", "name": "hook-1", "labels": { "kubernetes.io/service-name": "hook" } },
        "addressType": "IPv4",
        "ports": [{ "name": "https", "port": hook.address.port() }],
        "endpoints": [{ "addresses": ["127.0.0.1"] }],
    });
    cluster
        .plant("discovery.k8s.io", "endpointslices", "hook-1", &slice)
        .await;
    let refused = cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await;
    let (_, _, message) = refused.refusal();
    assert!(
        message.ends_with("denied the request: through the service"),
        "{refused:?}"
    );
}
