//! Server-side apply of lists: by key, as sets, and as a whole.

use serde_json::{Value, json};

use super::{AREA, apply_deployment, deployment, owned};
use crate::{Check, Outcome, answer::Answer, failure::ensure};

fn container_names(answer: &Answer) -> Vec<Value> {
    let containers = answer
        .at("/spec/template/spec/containers")
        .as_array()
        .into_iter()
        .flatten();
    containers.map(|container| container["name"].clone()).collect()
}

fn has_containers(answer: &Answer, names: &[&str]) -> Outcome {
    let got = container_names(answer);
    ensure(
        got == names,
        &format!("the containers {names:?}"),
        format!("{got:?}"),
    )
}

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "containers of two appliers are joined by name", |cx| {
        apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i"}])))?.expect(201)?;
        let answer =
            apply_deployment(cx, "two", deployment(json!([{"name": "d", "image": "j"}])))?.expect(200)?;
        has_containers(&answer, &["c", "d"])
    }),
    Check::new(AREA, "a container goes when its only owner leaves it out", |cx| {
        apply_deployment(
            cx,
            "one",
            deployment(json!([{"name": "c", "image": "i"}, {"name": "d", "image": "j"}])),
        )?
        .expect(201)?;
        let answer =
            apply_deployment(cx, "one", deployment(json!([{"name": "d", "image": "j"}])))?.expect(200)?;
        has_containers(&answer, &["d"])
    }),
    Check::new(AREA, "one field of a container may have another owner", |cx| {
        apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i"}])))?.expect(201)?;
        let second = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "workingDir": "/w"}]}}},
        });
        let answer = apply_deployment(cx, "two", second)?.expect(200)?;
        let expected = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            "k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:workingDir": {}},
        }}}}});
        ensure(
            owned(&answer, "two") == expected,
            &expected.to_string(),
            owned(&answer, "two"),
        )?;
        answer
            .has(
                json!({"spec": {"template": {"spec": {"containers": [{"image": "i", "workingDir": "/w"}]}}}}),
            )?
            .done()
    }),
    Check::new(AREA, "the applier's order of elements is kept", |cx| {
        let body = json!([{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]);
        apply_deployment(cx, "one", deployment(body))?.expect(201)?;
        let body = json!([{"name": "d", "image": "j"}, {"name": "c", "image": "i"}]);
        let answer = apply_deployment(cx, "one", deployment(body))?.expect(200)?;
        has_containers(&answer, &["d", "c"])
    }),
    Check::new(AREA, "a key that occurs twice is refused", |cx| {
        let body = json!([{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]);
        apply_deployment(cx, "one", deployment(body))?
            .expect(500)?
            .has(
                json!({"message": "failed to create typed patch object (/a; apps/v1, Kind=Deployment): \
                .spec.template.spec.containers: duplicate entries for key [name=\"c\"]"}),
            )?
            .done()
    }),
    Check::new(
        AREA,
        "container ports are told apart by number and protocol",
        |cx| {
            let ports =
                json!([{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]);
            let answer = apply_deployment(
                cx,
                "one",
                deployment(json!([{"name": "c", "image": "i", "ports": ports}])),
            )?
            .expect(201)?;
            answer
            .exactly(
                "/metadata/managedFields/0/fieldsV1/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"c\"}/f:ports",
                json!({
                    "k:{\"containerPort\":53,\"protocol\":\"TCP\"}": {
                        ".": {}, "f:containerPort": {}, "f:protocol": {},
                    },
                    "k:{\"containerPort\":53,\"protocol\":\"UDP\"}": {
                        ".": {}, "f:containerPort": {}, "f:protocol": {},
                    },
                }),
            )?
            .done()
        },
    ),
    Check::new(
        AREA,
        "a port without a protocol is the default protocol's",
        |cx| {
            let ports = json!([{"containerPort": 80}]);
            apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i", "ports": ports}])))?
            .expect(201)?
            .exactly(
                "/metadata/managedFields/0/fieldsV1/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"c\"}/f:ports",
                json!({"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}),
            )?
            .done()
        },
    ),
    Check::new(AREA, "finalizers are a set of single owners", |cx| {
        let body = |finalizer: &str| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": [finalizer]},
            })
        };
        let path = cx.core("configmaps/a")?;
        cx.apply(&path, "one", body("example.com/one")).expect(201)?;
        cx.apply(&path, "two", body("example.com/two"))
            .expect(200)?
            .exactly(
                "/metadata/finalizers",
                json!(["example.com/one", "example.com/two"]),
            )?
            .has(json!({"metadata": {"managedFields": ["<includes>", {
                "manager": "one", "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"example.com/one\"": {}}}},
            }]}}))?;
        cx.merge_patch(&path, json!({"metadata": {"finalizers": null}}))
            .expect(200)?
            .done()
    }),
    Check::new(AREA, "an atomic list is owned as a whole", |cx| {
        let body = |argument: &str| deployment(json!([{"name": "c", "image": "i", "args": [argument]}]));
        apply_deployment(cx, "one", body("x"))?.expect(201)?;
        apply_deployment(cx, "two", body("y"))?
            .fails_with(
                409,
                "Conflict",
                "Apply failed with 1 conflict: conflict with \"one\": \
                 .spec.template.spec.containers[name=\"c\"].args",
            )?
            .done()
    }),
    Check::new(AREA, "an atomic map is owned as a whole", |cx| {
        let body = |selector: Value| {
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
                "spec": {"ports": [{"port": 80}], "selector": selector},
            })
        };
        let path = cx.core("services/a")?;
        cx.apply(&path, "one", body(json!({"a": "1"}))).expect(201)?;
        cx.apply(&path, "two", body(json!({"b": "2"})))
            .refused(
                409,
                "Conflict",
                "Apply failed with 1 conflict: conflict with \"one\": .spec.selector",
            )?
            .done()
    }),
    Check::new(AREA, "conditions are merged by type", |cx| {
        apply_deployment(cx, "one", deployment(json!([{"name": "c", "image": "i"}])))?.expect(201)?;
        let status = |kind: &str| {
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                "status": {"conditions": [{"type": kind, "status": "True"}]},
            })
        };
        let path = cx.in_group("apps/v1", "deployments/a/status")?;
        cx.apply(&path, "x", status("First")).expect(200)?;
        cx.apply(&path, "y", status("Second"))
            .expect(200)?
            .has(json!({"status": {"conditions": [{"type": "First"}, {"type": "Second"}]}}))?
            .done()
    }),
    Check::new(AREA, "an unknown field is refused by its path", |cx| {
        apply_deployment(
            cx,
            "one",
            deployment(json!([{"name": "c", "image": "i", "imag": "x"}])),
        )?
        .expect(500)?
        .has(
            json!({"message": "failed to create typed patch object (/a; apps/v1, Kind=Deployment): \
                .spec.template.spec.containers[name=\"c\"].imag: field not declared in schema"}),
        )?
        .done()
    }),
    Check::new(
        AREA,
        "a scale can be applied and is owned through the deployment",
        |cx| {
            let mut body = deployment(json!([{"name": "c", "image": "i"}]));
            body["spec"].as_object_mut().map(|spec| spec.remove("replicas"));
            apply_deployment(cx, "one", body)?.expect(201)?;
            let scale = json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"},
                "spec": {"replicas": 2},
            });
            cx.apply(cx.in_group("apps/v1", "deployments/a/scale")?, "scaler", scale)
                .query("force", "true")
                .expect(200)?
                .has(json!({"kind": "Scale", "spec": {"replicas": 2}}))?;
            cx.get(cx.in_group("apps/v1", "deployments/a")?)
            .expect(200)?
            .has(json!({"metadata": {"managedFields": ["<includes>", {
                "manager": "scaler", "operation": "Apply", "subresource": "scale", "apiVersion": "apps/v1",
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            }]}}))?
            .done()
        },
    ),
];
