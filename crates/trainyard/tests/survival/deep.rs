//! Documents nested as deeply as they may be, and deeper, at every door of the server. A stack that
//! overflows takes the whole process with it.

use http::Method;
use serde_json::{Value, json};

use crate::{
    client::{Connection, Version},
    server::Place,
};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn define_widgets(connection: &Connection) {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": open } }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    connection.post(definitions, &definition).await.unwrap().ok();
    while connection.get(WIDGETS).await.unwrap().code != 200 {
        tokio::task::yield_now().await;
    }
}

/// A widget whose `spec` is nested `depth` times.
fn widget(depth: usize, open: &str, close: &str) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"deep"}},"spec":{}1{}}}"#,
        open.repeat(depth),
        close.repeat(depth)
    )
}

#[tokio::test]
async fn no_depth_of_nesting_ends_the_server() {
    let place = Place::new();
    let server = place.start();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    define_widgets(&connection).await;
    let path = format!("{WIDGETS}/deep");
    for depth in [1, 60, 250, 500, 510, 600, 10_000, 100_000] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"a":"#, "}]")] {
            let object = widget(depth, open, close);
            for (method, path, content_type) in [
                (Method::POST, WIDGETS, "application/json"),
                (Method::POST, WIDGETS, "application/yaml"),
                (Method::PUT, &path, "application/json"),
                (Method::PATCH, &path, "application/merge-patch+json"),
                (Method::PATCH, &path, "application/json-patch+json"),
                (Method::PATCH, &path, "application/strategic-merge-patch+json"),
                (
                    Method::PATCH,
                    &format!("{path}?fieldManager=deep&force=true"),
                    "application/apply-patch+yaml",
                ),
                (
                    Method::POST,
                    "/api/v1/namespaces/default/configmaps",
                    "application/json",
                ),
                (
                    Method::POST,
                    "/apis/apps/v1/namespaces/default/deployments",
                    "application/yaml",
                ),
                (
                    Method::POST,
                    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                    "application/json",
                ),
            ] {
                let answer = connection
                    .send(method.clone(), path, content_type, object.clone())
                    .await;
                let answer =
                    answer.unwrap_or_else(|_| panic!("lost at {method} {path} {content_type} {depth}"));
                assert!(
                    answer.code != 500,
                    "{method} {path} {content_type} {depth}: {answer:?}"
                );
            }
            for query in ["", "?pretty=true"] {
                connection.get(&format!("{WIDGETS}{query}")).await.unwrap();
            }
            connection.send(Method::DELETE, &path, "", "").await.unwrap();
        }
    }
}

#[tokio::test]
async fn no_depth_of_an_expression_ends_the_server() {
    let place = Place::new();
    let server = place.start();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    for depth in [50, 120, 240, 249, 250, 251, 5_000] {
        for (open, close) in [
            ("(", ")"),
            ("object.f(", ")"),
            ("[", "]"),
            ("{1:", "}"),
            ("!", ""),
            ("1 + ", ""),
            ("a ? ", ": 1"),
            ("f(", ""),
        ] {
            let expression = format!("{}1{} == 1", open.repeat(depth), close.repeat(depth));
            let policy = json!({
                "metadata": { "name": "deep" },
                "spec": {
                    "matchConstraints": { "resourceRules": [{ "apiGroups": ["x.y"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"] }] },
                    "validations": [{ "expression": expression }],
                },
            });
            let answer = connection.post(policies, &policy).await;
            let answer = answer.unwrap_or_else(|_| panic!("lost at {depth} times {open}"));
            assert!(answer.code != 500, "{depth} times {open}: {answer:?}");
            connection
                .send(Method::DELETE, &format!("{policies}/deep"), "", "")
                .await
                .unwrap();
        }
    }
}

/// Each round puts all that is there below one more stack of fields.
fn deepening(rounds: usize) -> Value {
    let mut tower = json!({});
    for _ in 0..200 {
        tower = json!({ "a": tower });
    }
    let bottom = "/a".repeat(200);
    let round = json!([
        { "op": "add", "path": "/spec/x", "value": tower },
        { "op": "move", "from": "/spec/y", "path": format!("/spec/x{bottom}/y") },
        { "op": "move", "from": "/spec/x", "path": "/spec/y" },
    ]);
    let first = json!({ "op": "add", "path": "/spec", "value": { "y": {} } });
    let rest = (0..rounds).flat_map(|_| round.as_array().unwrap().clone());
    std::iter::once(first).chain(rest).collect()
}

#[tokio::test]
async fn no_patch_builds_what_no_request_may_send() {
    let place = Place::new();
    let server = place.start();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    define_widgets(&connection).await;
    connection
        .post(
            WIDGETS,
            &json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "deep"}}),
        )
        .await
        .unwrap()
        .ok();
    for rounds in [2, 3, 1000] {
        let patch = deepening(rounds).to_string();
        let path = format!("{WIDGETS}/deep");
        let answer = connection
            .send(Method::PATCH, &path, "application/json-patch+json", patch)
            .await;
        let answer = answer.unwrap_or_else(|_| panic!("lost after {rounds} rounds"));
        assert_eq!(
            answer.code.is_success(),
            rounds == 2,
            "{rounds}: {:?}",
            answer.body
        );
    }
}
