//! Faults of configuration, storage claims, quotas, access and the rest.

use serde_json::json;

use super::{AREA, refuses, refuses_spec};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a claim needs an access mode and a size", |cx| {
        refuses_spec(
            cx,
            "v1",
            "persistentvolumeclaims",
            json!({}),
            &[
                (
                    "spec.accessModes",
                    "FieldValueRequired",
                    "Required value: at least 1 access mode is required",
                ),
                ("spec.resources[storage]", "FieldValueRequired", "Required value"),
            ],
        )
    }),
    Check::new(AREA, "a claim's access mode is known", |cx| {
        refuses_spec(
            cx,
            "v1",
            "persistentvolumeclaims",
            json!({"accessModes": ["Nope"], "resources": {"requests": {"storage": "1Gi"}}}),
            &[(
                "spec.accessModes",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \
                 \"ReadWriteOnce\", \"ReadWriteOncePod\"",
            )],
        )
    }),
    Check::new(AREA, "a claim's size is positive", |cx| {
        refuses_spec(
            cx,
            "v1",
            "persistentvolumeclaims",
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}}),
            &[(
                "spec.resources[storage]",
                "FieldValueInvalid",
                "Invalid value: \"0\": must be greater than zero",
            )],
        )
    }),
    Check::new(AREA, "a config map's key is a file name", |cx| {
        refuses(
            cx,
            "v1",
            "configmaps",
            json!({"metadata": {"name": "a"}, "data": {"a b": "c"}}),
            &[(
                "data[a b]",
                "FieldValueInvalid",
                "Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', \
                 '_' or \
                 '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
                 '[-._a-zA-Z0-9]+')",
            )],
        )
    }),
    Check::new(AREA, "a secret's key is a file name", |cx| {
        refuses(
            cx,
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "data": {"..": "YQ=="}}),
            &[(
                "data[..]",
                "FieldValueInvalid",
                "Invalid value: \"..\": must not be '..'",
            )],
        )
    }),
    Check::new(AREA, "a registry secret has its key", |cx| {
        refuses(
            cx,
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "type": "kubernetes.io/dockerconfigjson"}),
            &[("data[.dockerconfigjson]", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "a TLS secret has both keys", |cx| {
        refuses(
            cx,
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "YQ=="}}),
            &[("data[tls.key]", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "a password secret has a key", |cx| {
        refuses(
            cx,
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "type": "kubernetes.io/basic-auth"}),
            &[
                ("data[username]", "FieldValueRequired", "Required value"),
                ("data[password]", "FieldValueRequired", "Required value"),
            ],
        )
    }),
    Check::new(AREA, "a token secret names an account", |cx| {
        refuses(
            cx,
            "v1",
            "secrets",
            json!({"metadata": {"name": "a"}, "type": "kubernetes.io/service-account-token"}),
            &[(
                "metadata.annotations[kubernetes.io/service-account.name]",
                "FieldValueRequired",
                "Required value",
            )],
        )
    }),
    Check::new(AREA, "a quota's resource is known", |cx| {
        refuses_spec(
            cx,
            "v1",
            "resourcequotas",
            json!({"hard": {"nope": "1"}}),
            &[
                (
                    "spec.hard[nope]",
                    "FieldValueInvalid",
                    "Invalid value: \"nope\": must be a standard resource type or fully qualified",
                ),
                (
                    "spec.hard[nope]",
                    "FieldValueInvalid",
                    "Invalid value: \"nope\": must be a standard resource for quota",
                ),
            ],
        )
    }),
    Check::new(AREA, "a quota is not negative", |cx| {
        refuses_spec(
            cx,
            "v1",
            "resourcequotas",
            json!({"hard": {"pods": "-1"}}),
            &[(
                "spec.hard[pods]",
                "FieldValueInvalid",
                "Invalid value: \"-1\": must be greater than or equal to 0",
            )],
        )
    }),
    Check::new(AREA, "a limit range is consistent", |cx| {
        refuses_spec(
            cx,
            "v1",
            "limitranges",
            json!({"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}),
            &[
                (
                    "spec.limits[0].min[cpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"2\": min value 2 is greater than max value 1",
                ),
                (
                    "spec.limits[0].defaultRequest[cpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"1\": min value 2 is greater than default request value 1",
                ),
                (
                    "spec.limits[0].default[cpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"2\": min value 2 is greater than default value 1",
                ),
            ],
        )
    }),
    Check::new(AREA, "a limit range's type is known", |cx| {
        refuses_spec(
            cx,
            "v1",
            "limitranges",
            json!({"limits": [{"type": "Nope", "max": {"cpu": "1"}}]}),
            &[(
                "spec.limits[0].type",
                "FieldValueInvalid",
                "Invalid value: \"Nope\": must be a standard limit type or fully qualified",
            )],
        )
    }),
    Check::new(AREA, "an autoscaler needs a maximum and a target", |cx| {
        refuses_spec(
            cx,
            "autoscaling/v2",
            "horizontalpodautoscalers",
            json!({"scaleTargetRef": {}}),
            &[
                (
                    "spec.maxReplicas",
                    "FieldValueInvalid",
                    "Invalid value: 0: must be greater than 0",
                ),
                (
                    "spec.maxReplicas",
                    "FieldValueInvalid",
                    "Invalid value: 0: must be greater than or equal to `minReplicas`",
                ),
                ("spec.scaleTargetRef.kind", "FieldValueRequired", "Required value"),
                ("spec.scaleTargetRef.name", "FieldValueRequired", "Required value"),
                (
                    "spec.scaleTargetRef.apiVersion",
                    "FieldValueInvalid",
                    "Invalid value: \"\": apiVersion must specify API group",
                ),
            ],
        )
    }),
    Check::new(AREA, "a budget is not both of its kinds", |cx| {
        refuses_spec(
            cx,
            "policy/v1",
            "poddisruptionbudgets",
            json!({"minAvailable": 1, "maxUnavailable": 1, "selector": {"matchLabels": {"app": "a"}}}),
            &[(
                "spec",
                "FieldValueInvalid",
                "Invalid value: \
                 {\"MinAvailable\":1,\"Selector\":{\"matchLabels\":{\"app\":\"a\"}},\"MaxUnavailable\":1,\"UnhealthyPodEvictionPolicy\":null}: \
                 minAvailable and maxUnavailable cannot be both set",
            )],
        )
    }),
    Check::new(AREA, "a budget's percentage is one", |cx| {
        refuses_spec(
            cx,
            "policy/v1",
            "poddisruptionbudgets",
            json!({"minAvailable": "150%", "selector": {"matchLabels": {"app": "a"}}}),
            &[(
                "spec.minAvailable",
                "FieldValueInvalid",
                "Invalid value: \"150%\": must not be greater than 100%",
            )],
        )
    }),
    Check::new(AREA, "a lease lasts for a positive time", |cx| {
        refuses_spec(
            cx,
            "coordination.k8s.io/v1",
            "leases",
            json!({"leaseDurationSeconds": 0}),
            &[(
                "spec.leaseDurationSeconds",
                "FieldValueInvalid",
                "Invalid value: 0: must be greater than 0",
            )],
        )
    }),
    Check::new(AREA, "a lease's transitions are not negative", |cx| {
        refuses_spec(
            cx,
            "coordination.k8s.io/v1",
            "leases",
            json!({"leaseTransitions": -1}),
            &[(
                "spec.leaseTransitions",
                "FieldValueInvalid",
                "Invalid value: -1: must be greater than or equal to 0",
            )],
        )
    }),
    Check::new(AREA, "a role's rule has verbs", |cx| {
        refuses(
            cx,
            "rbac.authorization.k8s.io/v1",
            "roles",
            json!({"metadata": {"name": "a"}, "rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
            &[(
                "rules[0].verbs",
                "FieldValueRequired",
                "Required value: verbs must contain at least one value",
            )],
        )
    }),
    Check::new(AREA, "a namespaced role has no paths", |cx| {
        refuses(
            cx,
            "rbac.authorization.k8s.io/v1",
            "roles",
            json!({"metadata": {"name": "a"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
            &[(
                "rules[0].nonResourceURLs",
                "FieldValueInvalid",
                "Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
            )],
        )
    }),
    Check::new(AREA, "a binding's role is a role", |cx| {
        refuses(
            cx,
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            json!({"metadata": {"name": "a"}, "roleRef": {"kind": "Nope", "name": "x"}}),
            &[(
                "roleRef.kind",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"Role\", \"ClusterRole\"",
            )],
        )
    }),
    Check::new(AREA, "a binding's subject is known", |cx| {
        refuses(
            cx,
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            json!({
                "metadata": {"name": "a"}, "roleRef": {"kind": "Role", "name": "x"},
                "subjects": [{"kind": "Nope", "name": "u"}],
            }),
            &[(
                "subjects[0].kind",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
            )],
        )
    }),
];
