//! Faults of what makes pods.

use serde_json::json;

use super::{AREA, refuses, refuses_spec};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a deployment's selector matches its template", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "b"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &[(
                "spec.template.metadata.labels",
                "FieldValueInvalid",
                "Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
            )],
        )
    }),
    Check::new(AREA, "a deployment needs a selector and a template", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({}),
            &[
                ("spec.selector", "FieldValueRequired", "Required value"),
                (
                    "spec.template.metadata.labels",
                    "FieldValueInvalid",
                    "Invalid value: null: `selector` does not match template `labels`",
                ),
                (
                    "spec.template.spec.containers",
                    "FieldValueRequired",
                    "Required value",
                ),
            ],
        )
    }),
    Check::new(AREA, "a deployment's selector may not be empty", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &[(
                "spec.selector",
                "FieldValueInvalid",
                "Invalid value: {}: empty selector is invalid for deployment",
            )],
        )
    }),
    Check::new(AREA, "a deployment's pods always restart", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &[(
                "spec.template.spec.restartPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"Never\": supported values: \"Always\"",
            )],
        )
    }),
    Check::new(AREA, "a rolling update moves at least one pod", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
                "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
            }),
            &[(
                "spec.strategy.rollingUpdate.maxUnavailable",
                "FieldValueInvalid",
                "Invalid value: 0: may not be 0 when `maxSurge` is 0",
            )],
        )
    }),
    Check::new(AREA, "a recreation does not roll", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
                "strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
            }),
            &[(
                "spec.strategy.rollingUpdate",
                "FieldValueForbidden",
                "Forbidden: may not be specified when strategy `type` is 'Recreate'",
            )],
        )
    }),
    Check::new(AREA, "a rollout's deadline is later than readiness", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
                "minReadySeconds": 600, "progressDeadlineSeconds": 600,
            }),
            &[(
                "spec.progressDeadlineSeconds",
                "FieldValueInvalid",
                "Invalid value: 600: must be greater than minReadySeconds",
            )],
        )
    }),
    Check::new(AREA, "a percentage is a percentage", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
                "strategy": {"rollingUpdate": {"maxSurge": "ten"}},
            }),
            &[(
                "spec.strategy.rollingUpdate.maxSurge",
                "FieldValueInvalid",
                "Invalid value: \"ten\": a valid percent string must be a numeric string followed by an \
                 ending '%' \
                 (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
            )],
        )
    }),
    Check::new(AREA, "a selector's operator is known", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "selector": {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["a"]}]},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &[
                (
                    "spec.selector.matchExpressions[0].operator",
                    "FieldValueInvalid",
                    "Invalid value: \"Like\": not a valid selector operator",
                ),
                (
                    "spec.selector",
                    "FieldValueInvalid",
                    "Invalid value: \
                     {\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Like\",\"values\":[\"a\"]}]}: \
                     invalid \
                     label selector",
                ),
            ],
        )
    }),
    Check::new(AREA, "a stateful set's update strategy is known", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "statefulsets",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
                "updateStrategy": {"type": "Nope"},
            }),
            &[(
                "spec.updateStrategy",
                "FieldValueInvalid",
                "Invalid value: {\"Type\":\"Nope\",\"RollingUpdate\":null}: must be 'RollingUpdate' or \
                 'OnDelete'",
            )],
        )
    }),
    Check::new(AREA, "a daemon set's pods always restart", |cx| {
        refuses_spec(
            cx,
            "apps/v1",
            "daemonsets",
            json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &[(
                "spec.template.spec.restartPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"OnFailure\": supported values: \"Always\"",
            )],
        )
    }),
    Check::new(AREA, "a job's pods do not always restart", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}),
            &[(
                "spec.template.spec.restartPolicy",
                "FieldValueRequired",
                "Required value: valid values: \"OnFailure\", \"Never\"",
            )],
        )
    }),
    Check::new(AREA, "a job's numbers are not negative", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "parallelism": -1, "completions": -1, "backoffLimit": -1, "activeDeadlineSeconds": -1,
                "ttlSecondsAfterFinished": -1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            }),
            &[
                (
                    "spec.parallelism",
                    "FieldValueInvalid",
                    "Invalid value: -1: must be greater than or equal to 0",
                ),
                (
                    "spec.completions",
                    "FieldValueInvalid",
                    "Invalid value: -1: must be greater than or equal to 0",
                ),
                (
                    "spec.activeDeadlineSeconds",
                    "FieldValueInvalid",
                    "Invalid value: -1: must be greater than or equal to 0",
                ),
                (
                    "spec.backoffLimit",
                    "FieldValueInvalid",
                    "Invalid value: -1: must be greater than or equal to 0",
                ),
                (
                    "spec.ttlSecondsAfterFinished",
                    "FieldValueInvalid",
                    "Invalid value: -1: must be greater than or equal to 0",
                ),
            ],
        )
    }),
    Check::new(AREA, "a job's selector is the server's", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "selector": {"matchLabels": {"x": "y"}},
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            }),
            &[
                (
                    "spec.selector",
                    "FieldValueInvalid",
                    "Invalid value: \
                     {\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"{*}\",\"x\":\"y\"}}: \
                     `selector` not auto-generated",
                ),
                (
                    "spec.template.metadata.labels",
                    "FieldValueInvalid",
                    "Invalid value: \
                     {\"batch.kubernetes.io/controller-uid\":\"{*}\",\"batch.kubernetes.io/job-name\":\"a\",\"controller-uid\":\"{*}\",\"job-name\":\"a\"}: \
                     `selector` does not match template `labels`",
                ),
            ],
        )
    }),
    Check::new(AREA, "a limit per index is for indexed jobs", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "backoffLimitPerIndex": 1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            }),
            &[(
                "spec.backoffLimitPerIndex",
                "FieldValueInvalid",
                "Invalid value: 1: requires indexed completion mode",
            )],
        )
    }),
    Check::new(AREA, "a pod failure policy needs pods that never restart", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "podFailurePolicy": {
                    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}],
                },
                "template": {
                    "spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &[(
                "spec.template.spec.restartPolicy",
                "FieldValueInvalid",
                "Invalid value: \"OnFailure\": only \"Never\" is supported when podFailurePolicy is \
                 specified",
            )],
        )
    }),
    Check::new(AREA, "a success policy is for indexed jobs", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "successPolicy": {"rules": [{"succeededCount": 1}]},
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            }),
            &[(
                "spec.successPolicy",
                "FieldValueInvalid",
                "Invalid value: {\"Rules\":[{\"SucceededIndexes\":null,\"SucceededCount\":1}]}: requires \
                 indexed \
                 completion mode",
            )],
        )
    }),
    Check::new(AREA, "a job may not be managed by a bad name", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "managedBy": "nope",
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
            }),
            &[(
                "spec.managedBy",
                "FieldValueInvalid",
                "Invalid value: \"nope\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            )],
        )
    }),
    Check::new(AREA, "a schedule is readable", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "cronjobs",
            json!({
                "schedule": "whenever",
                "jobTemplate": {
                    "spec": {

                        "template": {
                            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            }),
            &[(
                "spec.schedule",
                "FieldValueInvalid",
                "Invalid value: \"whenever\": expected exactly 5 fields, found 1: [whenever]",
            )],
        )
    }),
    Check::new(AREA, "a time zone is known", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "cronjobs",
            json!({
                "schedule": "* * * * *", "timeZone": "Nowhere/Land",
                "jobTemplate": {
                    "spec": {

                        "template": {
                            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            }),
            &[(
                "spec.timeZone",
                "FieldValueInvalid",
                "Invalid value: \"Nowhere/Land\": unknown time zone Nowhere/Land",
            )],
        )
    }),
    Check::new(AREA, "a schedule does not name a time zone", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "cronjobs",
            json!({
                "schedule": "TZ=UTC * * * * *",
                "jobTemplate": {
                    "spec": {

                        "template": {
                            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            }),
            &[(
                "spec.schedule",
                "FieldValueInvalid",
                "Invalid value: \"TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone \
                 field \
                 instead",
            )],
        )
    }),
    Check::new(AREA, "a concurrency policy is known", |cx| {
        refuses_spec(
            cx,
            "batch/v1",
            "cronjobs",
            json!({
                "schedule": "* * * * *", "concurrencyPolicy": "Maybe",
                "jobTemplate": {
                    "spec": {

                        "template": {
                            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            }),
            &[(
                "spec.concurrencyPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"Maybe\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
            )],
        )
    }),
    Check::new(AREA, "a cron job's name leaves room for its jobs", |cx| {
        refuses(
            cx,
            "batch/v1",
            "cronjobs",
            json!({
                "metadata": {"name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
                "spec": {
                    "schedule": "* * * * *",
                    "jobTemplate": {
                        "spec": {
                            "template": {
                                "spec": {
                                    "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
                                },
                            },
                        },
                    },
                },
            }),
            &[(
                "metadata.name",
                "FieldValueInvalid",
                "Invalid value: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": must be no more \
                 than 52 \
                 characters",
            )],
        )
    }),
    Check::new(AREA, "an autoscaler's bounds are in order", |cx| {
        refuses_spec(
            cx,
            "autoscaling/v2",
            "horizontalpodautoscalers",
            json!({
                "minReplicas": 5, "maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            }),
            &[(
                "spec.maxReplicas",
                "FieldValueInvalid",
                "Invalid value: 3: must be greater than or equal to `minReplicas`",
            )],
        )
    }),
    Check::new(AREA, "a replication controller needs a template", |cx| {
        refuses_spec(
            cx,
            "v1",
            "replicationcontrollers",
            json!({"replicas": 1, "selector": {"a": "b"}}),
            &[("spec.template", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "a pod template's pod is validated", |cx| {
        refuses(
            cx,
            "v1",
            "podtemplates",
            json!({"metadata": {"name": "a"}, "template": {"spec": {"containers": []}}}),
            &[("template.spec.containers", "FieldValueRequired", "Required value")],
        )
    }),
];
