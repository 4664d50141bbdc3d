//! The documents that describe the API's types.

use serde_json::json;

use crate::{Check, failure::ensure};

const AREA: &str = "openapi";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        AREA,
        "the index names a document per group and version, by hash",
        |cx| {
            cx.get("/openapi/v3")
                .expect(200)?
                .has(json!({"paths": {
                    "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash={*}"},
                    "apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash={*}"},
                    "apis/batch/v1": {"serverRelativeURL": "/openapi/v3/apis/batch/v1?hash={*}"},
                    "apis/apiextensions.k8s.io/v1": {"serverRelativeURL": "{*}"},
                    "version": {"serverRelativeURL": "/openapi/v3/version?hash={*}"},
                }}))?
                .done()
        },
    ),
    Check::new(AREA, "a document under its hash may be kept", |cx| {
        let url = cx
            .get("/openapi/v3")
            .expect(200)?
            .text("/paths/apis~1batch~1v1/serverRelativeURL");
        cx.get(&url)
            .expect(200)?
            .has_header("cache-control", "public, immutable")?
            .has(json!({"openapi": "3.0.0", "info": {"title": "Kubernetes"}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a document under another hash redirects to the right one",
        |cx| {
            let url = cx
                .get("/openapi/v3")
                .expect(200)?
                .text("/paths/apis~1batch~1v1/serverRelativeURL");
            cx.get("/openapi/v3/apis/batch/v1?hash=WRONG")
                .expect(301)?
                .has_header("location", &url)?
                .done()
        },
    ),
    Check::new(AREA, "a document has an entity tag and is not sent twice", |cx| {
        let first = cx.get("/openapi/v3/apis/batch/v1").expect(200)?;
        let tag = first.header("etag").to_owned();
        ensure(!tag.is_empty(), "an entity tag", &tag)?;
        cx.get("/openapi/v3/apis/batch/v1")
            .header("If-None-Match", &tag)
            .expect(304)?
            .done()
    }),
    Check::new(
        AREA,
        "a patch operation names its kind and the parameter fieldValidation",
        |cx| {
            let document = cx.get("/openapi/v3/apis/batch/v1").expect(200)?;
            let path = "/paths/~1apis~1batch~1v1~1namespaces~1{namespace}~1jobs~1{name}/patch";
            document
                .clone()
                .exactly(
                    &format!("{path}/x-kubernetes-group-version-kind"),
                    json!({"group": "batch", "version": "v1", "kind": "Job"}),
                )?
                .exactly(&format!("{path}/x-kubernetes-action"), json!("patch"))?;
            let parameters = document.at(&format!("{path}/parameters")).to_string();
            ensure(
                parameters.contains("\"fieldValidation\""),
                "a parameter fieldValidation",
                parameters,
            )
        },
    ),
    Check::new(
        AREA,
        "a kind has a schema with its group, version and kind",
        |cx| {
            cx.get("/openapi/v3/apis/batch/v1")
                .expect(200)?
                .has(json!({"components": {"schemas": {"io.k8s.api.batch.v1.Job": {
                    "type": "object",
                    "properties": {
                        "apiVersion": {"type": "string", "description": "<any>"},
                        "spec": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.batch.v1.JobSpec"}]},
                    },
                    "x-kubernetes-group-version-kind": [{"group": "batch", "version": "v1", "kind": "Job"}],
                }}}}))?
                .done()
        },
    ),
    Check::new(AREA, "a schema says what is required and how lists merge", |cx| {
        let document = cx.get("/openapi/v3/api/v1").expect(200)?;
        document
            .clone()
            .exactly("/components/schemas/io.k8s.api.core.v1.PodSpec/required", json!(["containers"]))?
            .has(json!({"components": {"schemas": {"io.k8s.api.core.v1.PodSpec": {"properties": {"containers": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
            }}}}}}))?
            .done()
    }),
    Check::new(
        AREA,
        "a field's description is what users read in explain",
        |cx| {
            cx.get("/openapi/v3/api/v1")
                .expect(200)?
                .has(
                    json!({"components": {"schemas": {"io.k8s.api.core.v1.ConfigMap": {
                        "description": "ConfigMap holds configuration data for pods to consume.",
                    }}}}),
                )?
                .done()
        },
    ),
    Check::new(AREA, "an unknown group has no document", |cx| {
        cx.get("/openapi/v3/apis/nope.example.com/v1").expect(404)?.done()
    }),
    Check::new(
        AREA,
        "the second version of the format describes every group at once",
        |cx| {
            cx.get("/openapi/v2")
                .expect(200)?
                .has(json!({
                    "swagger": "2.0", "info": {"title": "Kubernetes"},
                    "paths": {
                        "/api/v1/namespaces/{namespace}/pods/{name}": {
                            "get": {"operationId": "readCoreV1NamespacedPod"},
                        },
                    },
                    "definitions": {
                        "io.k8s.api.core.v1.Pod": {"type": "object"},
                        "io.k8s.api.apps.v1.Deployment": {"type": "object"},
                    },
                }))?
                .done()
        },
    ),
    Check::new(AREA, "operations are named after verb, group and kind", |cx| {
        cx.get("/openapi/v3/apis/apps/v1")
            .expect(200)?
            .has(json!({"paths": {
                "/apis/apps/v1/namespaces/{namespace}/deployments": {
                    "get": {"operationId": "listAppsV1NamespacedDeployment", "x-kubernetes-action": "list"},
                    "post": {
                        "operationId": "createAppsV1NamespacedDeployment", "x-kubernetes-action": "post",
                    },
                    "delete": {"operationId": "deleteAppsV1CollectionNamespacedDeployment"},
                },
                "/apis/apps/v1/deployments": {"get": {"operationId": "listAppsV1DeploymentForAllNamespaces"}},
            }}))?
            .done()
    }),
];
