//! Service accounts and their tokens.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, context::pod, failure::ensure};

const AREA: &str = "accounts";

fn token(cx: &Context<'_>, account: &str, spec: Value) -> Outcome<String> {
    let path = cx.core(&format!("serviceaccounts/{account}/token"))?;
    Ok(cx
        .post(path, json!({"spec": spec}))
        .expect(201)?
        .text("/status/token"))
}

fn review(cx: &Context<'_>, spec: Value) -> Outcome<Answer> {
    cx.post(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        json!({"spec": spec}),
    )
    .expect(201)
}

/// What a token says, without checking who says it.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap_or_default();
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// The token that a secret `a` gets for an account.
fn kept_token(cx: &Context<'_>, account: &str) -> Outcome<String> {
    let annotations = json!({"kubernetes.io/service-account.name": account});
    cx.create(
        "v1",
        "secrets",
        json!({
            "metadata": {"name": "a", "annotations": annotations},
            "type": "kubernetes.io/service-account-token",
        }),
    )?;
    let path = cx.core("secrets/a")?;
    let filled = cx.eventually(|| {
        cx.get(&path)
            .expect(200)?
            .has(json!({"data": {"token": "<any>"}}))
    })?;
    let bytes = BASE64_STANDARD
        .decode(filled.text("/data/token"))
        .unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a token lets its account in", |cx| {
        let token = token(cx, "default", json!({}))?;
        let namespace = cx.namespace()?;
        cx.get(cx.core("pods")?)
            .token(&token)
            .refused(
                403,
                "Forbidden",
                &format!(
                    "pods is forbidden: User \"system:serviceaccount:{namespace}:default\" cannot list \
                     resource \"pods\" in API \
                     group \"\" in the namespace \"{namespace}\""
                ),
            )?
            .done()
    }),
    Check::new(AREA, "an account's token carries its groups", |cx| {
        let token = token(cx, "default", json!({}))?;
        let namespace = cx.namespace()?;
        cx.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({}))
            .token(&token)
            .expect(201)?
            .has(json!({"status": {"userInfo": {
                "username": format!("system:serviceaccount:{namespace}:default"), "uid": "<uid>",
                "groups": [
                    "system:serviceaccounts", format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated",
                ],
                "extra": {"authentication.kubernetes.io/credential-id": ["JTI={*}"]},
            }}}))?
            .done()
    }),
    Check::new(AREA, "an account gets rights like any user", |cx| {
        let namespace = cx.namespace()?;
        let subject = json!({"kind": "ServiceAccount", "name": "default", "namespace": namespace});
        cx.create(
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            json!({
                "metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                "subjects": [subject],
            }),
        )?;
        let token = token(cx, "default", json!({}))?;
        let path = cx.core("pods")?;
        cx.eventually(|| cx.get(&path).token(&token).expect(200))?.done()
    }),
    Check::new(
        AREA,
        "a token says who issued it to whom, and for how long",
        |cx| {
            let token = token(cx, "default", json!({"expirationSeconds": 1200}))?;
            let claims = claims(&token);
            let namespace = cx.namespace()?;
            ensure(
                claims["sub"] == format!("system:serviceaccount:{namespace}:default"),
                "the \
            subject",
                &claims,
            )?;
            ensure(
                claims["kubernetes.io"]["namespace"] == namespace,
                "the namespace",
                &claims,
            )?;
            ensure(
                claims["kubernetes.io"]["serviceaccount"]["name"] == "default",
                "the account",
                &claims,
            )?;
            let lasts = claims["exp"].as_i64().unwrap_or(0) - claims["iat"].as_i64().unwrap_or(0);
            ensure(
                lasts == 1200 && claims["nbf"] == claims["iat"],
                "twenty minutes from now",
                &claims,
            )
        },
    ),
    Check::new(AREA, "a token bound to a pod names it and its node", |cx| {
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        let made = cx.create("v1", "pods", body)?;
        let reference = json!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made.uid()});
        let claims = claims(&token(cx, "default", json!({"boundObjectRef": reference}))?);
        ensure(
            claims["kubernetes.io"]["pod"]
                == json!({
                    "name": "a", "uid": made.uid(),
                }),
            "the pod",
            &claims,
        )?;
        ensure(
            claims["kubernetes.io"]["node"]["name"] == "some-node",
            "the node",
            &claims,
        )?;
        cx.delete(cx.core("pods/a")?)
            .query("gracePeriodSeconds", 0)
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "a token bound to a pod ends with it", |cx| {
        let made = cx.create("v1", "pods", pod("a"))?;
        let reference = json!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made.uid()});
        let token = token(cx, "default", json!({"boundObjectRef": reference}))?;
        review(cx, json!({"token": token}))?.has(json!({"status": {"authenticated": true}}))?;
        cx.delete(cx.core("pods/a")?).expect(200)?;
        cx.eventually(|| {
            review(cx, json!({"token": token}))?.has(json!({
                "status": {"authenticated": "<absent>"},
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a token bound to a missing pod is not made", |cx| {
        let reference = json!({"apiVersion": "v1", "kind": "Pod", "name": "nope"});
        cx.post(
            cx.core("serviceaccounts/default/token")?,
            json!({"spec": {"boundObjectRef": reference}}),
        )
        .refused(404, "NotFound", "pods \"nope\" not found")?
        .done()
    }),
    Check::new(AREA, "a token bound to another kind is not made", |cx| {
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nope"});
        cx.post(
            cx.core("serviceaccounts/default/token")?,
            json!({"spec": {"boundObjectRef": reference}}),
        )
        .refused(
            400,
            "BadRequest",
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        )?
        .done()
    }),
    Check::new(AREA, "a review says whose a token is", |cx| {
        let token = token(cx, "default", json!({}))?;
        let namespace = cx.namespace()?;
        review(cx, json!({"token": token}))?
            .has(json!({
                "kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1",
                "status": {
                    "authenticated": true,
                    "user": {"username": format!("system:serviceaccount:{namespace}:default")},
                    "audiences": ["<any>"],
                },
            }))?
            .done()
    }),
    Check::new(AREA, "a review says when a token is nobody's", |cx| {
        review(cx, json!({"token": "nonsense"}))?
            .has(json!({"status": {"authenticated": "<absent>", "user": {}}}))?
            .done()
    }),
    Check::new(AREA, "a token is for its audience only", |cx| {
        let token = token(cx, "default", json!({"audiences": ["vault"]}))?;
        review(cx, json!({"token": token, "audiences": ["vault"]}))?
            .has(json!({"status": {"authenticated": true, "audiences": ["vault"]}}))?;
        review(cx, json!({"token": token, "audiences": ["other"]}))?.has(json!({
            "status": {"authenticated": "<absent>"},
        }))?;
        cx.get("/api/v1/pods")
            .token(&token)
            .refused(401, "Unauthorized", "Unauthorized")?
            .done()
    }),
    Check::new(AREA, "a token ends with its account", |cx| {
        cx.create(
            "v1",
            "serviceaccounts",
            json!({"metadata": {"name": "short-lived"}}),
        )?;
        let token = token(cx, "short-lived", json!({}))?;
        review(cx, json!({"token": token}))?.has(json!({"status": {"authenticated": true}}))?;
        cx.delete(cx.core("serviceaccounts/short-lived")?).expect(200)?;
        cx.eventually(|| {
            review(cx, json!({"token": token}))?.has(json!({
                "status": {"authenticated": "<absent>"},
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a changed token is not accepted", |cx| {
        let mut token = token(cx, "default", json!({}))?;
        token.truncate(token.len() - 4);
        cx.get("/api/v1/pods")
            .token(&token)
            .refused(401, "Unauthorized", "Unauthorized")?
            .done()
    }),
    Check::new(AREA, "the server says how its tokens can be verified", |cx| {
        let configuration = cx
            .get("/.well-known/openid-configuration")
            .expect(200)?
            .has(json!({
                "issuer": "<any>", "jwks_uri": "{*}/openid/v1/jwks", "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
            }))?;
        ensure(
            configuration.text("/issuer").starts_with("https://"),
            "an address",
            &configuration.json,
        )?;
        cx.get("/openid/v1/jwks")
            .expect(200)?
            .has(json!({
                "keys": [{"use": "sig", "kty": "<any>", "kid": "<any>", "alg": "<any>"}],
            }))?
            .done()
    }),
    Check::new(AREA, "a pod of a missing account is refused", |cx| {
        let mut body = pod("a");
        body["spec"]["serviceAccountName"] = json!("nope");
        let namespace = cx.namespace()?;
        cx.post(cx.core("pods")?, body)
            .refused(
                403,
                "Forbidden",
                &format!(
                    "pods \"a\" is forbidden: error looking up service account {namespace}/nope: \
                     serviceaccount \"nope\" not found"
                ),
            )?
            .done()
    }),
    Check::new(AREA, "an account may ask that its token is not mounted", |cx| {
        cx.create(
            "v1",
            "serviceaccounts",
            json!({
                "metadata": {"name": "shy"}, "automountServiceAccountToken": false,
            }),
        )?;
        let mut body = pod("a");
        body["spec"]["serviceAccountName"] = json!("shy");
        let path = cx.core("pods")?;
        cx.eventually(|| cx.post(&path, body.clone()).expect(201))?
            .has(json!({
                "spec": {"volumes": "<absent>", "serviceAccountName": "shy", "serviceAccount": "shy"},
            }))?
            .done()
    }),
    Check::new(AREA, "an account's pull secrets are its pods'", |cx| {
        cx.create(
            "v1",
            "serviceaccounts",
            json!({
                "metadata": {"name": "puller"}, "imagePullSecrets": [{"name": "registry"}],
            }),
        )?;
        let mut body = pod("a");
        body["spec"]["serviceAccountName"] = json!("puller");
        let path = cx.core("pods")?;
        cx.eventually(|| cx.post(&path, body.clone()).expect(201))?
            .exactly("/spec/imagePullSecrets", json!([{"name": "registry"}]))?
            .done()
    }),
    Check::new(AREA, "a token secret is filled in", |cx| {
        let annotations = json!({"kubernetes.io/service-account.name": "default"});
        cx.create(
            "v1",
            "secrets",
            json!({
                "metadata": {"name": "a", "annotations": annotations},
                "type": "kubernetes.io/service-account-token",
            }),
        )?;
        let path = cx.core("secrets/a")?;
        cx.eventually(|| {
            cx.get(&path).expect(200)?.has(json!({
                "data": {"token": "<any>", "namespace": "<any>"},
                "metadata": {"annotations": {"kubernetes.io/service-account.uid": "<uid>"}},
            }))
        })?
        .done()
    })
    .with_controllers(),
    Check::new(AREA, "a token in a secret lets its account in", |cx| {
        let token = kept_token(cx, "default")?;
        let namespace = cx.namespace()?;
        review(cx, json!({"token": token}))?.has(json!({"status": {
            "authenticated": true,
            "user": {"username": format!("system:serviceaccount:{namespace}:default"), "uid": "<uid>"},
        }}))?;
        cx.delete(cx.core("secrets/a")?).expect(200)?;
        cx.eventually(|| {
            review(cx, json!({"token": token}))?.has(json!({"status": {"authenticated": "<absent>"}}))
        })?
        .done()
    })
    .with_controllers(),
    Check::new(AREA, "a token secret goes with its account", |cx| {
        cx.create("v1", "serviceaccounts", json!({"metadata": {"name": "brief"}}))?;
        kept_token(cx, "brief")?;
        cx.delete(cx.core("serviceaccounts/brief")?).expect(200)?;
        cx.gone(cx.core("secrets/a")?)?.done()
    })
    .with_controllers(),
];
