//! Admission webhooks: what they are asked, and what their answers do.

use std::{thread, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    Check, Context, Outcome,
    failure::ensure,
    request::Request,
    webhook::{Respond, Webhook},
};

const AREA: &str = "webhooks";
const VALIDATING: &str = "validatingwebhookconfigurations";
const MUTATING: &str = "mutatingwebhookconfigurations";

/// A webhook that is called for config maps of the check's own namespace and marked ones elsewhere never.
struct Installed {
    webhook: Webhook,
    name: String,
}

/// Installs a webhook for writes of config maps, changed as the check wants, and waits until it is called.
fn install(
    cx: &Context<'_>,
    resource: &str,
    respond: Respond,
    change: impl FnOnce(&mut Value),
) -> Outcome<Installed> {
    let webhook = cx.webhooks()?.serve(respond);
    let name = cx.unique("webhook");
    let mut entry = json!({
        "name": format!("{name}.example.com"), "clientConfig": webhook.client_config(), "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cx.namespace()?}},
        "rules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"],
        }],
    });
    change(&mut entry);
    let body = json!({"metadata": {"name": name}, "webhooks": [entry]});
    cx.create_cluster("admissionregistration.k8s.io/v1", resource, body)?;
    Ok(Installed { webhook, name })
}

/// Installs it and tries dry creations until one reaches it.
fn install_and_wait(
    cx: &Context<'_>,
    resource: &str,
    respond: Respond,
    change: impl FnOnce(&mut Value),
) -> Outcome<Installed> {
    let installed = install(cx, resource, respond, change)?;
    let path = cx.core("configmaps")?;
    cx.eventually(|| {
        cx.post(&path, json!({"metadata": {"name": "probe"}}))
            .query("dryRun", "All")
            .send()?;
        ensure(!installed.webhook.received().is_empty(), "a call", "none")
    })?;
    Ok(installed)
}

fn create<'a>(cx: &Context<'a>, name: &str) -> Outcome<Request<'a>> {
    Ok(cx.post(
        cx.core("configmaps")?,
        json!({"metadata": {"name": name}, "data": {"k": "v"}}),
    ))
}

/// A webhook's answer with a JSON patch.
fn patch(operations: &Value) -> Value {
    json!({
        "allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations.to_string()),
    })
}

/// The last request a webhook got about an object.
fn last(installed: &Installed, name: &str) -> Value {
    let received = installed.webhook.received();
    received
        .into_iter()
        .rev()
        .find(|review| review["request"]["name"] == name)
        .unwrap_or_default()
}

fn allow(_: &Value) -> Value {
    json!({"allowed": true})
}

fn deny(_: &Value) -> Value {
    json!({"allowed": false, "status": {"message": "not today", "code": 418, "reason": "Teapot"}})
}

fn deny_silently(_: &Value) -> Value {
    json!({"allowed": false})
}

fn warn(_: &Value) -> Value {
    json!({"allowed": true, "warnings": ["mind the gap"]})
}

fn broken(_: &Value) -> Value {
    Value::Null
}

fn sleepy(_: &Value) -> Value {
    thread::sleep(Duration::from_secs(3));
    json!({"allowed": true})
}

fn label(_: &Value) -> Value {
    patch(&json!([{"op": "add", "path": "/metadata/labels", "value": {"patched": "yes"}}]))
}

fn bad_patch(_: &Value) -> Value {
    patch(&json!([{"op": "remove", "path": "/data/missing"}]))
}

fn invalid_patch(_: &Value) -> Value {
    patch(&json!([{"op": "add", "path": "/metadata/labels", "value": {"bad key!": "x"}}]))
}

