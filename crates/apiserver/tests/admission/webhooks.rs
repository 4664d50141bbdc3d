//! What webhooks see, what they can change and refuse, and what happens when they do not answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    hook::{Hook, allow, deny, patch},
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook for all operations on one resource.
fn webhook(name: &str, client_config: &Value, group: &str, resource: &str) -> Value {
    json!({
        "name": format!("{name}.example.com"),
        "clientConfig": client_config,
        "rules": [{ "operations": ["*"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource] }],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}

async fn register(cluster: &Cluster, kind: &str, name: &str, webhooks: &[Value]) {
    let path = format!("{REGISTRATION}/{}webhookconfigurations", kind.to_lowercase());
    cluster
        .post(
            &path,
            &json!({ "metadata": { "name": name }, "webhooks": webhooks }),
        )
        .await
        .ok();
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({ "metadata": { "name": name }, "data": data })
}

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
    assert_eq!(hook.connections(), 1, "calls share a connection");
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
    assert!(quick < Duration::from_millis(1000), "{quick:?}");
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
        "metadata": { "name": "hook-1", "labels": { "kubernetes.io/service-name": "hook" } },
        "addressType": "IPv4",
        "ports": [{ "name": "https", "port": hook.address.port() }],
        // Slices refuse loopback addresses, so the webhook is found on the address of this machine's own.
        "endpoints": [{ "addresses": ["127.0.0.1"] }],
    });
    let created = cluster
        .post(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            &slice,
        )
        .await;
    if created.code.is_success() {
        let refused = cluster.post(CONFIG_MAPS, &config_map("a", &json!({}))).await;
        assert!(
            refused
                .refusal()
                .2
                .ends_with("denied the request: through the service"),
            "{refused:?}"
        );
    }
}

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
async fn dry_runs_are_put_only_to_webhooks_without_side_effects() {
    let cluster = Cluster::start().await;
    let hook = Hook::start(|_, _| allow()).await;
    let mut hooks = [webhook("a", &hook.client_config("/"), "", "configmaps")];
    register(&cluster, "Mutating", "m", &hooks).await;
    let path = format!("{CONFIG_MAPS}?dryRun=All&fieldManager=me");
    cluster.post(&path, &config_map("a", &json!({}))).await.ok();
    let request = &hook.take_requests()[0];
    assert_eq!(request["dryRun"], true);
    assert_eq!(
        request["options"],
        json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "fieldManager": "me" })
    );
    hooks[0]["sideEffects"] = "NoneOnDryRun".into();
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
