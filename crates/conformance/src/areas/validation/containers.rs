//! Faults of containers.

use serde_json::json;

use super::{AREA, refuses_pod};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a pod needs containers", |cx| {
        refuses_pod(
            cx,
            json!({"containers": []}),
            &[("spec.containers", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "a container needs a name and an image", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{}]}),
            &[
                ("spec.containers[0].name", "FieldValueRequired", "Required value"),
                ("spec.containers[0].image", "FieldValueRequired", "Required value"),
            ],
        )
    }),
    Check::new(AREA, "container names are unique", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]}),
            &[(
                "spec.containers[1].name",
                "FieldValueDuplicate",
                "Duplicate value: \"c\"",
            )],
        )
    }),
    Check::new(AREA, "a container's name is a label", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "C_", "image": "i"}]}),
            &[(
                "spec.containers[0].name",
                "FieldValueInvalid",
                "Invalid value: \"C_\": a lowercase RFC 1123 label must consist of lower case alphanumeric \
                 characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
                 or \
                 '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            )],
        )
    }),
    Check::new(AREA, "a port is between 1 and 65535", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 70000}]}]}),
            &[(
                "spec.containers[0].ports[0].containerPort",
                "FieldValueInvalid",
                "Invalid value: 70000: must be between 1 and 65535, inclusive",
            )],
        )
    }),
    Check::new(AREA, "a port's protocol is one of three", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "HTTP"}]},
                ],
            }),
            &[(
                "spec.containers[0].ports[0].protocol",
                "FieldValueNotSupported",
                "Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            )],
        )
    }),
    Check::new(AREA, "an environment variable needs a name", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i", "env": [{"value": "x"}]}]}),
            &[(
                "spec.containers[0].env[0].name",
                "FieldValueRequired",
                "Required value",
            )],
        )
    }),
    Check::new(AREA, "an environment variable has one source", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "env": [
                            {
                                "name": "A", "value": "x",
                                "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
                            },
                        ],
                    },
                ],
            }),
            &[(
                "spec.containers[0].env[0].valueFrom",
                "FieldValueInvalid",
                "Invalid value: \"\": may not be specified when `value` is not empty",
            )],
        )
    }),
    Check::new(AREA, "a field reference must be known", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}],
                    },
                ],
            }),
            &[(
                "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath",
                "FieldValueInvalid",
                "Invalid value: \"spec.nope\": error converting fieldPath: field label not supported: \
                 spec.nope",
            )],
        )
    }),
    Check::new(AREA, "a request may not exceed its limit", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                    },
                ],
            }),
            &[(
                "spec.containers[0].resources.requests",
                "FieldValueInvalid",
                "Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            )],
        )
    }),
    Check::new(AREA, "a quantity may not be negative", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"memory": "-1"}}}]}),
            &[
                (
                    "spec.containers[0].resources.limits[memory]",
                    "FieldValueInvalid",
                    "Invalid value: \"-1\": must be greater than or equal to 0",
                ),
                (
                    "spec.containers[0].resources.requests[memory]",
                    "FieldValueInvalid",
                    "Invalid value: \"-1\": must be greater than or equal to 0",
                ),
            ],
        )
    }),
    Check::new(AREA, "an extended resource has equal request and limit", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "resources": {
                            "requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"},
                        },
                    },
                ],
            }),
            &[(
                "spec.containers[0].resources.requests",
                "FieldValueInvalid",
                "Invalid value: \"1\": must be equal to example.com/gpu limit of 2",
            )],
        )
    }),
    Check::new(AREA, "an extended resource is a whole number", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "resources": {
                            "requests": {"example.com/gpu": "500m"}, "limits": {"example.com/gpu": "500m"},
                        },
                    },
                ],
            }),
            &[
                (
                    "spec.containers[0].resources.limits[example.com/gpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"500m\": must be an integer",
                ),
                (
                    "spec.containers[0].resources.requests[example.com/gpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"500m\": must be an integer",
                ),
            ],
        )
    }),
    Check::new(AREA, "an unqualified resource must be a known one", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"gpu": "1"}}}]}),
            &[
                (
                    "spec.containers[0].resources.requests[gpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"gpu\": must be a standard resource type or fully qualified",
                ),
                (
                    "spec.containers[0].resources.requests[gpu]",
                    "FieldValueInvalid",
                    "Invalid value: \"gpu\": must be a standard resource for containers",
                ),
            ],
        )
    }),
];
