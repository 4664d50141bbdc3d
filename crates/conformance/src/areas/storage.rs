//! What storage is in use is not deleted.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, context::pod};

const AREA: &str = "storage";

/// A claim `a` with more in its spec.
fn claim(cx: &Context<'_>, more: &Value) -> Outcome<Answer> {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let body = json!({"metadata": {"name": "a"}, "spec": spec});
    cx.create("v1", "persistentvolumeclaims", body)
}

/// A pod `user` that mounts the claim.
fn user() -> Value {
    let mut body = pod("user");
    body["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "a"}}]);
    body
}

/// Deletes what is in use: it is marked, and stays.
fn waits(cx: &Context<'_>, path: &str, finalizer: &str) -> Outcome {
    let marked = json!({"metadata": {"deletionTimestamp": "<time>", "finalizers": [finalizer]}});
    cx.delete(path).expect(200)?.has(marked.clone())?;
    cx.get(path).expect(200)?.has(marked)?.done()
}

pub(super) const CHECKS: &[Check] = &[
    Check::new(AREA, "a claim nobody uses goes when it is deleted", |cx| {
        claim(cx, &json!({}))?;
        let path = cx.core("persistentvolumeclaims/a")?;
        cx.delete(&path).expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "a claim in use goes with its last pod", |cx| {
        claim(cx, &json!({}))?;
        let mut body = user();
        body["spec"]["nodeName"] = json!("some-node");
        cx.create("v1", "pods", body)?;
        let path = cx.core("persistentvolumeclaims/a")?;
        waits(cx, &path, "kubernetes.io/pvc-protection")?;
        cx.delete(cx.core("pods/user")?)
            .query("gracePeriodSeconds", 0)
            .expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "a pod without a node holds no claim", |cx| {
        claim(cx, &json!({}))?;
        cx.create("v1", "pods", user())?;
        let path = cx.core("persistentvolumeclaims/a")?;
        cx.delete(&path).expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "a volume goes when it is no longer bound", |cx| {
        let name = cx.unique("volume");
        let spec = json!({
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"},
        });
        let body = json!({"metadata": {"name": name}, "spec": spec});
        cx.create_cluster("v1", "persistentvolumes", body)?;
        let path = format!("/api/v1/persistentvolumes/{name}");
        let set_phase = |phase: &str| {
            let status = json!({"status": {"phase": phase}});
            cx.merge_patch(format!("{path}/status"), status).expect(200)
        };
        set_phase("Bound")?;
        waits(cx, &path, "kubernetes.io/pv-protection")?;
        set_phase("Released")?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
    Check::new(AREA, "a class of attributes goes with its last claim", |cx| {
        let name = cx.unique("class");
        let body = json!({"metadata": {"name": name}, "driverName": "d", "parameters": {"a": "b"}});
        cx.create_cluster("storage.k8s.io/v1", "volumeattributesclasses", body)?;
        claim(cx, &json!({"volumeAttributesClassName": name}))?;
        let path = format!("/apis/storage.k8s.io/v1/volumeattributesclasses/{name}");
        waits(cx, &path, "kubernetes.io/vac-protection")?;
        cx.delete(cx.core("persistentvolumeclaims/a")?).expect(200)?;
        cx.gone(&path)?.done()
    })
    .with_controllers(),
];
