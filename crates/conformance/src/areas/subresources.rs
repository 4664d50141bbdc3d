//! The parts of an object that have a path of their own.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, context::pod, failure::ensure};

pub(super) mod certificates;
pub(super) mod pods;

const AREA: &str = "subresources";

/// A deployment that runs nothing.
fn deployment(cx: &Context<'_>) -> Outcome<Answer> {
    let template = json!({
        "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template});
    cx.create(
        "apps/v1",
        "deployments",
        json!({"metadata": {"name": "a"}, "spec": spec}),
    )
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a write to the status changes only the status", |cx| {
        deployment(cx)?;
        let path = cx.in_group("apps/v1", "deployments/a/status")?;
        let mut body = cx.get(&path).expect(200)?.json;
        body["status"] = json!({"collisionCount": 4});
        body["spec"]["replicas"] = json!(9);
        body["metadata"]["labels"] = json!({"x": "1"});
        cx.put(&path, body)
            .expect(200)?
            .has(json!({
                "spec": {"replicas": 0}, "status": {"collisionCount": 4},
                "metadata": {"generation": 1, "labels": "<absent>"},
            }))?
            .done()
    }),
    Check::new(AREA, "a write to the status is recorded under it", |cx| {
        deployment(cx)?;
        cx.merge_patch(
            cx.in_group("apps/v1", "deployments/a/status")?,
            json!({"status": {"collisionCount": 4}}),
        )
        .query("fieldManager", "writer")
        .expect(200)?
        .has(json!({"metadata": {"managedFields": ["<includes>", {
            "manager": "writer", "operation": "Update", "subresource": "status",
            "fieldsV1": {"f:status": {"f:collisionCount": {}}},
        }]}}))?
        .done()
    }),
    Check::new(AREA, "a status is validated", |cx| {
        deployment(cx)?;
        cx.merge_patch(
            cx.in_group("apps/v1", "deployments/a/status")?,
            json!({"status": {"observedGeneration": -1}}),
        )
        .invalid(&[(
            "status.observedGeneration",
            "FieldValueInvalid",
            "Invalid value: -1: must be greater than or equal to 0",
        )])?
        .done()
    }),
    Check::new(AREA, "a status of a missing object is not found", |cx| {
        cx.get(cx.in_group("apps/v1", "deployments/nope/status")?)
            .refused(404, "NotFound", "deployments.apps \"nope\" not found")?
            .done()
    }),
    Check::new(AREA, "a status cannot be created", |cx| {
        cx.post(cx.in_group("apps/v1", "deployments/a/status")?, json!({}))
            .refused(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "a kind without a status has no such path", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a/status")?)
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "a scale shows replicas and selector", |cx| {
        let made = deployment(cx)?;
        cx.get(cx.in_group("apps/v1", "deployments/a/scale")?)
            .expect(200)?
            .exactly(
                "",
                json!({
                    "kind": "Scale", "apiVersion": "autoscaling/v1",
                    "metadata": {
                        "name": "a", "namespace": cx.namespace()?, "uid": made.uid(),
                        "resourceVersion": made.resource_version(), "creationTimestamp": "<time>",
                    },
                    "spec": {}, "status": {"replicas": 0, "selector": "app=a"},
                }),
            )?
            .done()
    }),
    Check::new(AREA, "a scale is changed by patch", |cx| {
        deployment(cx)?;
        cx.merge_patch(
            cx.in_group("apps/v1", "deployments/a/scale")?,
            json!({"spec": {"replicas": 3}}),
        )
        .expect(200)?
        .has(json!({"kind": "Scale", "spec": {"replicas": 3}}))?;
        cx.get(cx.in_group("apps/v1", "deployments/a")?)
            .expect(200)?
            .has(json!({"spec": {"replicas": 3}, "metadata": {"generation": 2}}))?
            .done()
    }),
    Check::new(AREA, "a scale is changed by replacement", |cx| {
        deployment(cx)?;
        let body = json!({"metadata": {"name": "a", "namespace": cx.namespace()?}, "spec": {"replicas": 2}});
        cx.put(cx.in_group("apps/v1", "deployments/a/scale")?, body)
            .expect(200)?
            .has(json!({"spec": {"replicas": 2}}))?
            .done()
    }),
    Check::new(AREA, "a scale with a stale version is a conflict", |cx| {
        deployment(cx)?;
        let body = json!({
            "metadata": {"name": "a", "namespace": cx.namespace()?, "resourceVersion": "1"},
            "spec": {"replicas": 2},
        });
        cx.put(cx.in_group("apps/v1", "deployments/a/scale")?, body)
            .expect(409)?
            .has(
                json!({"reason": "Conflict", "message": "Operation cannot be fulfilled on deployments.apps \
                \"a\": the object \
                has been modified; please apply your changes to the latest version and try again"}),
            )?
            .done()
    }),
    Check::new(AREA, "a scale below zero is refused", |cx| {
        deployment(cx)?;
        cx.merge_patch(
            cx.in_group("apps/v1", "deployments/a/scale")?,
            json!({"spec": {"replicas": -1}}),
        )
        .invalid(&[(
            "spec.replicas",
            "FieldValueInvalid",
            "Invalid value: -1: must be greater than or equal to 0",
        )])?
        .has(json!({"details": {"group": "autoscaling", "kind": "Scale"}}))?
        .done()
    }),
    Check::new(
        AREA,
        "replica sets, stateful sets and replication controllers scale too",
        |cx| {
            let pod_template = json!({
                "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            });
            let spec =
                json!({"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": pod_template});
            let with_service = json!({
                "replicas": 0, "serviceName": "s", "selector": {"matchLabels": {"app": "a"}},
                "template": pod_template,
            });
            let old = json!({"replicas": 0, "selector": {"app": "a"}, "template": pod_template});
            for (version, resource, spec) in [
                ("apps/v1", "replicasets", spec),
                ("apps/v1", "statefulsets", with_service),
                ("v1", "replicationcontrollers", old),
            ] {
                cx.create(
                    version,
                    resource,
                    json!({"metadata": {"name": "a"}, "spec": spec}),
                )?;
                cx.get(cx.in_group(version, &format!("{resource}/a/scale"))?)
                    .expect(200)?
                    .has(json!({
                        "kind": "Scale", "apiVersion": "autoscaling/v1",
                        "status": {"replicas": 0, "selector": "app=a"},
                    }))?;
            }
            Ok(())
        },
    ),
    Check::new(AREA, "a daemon set does not scale", |cx| {
        cx.get(cx.in_group("apps/v1", "daemonsets/a/scale")?)
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "a node's status is separate from its spec", |cx| {
        let name = cx.unique("node");
        cx.create_cluster("v1", "nodes", json!({"metadata": {"name": name}}))?;
        let patch = json!({"spec": {"unschedulable": true}, "status": {"capacity": {"cpu": "4"}}});
        cx.strategic_patch(format!("/api/v1/nodes/{name}/status"), patch)
            .expect(200)?
            .has(json!({"spec": {"unschedulable": "<absent>"}, "status": {"capacity": {"cpu": "4"}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a namespace's finalizers change only through its own path",
        |cx| {
            let name = cx.namespace()?;
            let path = format!("/api/v1/namespaces/{name}");
            let mut body = cx.get(&path).expect(200)?.json;
            body["metadata"]["resourceVersion"] = Value::Null;
            body["spec"] = json!({"finalizers": ["kubernetes", "example.com/hold"]});
            cx.put(&path, body.clone())
                .expect(200)?
                .exactly("/spec", json!({"finalizers": ["kubernetes"]}))?;
            cx.put(format!("{path}/finalize"), body.clone())
                .expect(200)?
                .exactly("/spec", json!({"finalizers": ["kubernetes", "example.com/hold"]}))?;
            body["spec"] = json!({"finalizers": ["kubernetes"]});
            cx.put(format!("{path}/finalize"), body).expect(200)?.done()
        },
    ),
    Check::new(AREA, "a namespace's phase is in its status", |cx| {
        let name = cx.namespace()?;
        cx.get(format!("/api/v1/namespaces/{name}/status"))
            .expect(200)?
            .has(json!({
                "kind": "Namespace", "status": {"phase": "Active"}, "spec": {"finalizers": ["kubernetes"]},
            }))?
            .done()
    }),
    Check::new(AREA, "an unknown subresource is not found", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.get(cx.core("pods/a/nonsense")?)
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .done()
    }),
    Check::new(AREA, "a service account gets a token", |cx| {
        let answer = cx
            .post(
                cx.core("serviceaccounts/default/token")?,
                json!({"spec": {"audiences": ["me"], "expirationSeconds": 700}}),
            )
            .expect(201)?
            .has(json!({
                "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                "metadata": {"name": "default", "namespace": cx.namespace()?},
                "spec": {"audiences": ["me"], "expirationSeconds": 700, "boundObjectRef": null},
                "status": {"expirationTimestamp": "<time>"},
            }))?;
        ensure(
            answer.text("/status/token").split('.').count() == 3,
            "a token of three parts",
            &answer.json,
        )
    }),
    Check::new(AREA, "a token for less than ten minutes is refused", |cx| {
        cx.post(
            cx.core("serviceaccounts/default/token")?,
            json!({"spec": {"expirationSeconds": 60}}),
        )
        .invalid(&[(
            "spec.expirationSeconds",
            "FieldValueInvalid",
            "Invalid value: 60: may not specify a duration less than 10 minutes",
        )])?
        .done()
    }),
    Check::new(AREA, "a token of a missing account is not found", |cx| {
        cx.post(cx.core("serviceaccounts/nope/token")?, json!({"spec": {}}))
            .refused(404, "NotFound", "serviceaccounts \"nope\" not found")?
            .done()
    }),
];
