//! What webhooks see, and what they can change and refuse.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    cluster::Cluster,
    hook::{CONFIG_MAPS, Hook, REGISTRATION, allow, config_map, deny, patch, register, webhook},
};

#[tokio::test]
async fn validating_webhooks_see_and_refuse_every_operation() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, request| match request["object"]["data"]["bad"].as_str() {
        Some(_) => deny("no bad data"),
        None if request["oldObject"]["data"]["keep"].is_string() && request["object"].is_null() => {
            deny("kept")
        }
        None => json!({ "allowed": true, "warnings": ["seen"] }),
    })
    .await;
    register(
        &cluster,
        "Validating",
        "v",
        &[webhook("check", &hook.client_config("/v"), "", "configmaps")],
    )
    .await;

    let refused = cluster
        .post(CONFIG_MAPS, &config_map("a", &json!({ "bad": "1" })))
        .await;
    let denied = "admission webhook \"check.example.com\" denied the request: no bad data";
    assert_eq!(refused.refusal(), (403, "Forbidden", denied));
    let created = cluster
        .post(CONFIG_MAPS, &config_map("a", &json!({ "keep": "1" })))
        .await;
    assert_eq!(created.warnings, ["299 - \"seen\""]);
    let path = format!("{CONFIG_MAPS}/a");
    assert_eq!(
        cluster
            .merge(&path, &json!({ "data": { "bad": "1" } }))
            .await
            .refusal()
            .2,
        denied
    );
    cluster
        .merge(&path, &json!({ "data": { "good": "1" } }))
        .await
        .ok();
    assert!(
        cluster
            .delete(&path)
            .await
            .refusal()
            .2
            .ends_with("denied the request: kept")
    );
    cluster
        .merge(&path, &json!({ "data": { "keep": null } }))
        .await
        .ok();
    cluster.delete(&path).await.ok();

    let requests = hook.take_requests();
    let create = &requests[1];
    assert_eq!(create["operation"], "CREATE");
    assert_eq!(
        create["kind"],
        json!({ "group": "", "version": "v1", "kind": "ConfigMap" })
    );
    assert_eq!(
        create["resource"],
        json!({ "group": "", "version": "v1", "resource": "configmaps" })
    );
    assert_eq!(
        (&create["name"], &create["namespace"]),
        (&json!("a"), &json!("default"))
    );
    assert_eq!(create["oldObject"], Value::Null);
    assert_eq!(
        create["options"],
        json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" })
    );
    assert_eq!(create["dryRun"], false);
    assert!(create["object"]["metadata"]["uid"].is_string());
    let delete = requests.last().unwrap();
    assert_eq!(
        (&delete["operation"], &delete["object"]),
        (&json!("DELETE"), &Value::Null)
    );
    assert_eq!(delete["oldObject"]["metadata"]["name"], "a");
    // One of them is for what the cluster itself may have written meanwhile.
    assert!(hook.connections() <= 2, "calls share a connection");
}

#[tokio::test]
async fn mutating_webhooks_build_on_each_other_and_defaults_follow() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|path, request| {
        let object = &request["object"];
        match path {
            "/one" if object["data"]["start"].is_string() => {
                patch(&json!([{ "op": "add", "path": "/data/one", "value": "1" }]))
            }
            "/two" if object["data"]["one"].is_string() => {
                patch(&json!([{ "op": "add", "path": "/data/two", "value": "2" }]))
            }
            "/pods" => patch(&json!([
                { "op": "add", "path": "/spec/initContainers", "value": [{ "name": "i", "image": "x" }] },
            ])),
            _ => allow(),
        }
    })
    .await;
    let hooks = [
        webhook("one", &hook.client_config("/one"), "", "configmaps"),
        webhook("two", &hook.client_config("/two"), "", "configmaps"),
        webhook("pods", &hook.client_config("/pods"), "", "pods"),
    ];
    register(&cluster, "Mutating", "m", &hooks).await;

    let created = cluster
        .post(CONFIG_MAPS, &config_map("a", &json!({ "start": "0" })))
        .await
        .ok();
    assert_eq!(created["data"], json!({ "start": "0", "one": "1", "two": "2" }));
    let first = &hook.take_requests()[0];
    assert_eq!(
        first["object"]["metadata"].get("uid"),
        None,
        "nobody has one before it is admitted"
    );

    let pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "x" }] } });
    let pod = cluster.post("/api/v1/namespaces/default/pods", &pod).await.ok();
    assert_eq!(
        pod["spec"]["initContainers"][0]["terminationMessagePolicy"],
        "File"
    );
}

