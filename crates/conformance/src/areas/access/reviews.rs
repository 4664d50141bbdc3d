//! The reviews that ask who may do what.

use serde_json::{Value, json};

use super::{AREA, allow};
use crate::{Check, Context, Outcome, answer::Answer};

/// Asks whether a user may do something.
fn review(cx: &Context<'_>, user: &str, attributes: Value) -> Outcome<Answer> {
    let spec = json!({"user": user, "resourceAttributes": attributes});
    cx.post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        json!({"spec": spec}),
    )
    .expect(201)
}

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "one can ask who one is", |cx| {
        cx.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({}))
            .impersonate("jane")
            .impersonate_group("readers")
            .expect(201)?
            .has(json!({
                "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
                "status": {"userInfo": {"username": "jane", "groups": ["readers", "system:authenticated"]}},
            }))?
            .done()
    }),
    Check::new(AREA, "one can ask what one may do", |cx| {
        let ask = json!({
            "spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}},
        });
        cx.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            ask.clone(),
        )
        .expect(201)?
        .has(json!({"kind": "SelfSubjectAccessReview", "status": {"allowed": true}}))?;
        cx.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ask)
            .impersonate("jane")
            .impersonate_group("system:authenticated")
            .expect(201)?
            .exactly("/status", json!({"allowed": false}))?
            .done()
    }),
    Check::new(AREA, "one can ask what another may do, and why", |cx| {
        allow(
            cx,
            "jane",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        )?;
        let namespace = cx.namespace()?;
        let get = json!({"verb": "get", "resource": "pods", "namespace": namespace});
        cx.eventually(|| {
            review(cx, "jane", get.clone())?.exactly(
                "/status",
                json!({
                    "allowed": true,
                    "reason": format!("RBAC: allowed by RoleBinding \"jane/{namespace}\" of Role \"jane\" to \
                     User \"jane\""),
                }),
            )
        })?;
        review(
            cx,
            "jane",
            json!({"verb": "delete", "resource": "pods", "namespace": namespace}),
        )?
        .exactly("/status", json!({"allowed": false}))?
        .done()
    }),
    Check::new(AREA, "masters may do everything", |cx| {
        let spec = json!({
            "user": "jane", "groups": ["system:masters"],
            "resourceAttributes": {"verb": "explode", "resource": "everything"},
        });
        cx.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            json!({"spec": spec}),
        )
        .expect(201)?
        .has(json!({"status": {"allowed": true}}))?
        .done()
    }),
    Check::new(AREA, "one can ask about paths", |cx| {
        let spec = json!({
            "user": "jane", "groups": ["system:authenticated"],
            "nonResourceAttributes": {"path": "/version", "verb": "get"},
        });
        cx.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            json!({"spec": spec}),
        )
        .expect(201)?
        .has(json!({"status": {"allowed": true}}))?
        .done()
    }),
    Check::new(AREA, "a local review is about its own namespace", |cx| {
        let spec = json!({
            "user": "jane",
            "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "elsewhere"},
        });
        cx.post(
            cx.in_group("authorization.k8s.io/v1", "localsubjectaccessreviews")?,
            json!({"spec": spec}),
        )
        .invalid(&[(
            "spec.resourceAttributes.namespace",
            "FieldValueInvalid",
            "Invalid value: \"elsewhere\": must match metadata.namespace",
        )])?
        .done()
    }),
    Check::new(AREA, "a review asks about a resource or a path", |cx| {
        cx.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({"spec": {}}),
        )
        .invalid(&[(
            "spec.resourceAttributes",
            "FieldValueInvalid",
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be \
                 specified",
        )])?
        .done()
    }),
    Check::new(AREA, "one can list what one may do", |cx| {
        allow(
            cx,
            "jane",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        )?;
        let namespace = cx.namespace()?;
        cx.eventually(|| {
            cx.post(
                "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                json!({
                    "spec": {"namespace": namespace},
                }),
            )
            .impersonate("jane")
            .impersonate_group("system:authenticated")
            .expect(201)?
            .has(json!({"status": {
                "incomplete": false,
                "resourceRules": [
                    "<includes>", {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
                ],
                "nonResourceRules": [
                    "<includes>", {"verbs": ["get"], "nonResourceURLs": ["<includes>", "/version"]},
                ],
            }}))
        })?
        .done()
    }),
];