fn once(request: &Value) -> Value {
    if request["object"]["metadata"]["labels"]["first"].is_null() {
        patch(&json!([{"op": "add", "path": "/metadata/labels", "value": {"first": "yes"}}]))
    } else {
        json!({"allowed": true})
    }
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a validating webhook is asked about a creation", |cx| {
        let installed = install_and_wait(cx, VALIDATING, allow, |_| {})?;
        create(cx, "a")?.expect(201)?;
        let review = last(&installed, "a");
        ensure(
            review["apiVersion"] == "admission.k8s.io/v1" && review["kind"] == "AdmissionReview",
            "a review",
            &review,
        )?;
        let request = &review["request"];
        let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
        ensure(
            request["kind"] == kind && request["requestKind"] == kind,
            "its kind",
            request,
        )?;
        let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
        ensure(
            request["resource"] == resource && request["requestResource"] == resource,
            "its resource",
            request,
        )?;
        ensure(
            request["operation"] == "CREATE" && request["namespace"] == cx.namespace()?,
            "its operation",
            request,
        )?;
        ensure(
            request["oldObject"].is_null() && request["dryRun"] == false,
            "no old object",
            request,
        )?;
        ensure(
            request["object"]["data"]["k"] == "v" && request["object"]["kind"] == "ConfigMap",
            "its object",
            request,
        )?;
        ensure(
            request["options"]["kind"] == "CreateOptions",
            "its options",
            request,
        )?;
        ensure(
            request["userInfo"]["groups"]
                .to_string()
                .contains("system:authenticated"),
            "its user",
            request,
        )
    }),
    Check::new(
        AREA,
        "a validating webhook is asked about a change with both objects",
        |cx| {
            let installed = install_and_wait(cx, VALIDATING, allow, |_| {})?;
            create(cx, "a")?.expect(201)?;
            cx.merge_patch(cx.core("configmaps/a")?, json!({"data": {"k": "w"}}))
                .expect(200)?;
            let request = last(&installed, "a")["request"].clone();
            ensure(
                request["operation"] == "UPDATE" && request["options"]["kind"] == "UpdateOptions",
                "an update",
                &request,
            )?;
            ensure(
                request["oldObject"]["data"]["k"] == "v" && request["object"]["data"]["k"] == "w",
                "both objects",
                &request,
            )
        },
    ),
    Check::new(
        AREA,
        "a validating webhook is asked about a deletion with the old object",
        |cx| {
            let installed = install_and_wait(cx, VALIDATING, allow, |_| {})?;
            create(cx, "a")?.expect(201)?;
            cx.delete(cx.core("configmaps/a")?).expect(200)?;
            let request = last(&installed, "a")["request"].clone();
            ensure(
                request["operation"] == "DELETE" && request["object"].is_null(),
                "a deletion",
                &request,
            )?;
            ensure(
                request["oldObject"]["data"]["k"] == "v",
                "the old object",
                &request,
            )
        },
    ),
    Check::new(
        AREA,
        "a refusal carries the webhook's words, code and reason",
        |cx| {
            let installed = install(cx, VALIDATING, deny, |_| {})?;
            cx.eventually(|| {
                create(cx, "a")?.query("dryRun", "All").refused(
                    418,
                    "Teapot",
                    &format!(
                        "admission webhook \"{}.example.com\" denied the request: not today",
                        installed.name
                    ),
                )
            })?
            .done()
        },
    ),
    Check::new(AREA, "a refusal without words says so", |cx| {
        let installed = install(cx, VALIDATING, deny_silently, |_| {})?;
        cx.eventually(|| {
            create(cx, "a")?.query("dryRun", "All").expect(400)?.has(json!({
                "message": format!("admission webhook \"{}.example.com\" denied the request without \
                 explanation", installed.name),
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a webhook can refuse a deletion", |cx| {
        create(cx, "a")?.expect(201)?;
        install(cx, VALIDATING, deny, |entry| {
            entry["rules"][0]["operations"] = json!(["DELETE"]);
        })?;
        cx.eventually(|| {
            cx.delete(cx.core("configmaps/a")?)
                .query("dryRun", "All")
                .expect(418)
        })?;
        create(cx, "b")?.expect(201)?.done()
    }),
    Check::new(AREA, "a webhook's warnings reach the client", |cx| {
        install(cx, VALIDATING, warn, |_| {})?;
        cx.eventually(|| {
            create(cx, "a")?
                .query("dryRun", "All")
                .expect(201)?
                .warns(&["mind the gap"])
        })?
        .done()
    }),
    Check::new(AREA, "a broken webhook fails closed", |cx| {
        let installed = install(cx, VALIDATING, broken, |_| {})?;
        cx.eventually(|| {
            create(cx, "a")?.query("dryRun", "All").refused(
                500,
                "InternalError",
                &format!(
                    "Internal error occurred: failed calling webhook \"{}.example.com\": failed to call \
                     webhook: an error on \
                     the server (\"unknown\") has prevented the request from succeeding",
                    installed.name
                ),
            )
        })?
        .done()
    }),
    Check::new(AREA, "a broken webhook may be ignored", |cx| {
        let installed = install_and_wait(cx, VALIDATING, broken, |entry| {
            entry["failurePolicy"] = json!("Ignore");
        })?;
        create(cx, "a")?.expect(201)?;
        ensure(!last(&installed, "a").is_null(), "it was asked", "nothing")
    }),
    Check::new(AREA, "a webhook that nobody answers for fails closed", |cx| {
        install(cx, VALIDATING, allow, |entry| {
            entry["clientConfig"]["url"] = json!("https://127.0.0.1:1/");
        })?;
        cx.eventually(|| {
            create(cx, "a")?.query("dryRun", "All").expect(500)?.has(json!({
                "reason": "InternalError", "message": "Internal error occurred: failed calling webhook {*}",
            }))
        })?
        .done()
    }),
    Check::new(
        AREA,
        "a webhook with a certificate of somebody else's fails closed",
        |cx| {
            install(cx, VALIDATING, allow, |entry| {
                entry["clientConfig"]
                    .as_object_mut()
                    .map(|config| config.remove("caBundle"));
            })?;
            cx.eventually(|| {
                create(cx, "a")?
                    .query("dryRun", "All")
                    .expect(500)?
                    .has(json!({"message": "{*}certificate{*}"}))
            })?
            .done()
        },
    ),
    Check::new(AREA, "a slow webhook is cut off", |cx| {
        install(cx, VALIDATING, sleepy, |entry| entry["timeoutSeconds"] = json!(1))?;
        cx.eventually(|| {
            create(cx, "a")?.query("dryRun", "All").expect(500)?.has(json!({
                "message": "Internal error occurred: failed calling webhook {*}context deadline exceeded{*}",
            }))
        })?
        .done()
    }),
    Check::new(AREA, "a mutating webhook changes the object", |cx| {
        install_and_wait(cx, MUTATING, label, |_| {})?;
        create(cx, "a")?
            .expect(201)?
            .has(json!({"metadata": {"labels": {"patched": "yes"}}, "data": {"k": "v"}}))?;
        cx.get(cx.core("configmaps/a")?)
            .expect(200)?
            .has(json!({"metadata": {"labels": {"patched": "yes"}}}))?
            .done()
    }),
    Check::new(AREA, "a mutating webhook comes before validating ones", |cx| {
        install_and_wait(cx, MUTATING, label, |_| {})?;
        let validating = install_and_wait(cx, VALIDATING, allow, |_| {})?;
        create(cx, "a")?.expect(201)?;
        let request = last(&validating, "a")["request"].clone();
        ensure(
            request["object"]["metadata"]["labels"]["patched"] == "yes",
            "the changed object",
            request,
        )
    }),
    Check::new(AREA, "a patch that does not apply is an error", |cx| {
        install(cx, MUTATING, bad_patch, |_| {})?;
        cx.eventually(|| {
            create(cx, "a")?
                .query("dryRun", "All")
                .expect(500)?
                .has(json!({"reason": "InternalError"}))
        })?
        .done()
    }),
    Check::new(AREA, "an object that a webhook breaks is refused", |cx| {
        install(cx, MUTATING, invalid_patch, |_| {})?;
        cx.eventually(|| {
            create(cx, "a")?
                .query("dryRun", "All")
                .expect(422)?
                .has(json!({"reason": "Invalid"}))
        })?
        .done()
    }),
    Check::new(
        AREA,
        "a mutating webhook may be asked again after others changed the object",
        |cx| {
            let first = install_and_wait(cx, MUTATING, once, |entry| {
                entry["reinvocationPolicy"] = json!("IfNeeded");
            })?;
            install_and_wait(
                cx,
                MUTATING,
                |request| {
                    if request["object"]["data"]["late"].is_null() {
                        patch(&json!([{"op": "add", "path": "/data/late", "value": "yes"}]))
                    } else {
                        json!({"allowed": true})
                    }
                },
                |_| {},
            )?;
            create(cx, "a")?
                .expect(201)?
                .has(json!({"metadata": {"labels": {"first": "yes"}}, "data": {"late": "yes"}}))?;
            let calls = first
                .webhook
                .received()
                .iter()
                .filter(|review| review["request"]["name"] == "a")
                .count();
            ensure(calls == 2, "two calls", calls)
        },
    ),
    Check::new(
        AREA,
        "a dry write says so to webhooks without side effects",
        |cx| {
            let installed = install_and_wait(cx, VALIDATING, allow, |_| {})?;
            let review = last(&installed, "probe");
            ensure(review["request"]["dryRun"] == true, "a dry run", review)
        },
    ),
    Check::new(AREA, "a webhook says that it has no side effects", |cx| {
        let webhook = cx.webhooks()?.serve(allow);
        let body = json!({"metadata": {"name": cx.unique("webhook")}, "webhooks": [{
            "name": "a.example.com", "clientConfig": webhook.client_config(), "sideEffects": "Some",
            "admissionReviewVersions": ["v1"],
        }]});
        cx.post(
            format!("/apis/admissionregistration.k8s.io/v1/{VALIDATING}"),
            body,
        )
        .invalid(&[(
            "webhooks[0].sideEffects",
            "FieldValueNotSupported",
            "Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        )])?
        .done()
    }),
    Check::new(AREA, "a webhook is asked only in its namespaces", |cx| {
        let installed = install_and_wait(cx, VALIDATING, deny, |_| {})?;
        let other = cx.make_namespace(json!({}))?;
        cx.post(
            format!("/api/v1/namespaces/{other}/configmaps"),
            json!({"metadata": {"name": "a"}}),
        )
        .expect(201)?;
        ensure(last(&installed, "a").is_null(), "no call", last(&installed, "a"))
    }),
    Check::new(AREA, "a webhook is asked only about objects it selects", |cx| {
        let selector = json!({"matchLabels": {"check": "me"}});
        install(cx, VALIDATING, deny, |entry| entry["objectSelector"] = selector)?;
        let path = cx.core("configmaps")?;
        let marked = json!({"metadata": {"name": "a", "labels": {"check": "me"}}});
        cx.eventually(|| cx.post(&path, marked.clone()).query("dryRun", "All").expect(418))?;
        create(cx, "b")?.expect(201)?.done()
    }),
    Check::new(AREA, "a webhook is asked only where its conditions hold", |cx| {
        let conditions =
            json!([{"name": "only-important", "expression": "object.metadata.name.startsWith('important')"}]);
        install(cx, VALIDATING, deny, |entry| {
            entry["matchConditions"] = conditions;
            entry["rules"][0]["operations"] = json!(["CREATE"]);
        })?;
        cx.eventually(|| create(cx, "important-a")?.query("dryRun", "All").expect(418))?;
        create(cx, "b")?.expect(201)?.done()
    }),
    Check::new(AREA, "a condition that does not compile is refused", |cx| {
        let webhook = cx.webhooks()?.serve(allow);
        let body = json!({"metadata": {"name": cx.unique("webhook")}, "webhooks": [{
            "name": "a.example.com", "clientConfig": webhook.client_config(), "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "matchConditions": [{"name": "c", "expression": "object.(("}],
        }]});
        cx.post(
            format!("/apis/admissionregistration.k8s.io/v1/{VALIDATING}"),
            body,
        )
        .expect(422)?
        .has(json!({"details": {"causes": [{
            "field": "webhooks[0].matchConditions[0].expression", "reason": "FieldValueInvalid",
            "message": "Invalid value: \"object.((\": compilation failed: ERROR: <input>:1:8: Syntax \
             error: {*}",
        }]}}))?
        .done()
    }),
    Check::new(AREA, "a webhook for a subresource is asked about it", |cx| {
        let template = json!({
            "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let spec = json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template});
        cx.create(
            "apps/v1",
            "deployments",
            json!({"metadata": {"name": "a"}, "spec": spec}),
        )?;
        let rule = json!({
            "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"],
            "operations": ["UPDATE"],
        });
        let installed = install(cx, VALIDATING, deny, |entry| entry["rules"] = json!([rule]))?;
        let path = cx.in_group("apps/v1", "deployments/a")?;
        cx.eventually(|| {
            cx.merge_patch(format!("{path}/scale"), json!({"spec": {"replicas": 1}}))
                .query("dryRun", "All")
                .expect(418)
        })?;
        cx.merge_patch(&path, json!({"metadata": {"labels": {"x": "1"}}}))
            .expect(200)?;
        let request = last(&installed, "a")["request"].clone();
        ensure(
            request["subResource"] == "scale" && request["object"]["kind"] == "Scale",
            "the scale",
            request,
        )
    }),
    Check::new(
        AREA,
        "a webhook is asked about each object of a deleted collection",
        |cx| {
            create(cx, "a")?.expect(201)?;
            create(cx, "b")?.expect(201)?;
            let installed = install_and_wait(cx, VALIDATING, allow, |_| {})?;
            cx.delete(cx.core("configmaps")?)
                .query("fieldSelector", "metadata.name!=kube-root-ca.crt")
                .expect(200)?;
            let received = installed.webhook.received();
            for name in ["a", "b"] {
                let about = |review: &&Value| review["request"]["oldObject"]["metadata"]["name"] == name;
                let request = received
                    .iter()
                    .find(about)
                    .map(|review| review["request"].clone())
                    .unwrap_or_default();
                ensure(request["operation"] == "DELETE", "a deletion of each", request)?;
            }
            Ok(())
        },
    ),
    Check::new(AREA, "webhooks are not asked about webhooks", |cx| {
        let rule = json!({
            "apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"], "resources": ["*"],
            "operations": ["*"],
        });
        let installed = install(cx, VALIDATING, deny, |entry| {
            let own = entry["rules"][0].clone();
            entry["rules"] = json!([rule, own]);
        })?;
        cx.eventually(|| create(cx, "a")?.query("dryRun", "All").expect(418))?;
        let path = format!(
            "/apis/admissionregistration.k8s.io/v1/{VALIDATING}/{}",
            installed.name
        );
        cx.merge_patch(path, json!({"metadata": {"labels": {"x": "1"}}}))
            .expect(200)?
            .done()
    }),
];