#[tokio::test]
async fn a_webhook_that_asks_for_it_sees_later_changes() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|path, request| match path {
        "/second" if request["object"]["data"]["added"].is_null() => {
            patch(&json!([{ "op": "add", "path": "/data/added", "value": "x" }]))
        }
        _ => allow(),
    })
    .await;
    let mut first = webhook("first", &hook.client_config("/first"), "", "configmaps");
    first["reinvocationPolicy"] = "IfNeeded".into();
    let second = webhook("second", &hook.client_config("/second"), "", "configmaps");
    register(&cluster, "Mutating", "m", &[first, second]).await;
    cluster
        .post(CONFIG_MAPS, &config_map("a", &json!({ "x": "1" })))
        .await
        .ok();
    let seen: Vec<Value> = hook
        .take_requests()
        .iter()
        .map(|r| r["object"]["data"]["added"].clone())
        .collect();
    assert_eq!(seen, [Value::Null, Value::Null, json!("x")]);
}

#[tokio::test]
async fn dry_runs_are_put_only_to_webhooks_without_side_effects() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| allow()).await;
    let hooks = [webhook("a", &hook.client_config("/"), "", "configmaps")];
    register(&cluster, "Mutating", "m", &hooks).await;
    let path = format!("{CONFIG_MAPS}?dryRun=All&fieldManager=me");
    cluster.post(&path, &config_map("a", &json!({}))).await.ok();
    let request = &hook.take_requests()[0];
    assert_eq!(request["dryRun"], true);
    assert_eq!(
        request["options"],
        json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "fieldManager": "me" })
    );
}

#[tokio::test]
async fn the_configuration_of_admission_is_never_put_to_webhooks() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| deny("everything")).await;
    for kind in ["Validating", "Mutating"] {
        register(
            &cluster,
            kind,
            "all",
            &[webhook("all", &hook.client_config("/"), "*", "*/*")],
        )
        .await;
    }
    assert_eq!(
        cluster
            .post(CONFIG_MAPS, &config_map("a", &json!({})))
            .await
            .code
            .as_u16(),
        403
    );
    for kind in ["validating", "mutating"] {
        cluster
            .delete(&format!("{REGISTRATION}/{kind}webhookconfigurations/all"))
            .await
            .ok();
    }
    cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await.ok();
}

#[tokio::test]
async fn every_object_of_a_collection_is_asked_for() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(
        |_, request| match request["oldObject"]["metadata"]["name"].as_str() {
            Some("b") if request["operation"] == "DELETE" => deny("not b"),
            _ => allow(),
        },
    )
    .await;
    for name in ["a", "b", "c"] {
        cluster
            .post(CONFIG_MAPS, &config_map(name, &json!({})))
            .await
            .ok();
    }
    register(
        &cluster,
        "Validating",
        "v",
        &[webhook("check", &hook.client_config("/"), "", "configmaps")],
    )
    .await;
    let refused = cluster.delete(CONFIG_MAPS).await;
    assert!(
        refused.refusal().2.ends_with("denied the request: not b"),
        "{refused:?}"
    );
    assert_eq!(hook.take_requests()[0]["options"]["kind"], "DeleteOptions");
    assert_eq!(cluster.get(&format!("{CONFIG_MAPS}/b")).await.code.as_u16(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_requests_that_wait_for_a_webhook_let_others_pass() {
    const WAITING: usize = 8;
    let cluster = Arc::new(Cluster::start().await);
    let hook = Hook::start(|_, _| json!({ "allowed": true, "after": 4000 })).await;
    let slow = webhook("slow", &hook.client_config("/slow"), "", "configmaps");
    register(&cluster, "Validating", "slow", &[slow]).await;
    let large = "x".repeat(100_000);
    let mut requests = JoinSet::new();
    for number in 0..WAITING {
        let (cluster, map) = (
            cluster.clone(),
            config_map(&format!("large-{number}"), &json!({ "k": large })),
        );
        requests.spawn(async move { cluster.post(CONFIG_MAPS, &map).await.ok() });
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while hook.connections() < WAITING {
        assert!(Instant::now() < deadline, "only some get to ask");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // None of them holds up a large request that needs no webhook.
    let secret = json!({ "metadata": { "name": "large" }, "stringData": { "k": large } });
    cluster
        .post("/api/v1/namespaces/default/secrets", &secret)
        .await
        .ok();
    assert!(requests.try_join_next().is_none(), "it had to wait");
    requests.join_all().await;
}
