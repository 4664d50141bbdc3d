//! Tables: what people see of lists and objects.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, context::pod, failure::ensure};

pub(super) mod kinds;

const AREA: &str = "tables";

/// What kubectl asks for.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// The words in the columns Ready, Status and Restarts of a pod with this status.
fn pod_status(cx: &Context<'_>, spec: Value, status: Value, cells: [&str; 3]) -> Outcome {
    let mut body = pod("a");
    for (key, value) in spec.as_object().into_iter().flatten() {
        body["spec"][key] = value.clone();
    }
    cx.create("v1", "pods", body)?;
    cx.merge_patch(cx.core("pods/a/status")?, json!({"status": status}))
        .expect(200)?;
    let table = cx.get(cx.core("pods/a")?).accept(TABLE).expect(200)?;
    let got = table.at("/rows/0/cells").as_array().cloned().unwrap_or_default();
    let got: Vec<&str> = got.iter().skip(1).take(3).filter_map(Value::as_str).collect();
    ensure(got == cells, &format!("{cells:?}"), format!("{got:?}"))
}

/// A container's status in this state.
fn container(name: &str, ready: bool, restarts: u32, state: Value) -> Value {
    json!({
        "name": name, "ready": ready, "restartCount": restarts, "image": "i", "imageID": "", "state": state,
    })
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "the columns of pods are described", |cx| {
        let column = |name: &str, kind: &str, priority: u8| {
            json!({
                "name": name, "type": kind, "format": "", "description": "<any>", "priority": priority,
            })
        };
        let mut name = column("Name", "string", 0);
        name["format"] = json!("name");
        cx.get(cx.core("pods")?)
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "",
                json!({
                    "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                    "metadata": {"resourceVersion": "<number>"},
                    "columnDefinitions": [
                        name, column("Ready", "string", 0), column("Status", "string", 0),
                        column("Restarts", "string", 0),
                        column("Age", "string", 0), column("IP", "string", 1), column("Node", "string", 1),
                        column("Nominated Node", "string", 1), column("Readiness Gates", "string", 1),
                    ],
                    "rows": [],
                }),
            )?
            .done()
    }),
    Check::new(AREA, "a new pod is pending", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.get(cx.core("pods")?)
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([
                    "a", "0/1", "Pending", "0", "<any>", "<none>", "<none>", "<none>", "<none>"
                ]),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a running pod counts its ready containers and restarts",
        |cx| {
            let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
            let containers = json!([container("main", true, 2, running)]);
            pod_status(
                cx,
                json!({}),
                json!({"phase": "Running", "containerStatuses": containers}),
                ["1/1", "Running", "2"],
            )
        },
    ),
    Check::new(AREA, "a crashing pod says so", |cx| {
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let containers = json!([container("main", false, 5, waiting)]);
        pod_status(
            cx,
            json!({}),
            json!({"phase": "Running", "containerStatuses": containers}),
            ["0/1", "CrashLoopBackOff", "5"],
        )
    }),
    Check::new(AREA, "a completed pod says so", |cx| {
        let done = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        let containers = json!([container("main", false, 0, done)]);
        pod_status(
            cx,
            json!({}),
            json!({"phase": "Succeeded", "containerStatuses": containers}),
            ["0/1", "Completed", "0"],
        )
    }),
    Check::new(
        AREA,
        "a pod that ended without a reason shows its exit code",
        |cx| {
            let done = json!({"terminated": {"exitCode": 3}});
            let containers = json!([container("main", false, 0, done)]);
            pod_status(
                cx,
                json!({}),
                json!({"phase": "Failed", "containerStatuses": containers}),
                ["0/1", "ExitCode:3", "0"],
            )
        },
    ),
    Check::new(AREA, "a pod that ended by a signal shows it", |cx| {
        let done = json!({"terminated": {"exitCode": 137, "signal": 9}});
        let containers = json!([container("main", false, 0, done)]);
        pod_status(
            cx,
            json!({}),
            json!({"phase": "Failed", "containerStatuses": containers}),
            ["0/1", "Signal:9", "0"],
        )
    }),
    Check::new(
        AREA,
        "a pod that is initialised counts its init containers",
        |cx| {
            let init = json!([{"name": "i", "image": "i"}, {"name": "j", "image": "i"}]);
            let done = json!({"terminated": {"exitCode": 0}});
            let statuses = json!([
                container("i", true, 0, done),
                container(
                    "j",
                    false,
                    0,
                    json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
                ),
            ]);
            pod_status(
                cx,
                json!({"initContainers": init}),
                json!({"phase": "Pending", "initContainerStatuses": statuses}),
                ["0/1", "Init:1/2", "0"],
            )
        },
    ),
    Check::new(
        AREA,
        "an init container that fails is named in the status",
        |cx| {
            let init = json!([{"name": "i", "image": "i"}]);
            let statuses = json!([container(
                "i",
                false,
                1,
                json!({"waiting": {"reason": "CrashLoopBackOff"}})
            )]);
            let status = json!({"phase": "Pending", "initContainerStatuses": statuses});
            pod_status(
                cx,
                json!({"initContainers": init}),
                status,
                ["0/1", "Init:CrashLoopBackOff", "1"],
            )
        },
    ),
    Check::new(AREA, "the reason of an evicted pod is its status", |cx| {
        pod_status(
            cx,
            json!({}),
            json!({"phase": "Failed", "reason": "Evicted"}),
            ["0/1", "Evicted", "0"],
        )
    }),
    Check::new(AREA, "a gated pod says so", |cx| {
        let gates = json!([{"name": "example.com/gate"}]);
        cx.create(
            "v1",
            "pods",
            json!({
                "metadata": {"name": "a"},
                "spec": {"schedulingGates": gates, "containers": [{"name": "c", "image": "i"}]},
            }),
        )?;
        cx.get(cx.core("pods/a")?)
            .accept(TABLE)
            .expect(200)?
            .has(json!({
                "rows": [
                    {
                        "cells": [
                            "a", "0/1", "SchedulingGated", "0", "<any>", "<any>", "<any>", "<any>", "<any>",
                        ],
                    },
                ],
            }))?
            .done()
    }),
    Check::new(AREA, "a pod that is being deleted is terminating", |cx| {
        let mut body = pod("a");
        body["metadata"]["finalizers"] = json!(["example.com/hold"]);
        cx.create("v1", "pods", body)?;
        cx.delete(cx.core("pods/a")?).expect(200)?;
        cx.get(cx.core("pods/a")?).accept(TABLE).expect(200)?.has(json!({
            "rows": [
                {"cells": ["a", "0/1", "Terminating", "0", "<any>", "<any>", "<any>", "<any>", "<any>"]},
            ],
        }))?;
        cx.merge_patch(cx.core("pods/a")?, json!({"metadata": {"finalizers": null}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "the last restart is told with its age", |cx| {
        let mut status = container(
            "main",
            true,
            2,
            json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
        );
        status["lastState"] = json!({"terminated": {"exitCode": 1, "finishedAt": "2020-01-01T00:00:00Z"}});
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        cx.create("v1", "pods", body)?;
        let status = json!({
            "phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
            "containerStatuses": [status],
        });
        cx.merge_patch(cx.core("pods/a/status")?, json!({"status": status}))
            .expect(200)?;
        cx.get(cx.core("pods/a")?)
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([
                    "a",
                    "1/1",
                    "Running",
                    "2 ({*}y{*} ago)",
                    "<any>",
                    "10.1.2.3",
                    "some-node",
                    "<none>",
                    "<none>"
                ]),
            )?
            .done()
    }),
    Check::new(AREA, "a row carries the object's metadata", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/object",
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": "<any>"}),
            )?
            .done()
    }),
    Check::new(AREA, "a row can carry the whole object", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .accept(TABLE)
            .query("includeObject", "Object")
            .expect(200)?
            .has(json!({
                "rows": [{"object": {"kind": "ConfigMap", "apiVersion": "v1", "data": {"key": "value"}}}],
            }))?
            .done()
    }),
    Check::new(AREA, "a row can carry no object", |cx| {
        cx.config_map("a")?;
        cx.get(cx.core("configmaps/a")?)
            .accept(TABLE)
            .query("includeObject", "None")
            .expect(200)?
            .exactly("/rows/0", json!({"cells": ["a", 1, "<any>"], "object": null}))?
            .done()
    }),
    Check::new(AREA, "an unknown object to include is refused", |cx| {
        cx.get(cx.core("configmaps")?)
            .accept(TABLE)
            .query("includeObject", "Some")
            .refused(
                400,
                "BadRequest",
                "Unable to convert to Table as requested: includeObject: Invalid value: \"Some\": must be \
                 'Metadata', \
                 'Object', 'None', or empty",
            )?
            .done()
    }),
    Check::new(AREA, "a page of a table can be continued", |cx| {
        for name in ["a", "b"] {
            cx.create("v1", "secrets", json!({"metadata": {"name": name}}))?;
        }
        let path = cx.core("secrets")?;
        let first = cx
            .get(&path)
            .accept(TABLE)
            .query("limit", 1)
            .expect(200)?
            .has(json!({
                "metadata": {"continue": "<any>", "remainingItemCount": 1},
                "rows": [{"cells": ["a", "Opaque", 0, "<any>"]}],
            }))?;
        cx.get(&path)
            .accept(TABLE)
            .query("continue", first.text("/metadata/continue"))
            .expect(200)?
            .has(json!({"rows": [{"cells": ["b", "Opaque", 0, "<any>"]}]}))?
            .done()
    }),
    Check::new(AREA, "the answer to a creation can be a table", |cx| {
        cx.post(cx.core("secrets")?, json!({"metadata": {"name": "a"}}))
            .accept(TABLE)
            .expect(201)?
            .has(json!({"kind": "Table", "rows": [{"cells": ["a", "Opaque", 0, "<any>"]}]}))?
            .done()
    }),
    Check::new(AREA, "an error is never a table", |cx| {
        cx.get(cx.core("secrets/nope")?)
            .accept(TABLE)
            .refused(404, "NotFound", "secrets \"nope\" not found")?
            .done()
    }),
    Check::new(AREA, "the older version of tables is still served", |cx| {
        cx.get(cx.core("secrets")?)
            .accept("application/json;as=Table;v=v1beta1;g=meta.k8s.io")
            .expect(200)?
            .has(json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1beta1"}))?
            .done()
    }),
    Check::new(AREA, "nodes are a table", |cx| {
        let name = cx.unique("node");
        let labels = json!({"node-role.kubernetes.io/worker": ""});
        cx.create_cluster(
            "v1",
            "nodes",
            json!({"metadata": {"name": name, "labels": labels}, "spec": {"unschedulable": true}}),
        )?;
        cx.get(format!("/api/v1/nodes/{name}"))
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([
                    name,
                    "Unknown,SchedulingDisabled",
                    "worker",
                    "<any>",
                    "",
                    "<none>",
                    "<none>",
                    "<unknown>",
                    "<unknown>",
                    "<unknown>",
                ]),
            )?
            .done()
    }),
    Check::new(AREA, "namespaces are a table", |cx| {
        let name = cx.namespace()?;
        cx.get(format!("/api/v1/namespaces/{name}"))
            .accept(TABLE)
            .expect(200)?
            .exactly("/rows/0/cells", json!([name, "Active", "<any>"]))?
            .done()
    }),
    Check::new(AREA, "volumes are a table", |cx| {
        let name = cx.unique("volume");
        let spec = json!({
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "hostPath": {"path": "/x"},
            "storageClassName": "slow", "claimRef": {"namespace": "n", "name": "c"},
        });
        cx.create_cluster(
            "v1",
            "persistentvolumes",
            json!({"metadata": {"name": name}, "spec": spec}),
        )?;
        cx.get(format!("/api/v1/persistentvolumes/{name}"))
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([
                    name,
                    "1Gi",
                    "RWO,RWX",
                    "Retain",
                    "Pending",
                    "n/c",
                    "slow",
                    "<unset>",
                    "",
                    "<any>",
                    "Filesystem"
                ]),
            )?
            .done()
    }),
    Check::new(AREA, "storage classes are a table that marks the default", |cx| {
        let name = cx.unique("class");
        let annotations = json!({"storageclass.kubernetes.io/is-default-class": "false"});
        cx.create_cluster(
            "storage.k8s.io/v1",
            "storageclasses",
            json!({
                "metadata": {"name": name, "annotations": annotations}, "provisioner": "example.com/none",
            }),
        )?;
        cx.get(format!("/apis/storage.k8s.io/v1/storageclasses/{name}"))
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([name, "example.com/none", "Delete", "Immediate", false, "<any>"]),
            )?
            .done()
    }),
    Check::new(AREA, "priority classes are a table", |cx| {
        cx.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([
                    "system-node-critical",
                    2_000_001_000,
                    false,
                    "<any>",
                    "PreemptLowerPriority"
                ]),
            )?
            .done()
    }),
    Check::new(AREA, "definitions of custom resources are a table", |cx| {
        cx.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
            .accept(TABLE)
            .query("limit", 1)
            .expect(200)?
            .has(json!({"columnDefinitions": [{"name": "Name"}, {"name": "Created At"}]}))?
            .done()
    }),
    Check::new(AREA, "a load balancer without an address is pending", |cx| {
        let spec = json!({"type": "LoadBalancer", "ports": [{"port": 80}]});
        let made = cx.create("v1", "services", json!({"metadata": {"name": "a"}, "spec": spec}))?;
        let port = made.at("/spec/ports/0/nodePort").to_string();
        cx.get(cx.core("services/a")?)
            .accept(TABLE)
            .expect(200)?
            .exactly(
                "/rows/0/cells",
                json!([
                    "a",
                    "LoadBalancer",
                    made.text("/spec/clusterIP"),
                    "<pending>",
                    format!("80:{port}/TCP"),
                    "<any>",
                    "<none>",
                ]),
            )?
            .done()
    }),
];
