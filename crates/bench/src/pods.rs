//! The objects the work is done on: pods as a controller would write them.

use bytes::Bytes;
use serde_json::json;

/// A selector that one pod in [`GROUPS`] matches.
pub(crate) const SELECTOR: &str = "app=web-3";
const GROUPS: usize = 10;

pub(crate) fn name(number: usize) -> String {
    format!("web-{number:05}")
}

pub(crate) fn pod(number: usize) -> Bytes {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name(number),
            "labels": {"app": format!("web-{}", number % GROUPS), "tier": "front", "release": "stable"},
            "annotations": {"example.com/owner": "the team that looks after the front end"},
        },
        "spec": {
            "restartPolicy": "Always",
            "containers": [{
                "name": "main",
                "image": "registry.example.com/web:1.2.3",
                "args": ["--listen", "0.0.0.0:8080", "--workers", "4"],
                "ports": [{"name": "http", "containerPort": 8080}],
                "env": [
                    {"name": "LOG_LEVEL", "value": "info"},
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
                "resources": {
                    "requests": {"cpu": "100m", "memory": "64Mi"},
                    "limits": {"cpu": "1", "memory": "128Mi"},
                },
                "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5},
            }],
        },
    });
    pod.to_string().into()
}

/// A small change that every watcher of the pod hears of.
pub(crate) fn change(number: usize) -> Bytes {
    let patch = json!({"metadata": {"annotations": {"example.com/changed": number.to_string()}}});
    patch.to_string().into()
}
