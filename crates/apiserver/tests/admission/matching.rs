//! Which requests a webhook is asked about, and how they look to it.

use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    hook::{CONFIG_MAPS, Hook, REGISTRATION, allow, config_map, deny, patch, register, webhook},
};

#[tokio::test]
async fn selectors_and_conditions_narrow_down_what_is_asked() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| deny("asked")).await;
    let mut narrow = webhook("narrow", &hook.client_config("/"), "", "configmaps");
    narrow["namespaceSelector"] = json!({ "matchLabels": { "watched": "yes" } });
    narrow["objectSelector"] = json!({ "matchExpressions": [{ "key": "skip", "operator": "DoesNotExist" }] });
    narrow["matchConditions"] = json!([
        { "name": "not-me", "expression": "request.operation == 'DELETE' || object.metadata.name != 'skip-me'" },
        { "name": "user", "expression": "!('nobody' in request.userInfo.groups)" },
    ]);
    register(&cluster, "Validating", "v", &[narrow]).await;
    cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await.ok();
    let watched = json!({ "metadata": { "name": "watched", "labels": { "watched": "yes" } } });
    cluster.post("/api/v1/namespaces", &watched).await.ok();
    let path = "/api/v1/namespaces/watched/configmaps";
    assert_eq!(
        cluster
            .post(path, &config_map("a", &json!({})))
            .await
            .code
            .as_u16(),
        403
    );
    cluster.post(path, &config_map("skip-me", &json!({}))).await.ok();
    let labelled = json!({ "metadata": { "name": "b", "labels": { "skip": "" } } });
    cluster.post(path, &labelled).await.ok();
    let requests = hook.take_requests();
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn conditions_that_fail_refuse_the_request() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| allow()).await;
    let mut broken = webhook("broken", &hook.client_config("/"), "", "configmaps");
    broken["matchConditions"] = json!([{ "name": "x", "expression": "object.data.missing == 'x'" }]);
    register(&cluster, "Validating", "v", &[broken.clone()]).await;
    let refused = cluster
        .post(CONFIG_MAPS, &config_map("a", &json!({ "x": "1" })))
        .await;
    assert_eq!(
        refused.refusal(),
        (
            403,
            "Forbidden",
            "configmaps \"a\" is forbidden: expression 'object.data.missing == 'x'' resulted in error: no such key: missing"
        )
    );
    broken["matchConditions"] = json!([{ "name": "x", "expression": "... [] bad expression" }]);
    let path = format!("{REGISTRATION}/validatingwebhookconfigurations");
    let refused = cluster
        .post(
            &path,
            &json!({ "metadata": { "name": "w" }, "webhooks": [broken] }),
        )
        .await;
    assert_eq!(refused.code.as_u16(), 422);
    let begins = "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"w\" is invalid: webhooks[0].matchConditions[0].expression: Invalid value: \"... [] bad expression\": compilation failed: ERROR: <input>:1:2: Syntax error: no viable alternative at input '..'";
    assert!(refused.refusal().2.starts_with(begins), "{refused:?}");
}

#[tokio::test]
async fn subresources_are_asked_for_with_what_they_carry() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, request| match request["subResource"].as_str() {
        Some("scale") if request["operation"] == "UPDATE" => {
            patch(&json!([{ "op": "replace", "path": "/spec/replicas", "value": 5 }]))
        }
        _ => allow(),
    })
    .await;
    let hooks = ["deployments/scale", "deployments/status"].map(|resource| {
        webhook(
            &resource.replace('/', "-"),
            &hook.client_config("/"),
            "apps",
            resource,
        )
    });
    register(&cluster, "Mutating", "m", &hooks).await;
    let pods = webhook("pods", &hook.client_config("/"), "", "pods/*");
    register(&cluster, "Mutating", "pods", &[pods]).await;

    let template = json!({
        "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "x" }] },
    });
    let deployment = json!({
        "metadata": { "name": "d" },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template },
    });
    let path = "/apis/apps/v1/namespaces/default/deployments";
    cluster.post(path, &deployment).await.ok();
    let scale = cluster
        .merge(&format!("{path}/d/scale"), &json!({ "spec": { "replicas": 3 } }))
        .await
        .ok();
    assert_eq!(scale["spec"]["replicas"], 5);
    assert_eq!(
        cluster.get(&format!("{path}/d")).await.ok()["spec"]["replicas"],
        5
    );
    cluster
        .merge(
            &format!("{path}/d/status"),
            &json!({ "status": { "replicas": 5 } }),
        )
        .await
        .ok();
    let requests = hook.take_requests();
    assert_eq!(
        requests[0]["kind"],
        json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" })
    );
    assert_eq!(requests[0]["resource"]["resource"], "deployments");
    assert_eq!(requests[0]["oldObject"]["spec"]["replicas"], 1);
    assert_eq!(requests[1]["subResource"], "status");
    assert_eq!(requests[1]["object"]["kind"], "Deployment");

    let pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "x" }] } });
    cluster.post("/api/v1/namespaces/default/pods", &pod).await.ok();
    let binding = json!({ "metadata": { "name": "p" }, "target": { "kind": "Node", "name": "n" } });
    cluster
        .post("/api/v1/namespaces/default/pods/p/binding", &binding)
        .await
        .ok();
    cluster
        .post(
            "/api/v1/namespaces/default/pods/p/eviction",
            &json!({ "metadata": { "name": "p" } }),
        )
        .await
        .ok();
    let seen: Vec<Value> = hook
        .take_requests()
        .iter()
        .map(|r| json!([r["operation"], r["object"]["kind"]]))
        .collect();
    assert_eq!(
        seen,
        [
            json!(["CREATE", "Pod"]),
            json!(["CREATE", "Binding"]),
            json!(["CREATE", "Eviction"])
        ]
    );
}

#[tokio::test]
async fn custom_resources_are_shown_in_the_version_a_webhook_asks_for() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, request| {
        assert_eq!(request["object"]["apiVersion"], "example.com/v1");
        patch(&json!([
            { "op": "add", "path": "/data/known", "value": "yes" },
            { "op": "add", "path": "/data/unknown", "value": "no" },
        ]))
    })
    .await;
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "data": { "type": "object", "properties": {
                    "known": { "type": "string" }, "start": { "type": "string" },
                }},
            }}},
        })
    };
    let definition = json!({
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [version("v1", false), version("v2", true)],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.post(path, &definition).await.ok();
    let things = "/apis/example.com/v2/namespaces/default/things";
    cluster.wait(things, |answer| answer["kind"] == "ThingList").await;
    let mut hook_v1 = webhook("things", &hook.client_config("/"), "example.com", "things");
    hook_v1["rules"][0]["apiVersions"] = json!(["v1"]);
    register(&cluster, "Mutating", "m", &[hook_v1]).await;
    let thing = json!({
        "apiVersion": "example.com/v2", "kind": "Thing", "metadata": { "name": "t" }, "data": { "start": "x" },
    });
    let created = cluster
        .post(&format!("{things}?fieldValidation=Strict"), &thing)
        .await;
    assert_eq!(created.warnings, [""; 0]);
    let created = created.ok();
    assert_eq!(created["apiVersion"], "example.com/v2");
    assert_eq!(created["data"], json!({ "start": "x", "known": "yes" }));
    let request = &hook.take_requests()[0];
    assert_eq!(request["kind"]["version"], "v1");
    assert_eq!(request["requestKind"]["version"], "v2");
}
