//! What is filled in for the kinds that make pods, and for autoscalers.

use serde_json::json;

use super::{AREA, defaulted_template, pod_spec, template, with_spec};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a deployment is filled in", |cx| {
        with_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "a"}}, "template": template(),
            }),
        )?
        .exactly(
            "/spec",
            json!({
                "replicas": 1, "selector": {"matchLabels": {"app": "a"}},
                "template": defaulted_template(),
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                },
                "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            }),
        )?
        .done()
    }),
    Check::new(AREA, "a stateful set is filled in, with its claims", |cx| {
        let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        let spec = json!({
            "replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "serviceName": "s",
            "template": template(),
            "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": claim}],
        });
        with_spec(cx, "apps/v1", "statefulsets", spec)?
            .exactly(
                "/spec",
                json!({
                    "replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "serviceName": "s",
                    "template": defaulted_template(), "podManagementPolicy": "OrderedReady",
                    "revisionHistoryLimit": 10,
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                    "volumeClaimTemplates": [{
                        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "v"},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                            "volumeMode": "Filesystem",
                        },
                        "status": {"phase": "Pending"},
                    }],
                }),
            )?
            .exactly("/status", json!({"replicas": 0, "availableReplicas": 0}))?
            .done()
    }),
    Check::new(AREA, "a daemon set is filled in", |cx| {
        let mut body = json!({
            "selector": {"matchLabels": {"app": "a"}}, "template": template(),
        });
        body["template"]["spec"]["nodeSelector"] = json!({"no": "where"});
        let mut pod = defaulted_template();
        pod["spec"]["nodeSelector"] = json!({"no": "where"});
        with_spec(cx, "apps/v1", "daemonsets", body)?
            .exactly(
                "/spec",
                json!({
                    "selector": {"matchLabels": {"app": "a"}}, "template": pod, "revisionHistoryLimit": 10,
                    "updateStrategy": {
                        "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
                    },
                }),
            )?
            .has(json!({"metadata": {"annotations": {"deprecated.daemonset.template.generation": "1"}}}))?
            .done()
    }),
    Check::new(AREA, "a job is filled in, with a selector of its own uid", |cx| {
        let spec = json!({"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}});
        let made = with_spec(cx, "batch/v1", "jobs", spec)?;
        let uid = made.uid();
        let labels = json!({
            "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "a",
            "controller-uid": uid, "job-name": "a",
        });
        made.exactly(
            "/spec",
            json!({
                "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed",
                "suspend": true,
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
                "manualSelector": false,
                "podReplacementPolicy": "TerminatingOrFailed",
                "template": {"metadata": {"labels": labels}, "spec": pod_spec("Never")},
            }),
        )?
        .exactly("/metadata/labels", labels)?
        .done()
    }),
    Check::new(
        AREA,
        "an indexed job with a limit per index has no other limit",
        |cx| {
            let spec = json!({
                "suspend": true, "completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            });
            with_spec(cx, "batch/v1", "jobs", spec)?
                .has(json!({"spec": {"backoffLimit": 2_147_483_647, "parallelism": 1, "completions": 3}}))?
                .done()
        },
    ),
    Check::new(AREA, "a cron job is filled in", |cx| {
        let job = json!({
            "template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]}},
        });
        with_spec(
            cx,
            "batch/v1",
            "cronjobs",
            json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}}),
        )?
        .exactly(
            "/spec",
            json!({
                "schedule": "0 0 1 1 *", "concurrencyPolicy": "Allow", "suspend": false,
                "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
                "jobTemplate": {
                    "metadata": {}, "spec": {"template": {"metadata": {}, "spec": pod_spec("OnFailure")}},
                },
            }),
        )?
        .done()
    }),
    Check::new(
        AREA,
        "an autoscaler aims at eighty percent of the processor",
        |cx| {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
            with_spec(
                cx,
                "autoscaling/v2",
                "horizontalpodautoscalers",
                json!({"maxReplicas": 3, "scaleTargetRef": target}),
            )?
            .exactly(
                "/spec",
                json!({
                    "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3,
                    "metrics": [{"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
                    }}],
                }),
            )?
            .done()
        },
    ),
    Check::new(
        AREA,
        "an autoscaler is the same object in both of its versions",
        |cx| {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
            with_spec(
                cx,
                "autoscaling/v2",
                "horizontalpodautoscalers",
                json!({"maxReplicas": 3, "scaleTargetRef": target}),
            )?;
            cx.get(cx.in_group("autoscaling/v1", "horizontalpodautoscalers/a")?)
                .expect(200)?
                .has(json!({"apiVersion": "autoscaling/v1"}))?
                .exactly(
                    "/spec",
                    json!({
                        "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3,
                        "targetCPUUtilizationPercentage": 80,
                    }),
                )?
                .done()
        },
    ),
    Check::new(
        AREA,
        "a replication controller takes labels and selector from its template",
        |cx| {
            with_spec(
                cx,
                "v1",
                "replicationcontrollers",
                json!({"replicas": 0, "template": template()}),
            )?
            .has(json!({"metadata": {"labels": {"app": "a"}}, "spec": {"selector": {"app": "a"}}}))?
            .done()
        },
    ),
];
