//! What the server says it serves: both forms of discovery, resource lists and the version.

use serde_json::json;

use crate::{Check, failure::ensure};

const AREA: &str = "discovery";

/// What kubectl and client-go ask for.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "the plain core document names v1 and an address", |cx| {
        cx.get("/api")
            .expect(200)?
            .exactly(
                "",
                json!({
                    "kind": "APIVersions", "versions": ["v1"],
                    "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "<any>"}],
                }),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "the plain group list names every built-in group with its preferred version",
        |cx| {
            let group = |name: &str, version: &str| {
                json!({
                    "name": name,
                    "versions": [{"groupVersion": format!("{name}/{version}"), "version": version}],
                    "preferredVersion": {"groupVersion": format!("{name}/{version}"), "version": version},
                })
            };
            cx.get("/apis")
                .expect(200)?
                .has(json!({
                    "kind": "APIGroupList", "apiVersion": "v1",
                    "groups": ["<includes>",
                        group("apps", "v1"), group("batch", "v1"), group("policy", "v1"),
                        group("storage.k8s.io", "v1"),
                        group("rbac.authorization.k8s.io", "v1"), group("coordination.k8s.io", "v1"),
                        group("networking.k8s.io", "v1"), group("events.k8s.io", "v1"),
                        group("node.k8s.io", "v1"),
                        group("apiextensions.k8s.io", "v1"), group("admissionregistration.k8s.io", "v1"),
                        group("authentication.k8s.io", "v1"), group("authorization.k8s.io", "v1"),
                        group("certificates.k8s.io", "v1"), group("discovery.k8s.io", "v1"),
                        group("scheduling.k8s.io", "v1"), group("apiregistration.k8s.io", "v1"),
                        group("flowcontrol.apiserver.k8s.io", "v1"),
                    ],
                }))?
                .done()
        },
    ),
    Check::new(
        AREA,
        "the group autoscaling has two versions and prefers v2",
        |cx| {
            cx.get("/apis/autoscaling")
                .expect(200)?
                .exactly(
                    "",
                    json!({
                        "kind": "APIGroup", "apiVersion": "v1", "name": "autoscaling",
                        "versions": [
                            {"groupVersion": "autoscaling/v2", "version": "v2"},
                            {"groupVersion": "autoscaling/v1", "version": "v1"},
                        ],
                        "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
                    }),
                )?
                .done()
        },
    ),
    Check::new(AREA, "one group is described by itself", |cx| {
        cx.get("/apis/apps")
            .expect(200)?
            .exactly(
                "",
                json!({
                    "kind": "APIGroup", "apiVersion": "v1", "name": "apps",
                    "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                    "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
                }),
            )?
            .done()
    }),
    Check::new(AREA, "the core group is aggregated on request", |cx| {
        cx.get("/api")
            .accept(AGGREGATED)
            .expect(200)?
            .has_header(
                "content-type",
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            )?
            .has_header("vary", "Accept")?
            .has(json!({
                "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
                "items": [{"versions": [{"version": "v1", "freshness": "Current"}]}],
            }))?
            .done()
    }),
    Check::new(
        AREA,
        "an aggregated resource tells its kind, scope, names, verbs and subresources",
        |cx| {
            cx.get("/apis")
            .accept(AGGREGATED)
            .expect(200)?
            .has(json!({
                "items": ["<includes>", {
                    "metadata": {"name": "apps"},
                    "versions": [{"version": "v1", "freshness": "Current", "resources": ["<includes>", {
                        "resource": "deployments",
                        "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                        "scope": "Namespaced", "singularResource": "deployment",
                        "verbs": [
                            "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
                        ],
                        "shortNames": ["deploy"], "categories": ["all"],
                        "subresources": [
                            {
                                "subresource": "scale",
                                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                                "verbs": ["get", "patch", "update"],
                            },
                            {
                                "subresource": "status",
                                "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                                "verbs": ["get", "patch", "update"],
                            },
                        ],
                    }]}],
                }],
            }))?
            .done()
        },
    ),
    Check::new(
        AREA,
        "the aggregated documents name exactly the resources of the plain ones",
        |cx| {
            let aggregated = cx.get("/apis").accept(AGGREGATED).expect(200)?;
            let empty = Vec::new();
            for group in [
                "apps",
                "batch",
                "storage.k8s.io",
                "rbac.authorization.k8s.io",
                "networking.k8s.io",
            ] {
                let items = aggregated.at("/items").as_array().unwrap_or(&empty);
                let item = items
                    .iter()
                    .find(|item| item["metadata"]["name"] == group)
                    .cloned()
                    .unwrap_or_default();
                let aggregated: Vec<String> = item["versions"][0]["resources"]
                    .as_array()
                    .unwrap_or(&empty)
                    .iter()
                    .map(|resource| resource["resource"].to_string())
                    .collect();
                let plain = cx.get(format!("/apis/{group}/v1")).expect(200)?;
                let plain: Vec<String> = plain
                    .at("/resources")
                    .as_array()
                    .unwrap_or(&empty)
                    .iter()
                    .map(|resource| resource["name"].to_string())
                    .filter(|name| !name.contains('/'))
                    .collect();
                ensure(
                    plain == aggregated,
                    &format!("{group}: {plain:?}"),
                    format!("{aggregated:?}"),
                )?;
            }
            Ok(())
        },
    ),
    Check::new(
        AREA,
        "a withdrawn aggregated form falls back to the plain one",
        |cx| {
            cx.get("/apis")
            .accept("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json")
            .expect(200)?
            .has(json!({"kind": "APIGroupList"}))?
            .done()
        },
    ),
    Check::new(
        AREA,
        "an aggregated document has an entity tag and is not sent twice",
        |cx| {
            let first = cx.get("/api").accept(AGGREGATED).expect(200)?;
            let tag = first.header("etag").to_owned();
            ensure(
                tag.starts_with('"') && tag.len() > 10,
                "a quoted entity tag",
                &tag,
            )?;
            cx.get("/api")
                .accept(AGGREGATED)
                .header("If-None-Match", &tag)
                .expect(304)?
                .done()
        },
    ),
    Check::new(AREA, "another entity tag gets the document again", |cx| {
        cx.get("/api")
            .accept(AGGREGATED)
            .header("If-None-Match", "\"other\"")
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "the resource list of the core group describes pods", |cx| {
        cx.get("/api/v1")
            .expect(200)?
            .has(json!({
                "kind": "APIResourceList", "groupVersion": "v1",
                "resources": ["<includes>",
                    {
                        "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
                        "verbs": [
                            "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
                        ],
                        "shortNames": ["po"], "categories": ["all"], "storageVersionHash": "xPOwRZ+Yhw8=",
                    },
                    {
                        "name": "pods/log", "singularName": "", "namespaced": true, "kind": "Pod",
                        "verbs": ["get"],
                    },
                    {
                        "name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy",
                        "version": "v1", "kind": "Eviction", "verbs": ["create"],
                    },
                    {
                        "name": "pods/binding", "singularName": "", "namespaced": true, "kind": "Binding",
                        "verbs": ["create"],
                    },
                ],
            }))?
            .done()
    }),
    Check::new(
        AREA,
        "the resource list of the core group describes namespaces and nodes",
        |cx| {
            cx.get("/api/v1")
                .expect(200)?
                .has(json!({"resources": ["<includes>",
                    {
                        "name": "namespaces", "singularName": "namespace", "namespaced": false,
                        "kind": "Namespace",
                        "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
                        "shortNames": ["ns"],
                    },
                    {
                        "name": "namespaces/finalize", "namespaced": false, "kind": "Namespace",
                        "verbs": ["update"],
                    },
                    {
                        "name": "nodes", "namespaced": false, "kind": "Node", "shortNames": ["no"],
                        "verbs": [
                            "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
                        ],
                    },
                    {
                        "name": "nodes/proxy", "namespaced": false, "kind": "NodeProxyOptions",
                        "verbs": ["create", "delete", "get", "patch", "update"],
                    },
                ]}))?
                .done()
        },
    ),
    Check::new(AREA, "the core group lists its resources in order", |cx| {
        let answer = cx.get("/api/v1").expect(200)?;
        let names: Vec<String> = answer
            .at("/resources")
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|resource| resource["name"].as_str())
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect();
        let expected = [
            "bindings",
            "componentstatuses",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "secrets",
            "serviceaccounts",
            "services",
        ];
        ensure(names == expected, &format!("{expected:?}"), format!("{names:?}"))
    }),
    Check::new(AREA, "short names are those users type", |cx| {
        let resource = |name: &str, short: &str| json!({"name": name, "shortNames": [short]});
        cx.get("/api/v1")
            .expect(200)?
            .has(json!({"resources": ["<includes>",
                resource("configmaps", "cm"), resource("endpoints", "ep"), resource("events", "ev"),
                resource("limitranges", "limits"), resource("persistentvolumeclaims", "pvc"),
                resource("persistentvolumes", "pv"), resource("replicationcontrollers", "rc"),
                resource("resourcequotas", "quota"), resource("serviceaccounts", "sa"),
                resource("services", "svc"),
            ]}))?
            .done()
    }),
    Check::new(AREA, "reviews can only be created", |cx| {
        cx.get("/apis/authorization.k8s.io/v1")
            .expect(200)?
            .exactly(
                "/resources",
                json!([
                    {"name": "localsubjectaccessreviews", "singularName": "localsubjectaccessreview",
                        "namespaced": true, "kind": "LocalSubjectAccessReview", "verbs": ["create"]},
                    {"name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview",
                        "namespaced": false, "kind": "SelfSubjectAccessReview", "verbs": ["create"]},
                    {"name": "selfsubjectrulesreviews", "singularName": "selfsubjectrulesreview",
                        "namespaced": false, "kind": "SelfSubjectRulesReview", "verbs": ["create"]},
                    {"name": "subjectaccessreviews", "singularName": "subjectaccessreview",
                        "namespaced": false, "kind": "SubjectAccessReview", "verbs": ["create"]},
                ]),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "the batch group lists jobs and cron jobs with their status",
        |cx| {
            let all = [
                "create",
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "update",
                "watch",
            ];
            cx.get("/apis/batch/v1")
            .expect(200)?
            .exactly(
                "/resources",
                json!([
                    {"name": "cronjobs", "singularName": "cronjob", "namespaced": true, "kind": "CronJob", "verbs": all,
                        "shortNames": ["cj"], "categories": ["all"], "storageVersionHash": "sd5LIXh4Fjs="},
                    {"name": "cronjobs/status", "singularName": "", "namespaced": true, "kind": "CronJob",
                        "verbs": ["get", "patch", "update"]},
                    {"name": "jobs", "singularName": "job", "namespaced": true, "kind": "Job", "verbs": all,
                        "categories": ["all"], "storageVersionHash": "mudhfqk/qZY="},
                    {"name": "jobs/status", "singularName": "", "namespaced": true, "kind": "Job",
                        "verbs": ["get", "patch", "update"]},
                ]),
            )?
            .done()
        },
    ),
    Check::new(AREA, "an unknown group is not a page", |cx| {
        cx.get("/apis/nope.example.com")
            .expect(404)?
            .satisfies("plain text", |answer| {
                answer.body_text() == "404 page not found\n"
            })?
            .done()
    }),
    Check::new(AREA, "an unknown version of a group is not found", |cx| {
        cx.get("/apis/apps/v9")
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .exactly("/details", json!({}))?
            .done()
    }),
    Check::new(AREA, "an unknown version of the core group is not found", |cx| {
        cx.get("/api/v9")
            .refused(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )?
            .exactly("/details", json!({}))?
            .done()
    }),
    Check::new(AREA, "the version says which Kubernetes this is", |cx| {
        cx.get("/version")
            .expect(200)?
            .has(json!({
                "major": "1", "minor": "34", "gitVersion": "<any>", "gitCommit": "<any>",
                "gitTreeState": "<any>",
                "buildDate": "<time>", "goVersion": "<any>", "compiler": "<any>", "platform": "<any>",
            }))?
            .has_header("content-type", "application/json")?
            .done()
    }),
    Check::new(AREA, "the version is found with a slash at the end", |cx| {
        cx.get("/version/")
            .expect(200)?
            .has(json!({"major": "1", "minor": "34"}))?
            .done()
    }),
    Check::new(AREA, "the root lists the paths", |cx| {
        cx.get("/")
            .expect(200)?
            .has(json!({"paths": ["<includes>",
                "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/apis/batch/v1", "/healthz",
                "/livez",
                "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version",
            ]}))?
            .done()
    }),
    Check::new(AREA, "discovery is open to every authenticated user", |cx| {
        cx.get("/apis")
            .impersonate("nobody")
            .impersonate_group("system:authenticated")
            .expect(200)?;
        cx.get("/api/v1")
            .impersonate("nobody")
            .impersonate_group("system:authenticated")
            .expect(200)?
            .done()
    }),
];
