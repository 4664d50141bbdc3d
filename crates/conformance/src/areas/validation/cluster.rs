//! Faults of what belongs to no namespace.

use serde_json::json;

use super::{AREA, refuses_cluster};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a namespace's name is a label", |cx| {
        refuses_cluster(
            cx,
            "v1",
            "namespaces",
            json!({"metadata": {"name": "a.b"}}),
            &[(
                "metadata.name",
                "FieldValueInvalid",
                "Invalid value: \"a.b\": must not contain dots",
            )],
        )
    }),
    Check::new(AREA, "a volume has a size, a mode and a source", |cx| {
        refuses_cluster(
            cx,
            "v1",
            "persistentvolumes",
            json!({"metadata": {"name": "conf-x"}, "spec": {}}),
            &[
                ("spec.accessModes", "FieldValueRequired", "Required value"),
                ("spec.capacity", "FieldValueRequired", "Required value"),
                (
                    "spec.capacity",
                    "FieldValueNotSupported",
                    "Unsupported value: null: supported values: \"storage\"",
                ),
                (
                    "spec",
                    "FieldValueRequired",
                    "Required value: must specify a volume type",
                ),
            ],
        )
    }),
    Check::new(AREA, "a storage class has a provisioner", |cx| {
        refuses_cluster(
            cx,
            "storage.k8s.io/v1",
            "storageclasses",
            json!({"metadata": {"name": "conf-x"}}),
            &[("provisioner", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "a priority is at most a billion", |cx| {
        refuses_cluster(
            cx,
            "scheduling.k8s.io/v1",
            "priorityclasses",
            json!({"metadata": {"name": "conf-x"}, "value": 2_000_000_000}),
            &[(
                "value",
                "FieldValueForbidden",
                "Forbidden: maximum allowed value of a user defined priority is 1000000000",
            )],
        )
    }),
    Check::new(AREA, "a node's taint has an effect", |cx| {
        refuses_cluster(
            cx,
            "v1",
            "nodes",
            json!({"metadata": {"name": "conf-x"}, "spec": {"taints": [{"key": "k", "effect": "Nope"}]}}),
            &[(
                "metadata.taints[0].effect",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \
                 \"NoExecute\"",
            )],
        )
    }),
    Check::new(AREA, "a runtime class has a handler", |cx| {
        refuses_cluster(
            cx,
            "node.k8s.io/v1",
            "runtimeclasses",
            json!({"metadata": {"name": "conf-x"}}),
            &[(
                "handler",
                "FieldValueInvalid",
                "Invalid value: \"\": a lowercase RFC 1123 label must consist of lower case alphanumeric \
                 characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
                 or \
                 '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            )],
        )
    }),
    Check::new(AREA, "a webhook is complete", |cx| {
        refuses_cluster(
            cx,
            "admissionregistration.k8s.io/v1",
            "validatingwebhookconfigurations",
            json!({"metadata": {"name": "conf-x"}, "webhooks": [{"name": "x", "clientConfig": {}}]}),
            &[
                (
                    "webhooks[0].name",
                    "FieldValueInvalid",
                    "Invalid value: \"x\": should be a domain with at least three segments separated by dots",
                ),
                (
                    "webhooks[0].sideEffects",
                    "FieldValueRequired",
                    "Required value: must specify one of None, NoneOnDryRun",
                ),
                (
                    "webhooks[0].clientConfig",
                    "FieldValueRequired",
                    "Required value: exactly one of url or service is required",
                ),
                (
                    "webhooks[0].admissionReviewVersions",
                    "FieldValueRequired",
                    "Required value: must specify one of v1, v1beta1",
                ),
            ],
        )
    }),
    Check::new(AREA, "a webhook's address is secure", |cx| {
        refuses_cluster(
            cx,
            "admissionregistration.k8s.io/v1",
            "mutatingwebhookconfigurations",
            json!({
                "metadata": {"name": "conf-x"},
                "webhooks": [
                    {
                        "name": "a.b.c", "clientConfig": {"url": "http://example.com"}, "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                    },
                ],
            }),
            &[(
                "webhooks[0].clientConfig.url",
                "FieldValueInvalid",
                "Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: \
                 https://host[/path]",
            )],
        )
    }),
    Check::new(AREA, "a cluster role's rule is about resources or paths", |cx| {
        refuses_cluster(
            cx,
            "rbac.authorization.k8s.io/v1",
            "clusterroles",
            json!({
                "metadata": {"name": "conf-x"},
                "rules": [
                    {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "nonResourceURLs": ["/x"]},
                ],
            }),
            &[(
                "rules[0].nonResourceURLs",
                "FieldValueInvalid",
                "Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs",
            )],
        )
    }),
    Check::new(AREA, "a CSI driver's modes are known", |cx| {
        refuses_cluster(
            cx,
            "storage.k8s.io/v1",
            "csidrivers",
            json!({"metadata": {"name": "conf-x"}, "spec": {"volumeLifecycleModes": ["Nope"]}}),
            &[(
                "spec.volumeLifecycleModes",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"Persistent\", \"Ephemeral\"",
            )],
        )
    }),
    Check::new(AREA, "an ingress class's controller has a domain", |cx| {
        refuses_cluster(
            cx,
            "networking.k8s.io/v1",
            "ingressclasses",
            json!({"metadata": {"name": "conf-x"}, "spec": {"controller": "nope"}}),
            &[(
                "spec.controller",
                "FieldValueInvalid",
                "Invalid value: \"nope\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            )],
        )
    }),
];
