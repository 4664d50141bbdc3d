//! The subresources of pods: binding, eviction, log, ephemeral containers, resize.

use serde_json::{Value, json};

use super::AREA;
use crate::{Check, context::pod};

/// Where a scheduler puts a pod.
fn binding(node: &str) -> Value {
    json!({"metadata": {"name": "a"}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
}

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a binding puts a pod on a node", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(cx.core("pods/a/binding")?, binding("some-node"))
            .expect(201)?
            .exactly(
                "",
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
                }),
            )?;
        cx.get(cx.core("pods/a")?)
            .expect(200)?
            .has(json!({
                "spec": {"nodeName": "some-node"},
                "status": {
                    "conditions": [
                        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "<time>"},
                    ],
                },
            }))?
            .done()
    }),
    Check::new(AREA, "a bound pod cannot be bound again", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(cx.core("pods/a/binding")?, binding("some-node"))
            .expect(201)?;
        cx.post(cx.core("pods/a/binding")?, binding("other-node"))
            .refused(
                409,
                "Conflict",
                "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \
                 \"some-node\"",
            )?
            .done()
    }),
    Check::new(AREA, "a binding without a target is refused", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(
            cx.core("pods/a/binding")?,
            json!({"metadata": {"name": "a"}, "target": {}}),
        )
        .expect(500)?
        .has(json!({"message": "target.name: Required value"}))?
        .done()
    }),
    Check::new(AREA, "a binding names the pod of its path", |cx| {
        cx.post(cx.core("pods/b/binding")?, binding("some-node"))
            .refused(
                400,
                "BadRequest",
                "name in URL does not match name in Binding object",
            )?
            .done()
    }),
    Check::new(AREA, "a binding of a missing pod is not found", |cx| {
        cx.post(cx.core("pods/a/binding")?, binding("some-node"))
            .refused(404, "NotFound", "pods \"a\" not found")?
            .done()
    }),
    Check::new(AREA, "the old path of bindings still works", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(cx.core("bindings")?, binding("some-node")).expect(201)?;
        cx.get(cx.core("pods/a")?)
            .expect(200)?
            .has(json!({"spec": {"nodeName": "some-node"}}))?
            .done()
    }),
    Check::new(AREA, "a pod with scheduling gates cannot be bound", |cx| {
        let mut body = pod("a");
        body["spec"]["schedulingGates"] = json!([{"name": "example.com/gate"}]);
        cx.create("v1", "pods", body)?
            .has(json!({"status": {"conditions": [{
                "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]}}))?;
        cx.post(cx.core("pods/a/binding")?, binding("some-node"))
            .refused(
                409,
                "Conflict",
                "Operation cannot be fulfilled on pods/binding \"a\": pod a has non-empty \
                 .spec.schedulingGates",
            )?
            .done()
    }),
    Check::new(AREA, "an eviction deletes a pod", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(cx.core("pods/a/eviction")?, json!({"metadata": {"name": "a"}}))
            .expect(201)?
            .exactly(
                "",
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
                }),
            )?;
        cx.get(cx.core("pods/a")?).expect(404)?.done()
    }),
    Check::new(
        AREA,
        "an eviction against a disruption budget has to wait",
        |cx| {
            let mut body = pod("a");
            body["metadata"]["labels"] = json!({"app": "a"});
            cx.create("v1", "pods", body)?;
            cx.merge_patch(
                cx.core("pods/a/status")?,
                json!({"status": {
                    "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                }}),
            )
            .expect(200)?;
            let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}});
            cx.create(
                "policy/v1",
                "poddisruptionbudgets",
                json!({"metadata": {"name": "budget"}, "spec": spec}),
            )?;
            let status = json!({"status": {
                "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1,
                "expectedPods": 1,
            }});
            cx.merge_patch(
                cx.in_group("policy/v1", "poddisruptionbudgets/budget/status")?,
                status,
            )
            .expect(200)?;
            cx.post(cx.core("pods/a/eviction")?, json!({"metadata": {"name": "a"}}))
                .refused(
                    429,
                    "TooManyRequests",
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                )?
                .exactly(
                    "/details",
                    json!({"causes": [{
                        "reason": "DisruptionBudget",
                        "message": "The disruption budget budget needs 1 healthy pods and has 1 currently",
                    }]}),
                )?
                .done()
        },
    ),
    Check::new(AREA, "an eviction of a missing pod is not found", |cx| {
        cx.post(
            cx.core("pods/nope/eviction")?,
            json!({"metadata": {"name": "nope"}}),
        )
        .refused(404, "NotFound", "pods \"nope\" not found")?
        .done()
    }),
    Check::new(AREA, "an eviction can be dry", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(
            cx.core("pods/a/eviction")?,
            json!({"metadata": {"name": "a"}, "deleteOptions": {"dryRun": ["All"]}}),
        )
        .expect(201)?;
        cx.get(cx.core("pods/a")?).expect(200)?.done()
    }),
    Check::new(AREA, "a pod without a node has no log yet", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.get(cx.core("pods/a/log")?).expect(204)?.done()
    }),
    Check::new(AREA, "a log of several containers must say which", |cx| {
        let mut body = pod("a");
        body["spec"]["nodeName"] = json!("some-node");
        body["spec"]["containers"] = json!([{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]);
        cx.create("v1", "pods", body)?;
        cx.get(cx.core("pods/a/log")?)
            .refused(
                400,
                "BadRequest",
                "a container name must be specified for pod a, choose one of: [c d]",
            )?
            .done()
    }),
    Check::new(
        AREA,
        "a log of a container the pod does not have is refused",
        |cx| {
            cx.create("v1", "pods", pod("a"))?;
            cx.get(cx.core("pods/a/log")?)
                .query("container", "nope")
                .refused(400, "BadRequest", "container nope is not valid for pod a")?
                .done()
        },
    ),
    Check::new(AREA, "log options are validated", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.get(cx.core("pods/a/log")?)
            .query("tailLines", -1)
            .invalid(&[(
                "tailLines",
                "FieldValueInvalid",
                "Invalid value: -1: must be greater than or equal to 0",
            )])?
            .done()
    }),
    Check::new(
        AREA,
        "an ephemeral container is added through its own path only",
        |cx| {
            cx.create("v1", "pods", pod("a"))?;
            let patch = json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}});
            cx.strategic_patch(cx.core("pods/a/ephemeralcontainers")?, patch.clone())
                .expect(200)?
                .has(json!({"spec": {"ephemeralContainers": [{
                    "name": "debug", "image": "busybox", "terminationMessagePolicy": "File",
                    "imagePullPolicy": "Always",
                }]}}))?;
            let more = json!({"spec": {"ephemeralContainers": [{"name": "more", "image": "busybox"}]}});
            cx.strategic_patch(cx.core("pods/a")?, more).expect(422)?.done()
        },
    ),
    Check::new(AREA, "an ephemeral container cannot be removed", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        let path = cx.core("pods/a/ephemeralcontainers")?;
        let patch = json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}});
        cx.strategic_patch(&path, patch).expect(200)?;
        cx.json_patch(
            &path,
            json!([{"op": "remove", "path": "/spec/ephemeralContainers/0"}]),
        )
        .invalid(&[(
            "spec.ephemeralContainers",
            "FieldValueForbidden",
            "Forbidden: existing ephemeral containers \"debug\" may not be removed\n",
        )])?
        .done()
    }),
    Check::new(
        AREA,
        "a pod's resources are changed through its own path only",
        |cx| {
            let mut body = pod("a");
            body["spec"]["containers"][0]["resources"] =
                json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}});
            cx.create("v1", "pods", body)?;
            let patch = json!({"spec": {"containers": [{
                "name": "main", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
            }]}});
            cx.strategic_patch(cx.core("pods/a/resize")?, patch.clone())
                .expect(200)?
                .has(json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "2"}}}]}}))?;
            let more = json!({
                "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1500m"}}}]},
            });
            cx.strategic_patch(cx.core("pods/a")?, more).expect(422)?.done()
        },
    ),
    Check::new(AREA, "an exec into a pod without a node is refused", |cx| {
        cx.create("v1", "pods", pod("a"))?;
        cx.post(format!("{}?command=ls", cx.core("pods/a/exec")?), json!({}))
            .refused(400, "BadRequest", "pod a does not have a host assigned")?
            .done()
    }),
];
