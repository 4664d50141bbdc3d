//! What is filled in for storage, access, nodes and the cluster itself.

use serde_json::json;

use super::{AREA, with_spec};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a claim is pending and protected", |cx| {
        let spec =
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}});
        with_spec(cx, "v1", "persistentvolumeclaims", spec)?
            .exactly(
                "/spec",
                json!({
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                    "volumeMode": "Filesystem",
                }),
            )?
            .has(json!({
                "status": {"phase": "Pending"}, "metadata": {"finalizers": ["kubernetes.io/pvc-protection"]},
            }))?
            .done()
    }),
    Check::new(AREA, "a volume is retained and protected", |cx| {
        let spec = json!({
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"},
        });
        cx.create_cluster(
            "v1",
            "persistentvolumes",
            json!({
                "metadata": {"name": cx.unique("volume")}, "spec": spec,
            }),
        )?
        .exactly(
            "/spec",
            json!({
                "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x", "type": ""},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
            }),
        )?
        .has(json!({
            "status": {"phase": "Pending", "lastPhaseTransitionTime": "<time>"},
            "metadata": {"finalizers": ["kubernetes.io/pv-protection"]},
        }))?
        .done()
    }),
    Check::new(AREA, "a storage class deletes and binds at once", |cx| {
        let body = json!({"metadata": {"name": cx.unique("class")}, "provisioner": "example.com/none"});
        cx.create_cluster("storage.k8s.io/v1", "storageclasses", body)?
            .has(json!({
                "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
                "allowVolumeExpansion": "<absent>",
            }))?
            .done()
    }),
    Check::new(AREA, "a priority class preempts", |cx| {
        cx.create_cluster(
            "scheduling.k8s.io/v1",
            "priorityclasses",
            json!({"metadata": {"name": cx.unique("class")}, "value": 5}),
        )?
        .has(json!({"preemptionPolicy": "PreemptLowerPriority", "value": 5, "globalDefault": "<absent>"}))?
        .done()
    }),
    Check::new(AREA, "a limit range completes its defaults", |cx| {
        let limits = json!([{"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}}]);
        with_spec(cx, "v1", "limitranges", json!({"limits": limits}))?
            .exactly(
                "/spec/limits",
                json!([{
                    "type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "2", "memory": "1Gi"},
                    "defaultRequest": {"cpu": "2", "memory": "1Gi"},
                }]),
            )?
            .done()
    }),
    Check::new(AREA, "a role binding fills in groups", |cx| {
        let group = "rbac.authorization.k8s.io";
        let body = json!({
            "metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [
                {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            ],
        });
        cx.create("rbac.authorization.k8s.io/v1", "rolebindings", body)?
            .exactly(
                "/roleRef",
                json!({"apiGroup": group, "kind": "ClusterRole", "name": "view"}),
            )?
            .exactly(
                "/subjects",
                json!([
                    {"kind": "User", "apiGroup": group, "name": "u"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                ]),
            )?
            .done()
    }),
    Check::new(AREA, "a namespace is labelled with its name", |cx| {
        let name = cx.namespace()?;
        cx.get(format!("/api/v1/namespaces/{name}"))
            .expect(200)?
            .exactly("/metadata/labels", json!({"kubernetes.io/metadata.name": name}))?
            .exactly("/spec", json!({"finalizers": ["kubernetes"]}))?
            .exactly("/status", json!({"phase": "Active"}))?
            .done()
    }),
    Check::new(AREA, "a new node is not ready", |cx| {
        let name = cx.unique("node");
        cx.create_cluster("v1", "nodes", json!({"metadata": {"name": name}}))?
            .exactly(
                "/spec",
                json!({
                    "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
                }),
            )?
            .has(json!({
                "status": {
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": {"machineID": ""},
                },
            }))?
            .done()
    }),
    Check::new(AREA, "a webhook fails closed after ten seconds", |cx| {
        let webhook = json!({
            "name": "a.example.com", "clientConfig": {"service": {"name": "s", "namespace": "n"}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [
                {
                    "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["things"],
                    "operations": ["CREATE"],
                },
            ],
        });
        let body = json!({"metadata": {"name": cx.unique("webhook")}, "webhooks": [webhook]});
        cx.create_cluster(
            "admissionregistration.k8s.io/v1",
            "validatingwebhookconfigurations",
            body,
        )?
        .has(json!({"webhooks": [{
            "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10,
            "namespaceSelector": {},
            "objectSelector": {}, "clientConfig": {"service": {"port": 443}}, "rules": [{"scope": "*"}],
        }]}))?
        .done()
    }),
    Check::new(AREA, "a CSI driver attaches", |cx| {
        cx.create_cluster(
            "storage.k8s.io/v1",
            "csidrivers",
            json!({
                "metadata": {"name": cx.unique("driver")}, "spec": {},
            }),
        )?
        .exactly(
            "/spec",
            json!({
                "attachRequired": true, "podInfoOnMount": false, "volumeLifecycleModes": ["Persistent"],
                "storageCapacity": false, "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "requiresRepublish": false,
                "seLinuxMount": false,
            }),
        )?
        .done()
    }),
    Check::new(AREA, "the first namespaces exist", |cx| {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            cx.get(format!("/api/v1/namespaces/{name}"))
                .expect(200)?
                .has(json!({"status": {"phase": "Active"}}))?;
        }
        Ok(())
    }),
    Check::new(AREA, "the first priority classes exist", |cx| {
        for (name, value) in [
            ("system-cluster-critical", 2_000_000_000),
            ("system-node-critical", 2_000_001_000),
        ] {
            cx.get(format!("/apis/scheduling.k8s.io/v1/priorityclasses/{name}"))
                .expect(200)?
                .has(json!({"value": value}))?;
        }
        Ok(())
    }),
];
