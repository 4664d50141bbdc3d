//! Faults of services, endpoints, ingresses and network policies.

use serde_json::json;

use super::{AREA, refuses, refuses_spec};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a service needs a port", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({}),
            &[("spec.ports", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "several ports are named", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"ports": [{"port": 80}, {"port": 81}]}),
            &[
                ("spec.ports[0].name", "FieldValueRequired", "Required value"),
                ("spec.ports[1].name", "FieldValueRequired", "Required value"),
            ],
        )
    }),
    Check::new(AREA, "a service's port is a port", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"ports": [{"port": 0}]}),
            &[
                (
                    "spec.ports[0].port",
                    "FieldValueInvalid",
                    "Invalid value: 0: must be between 1 and 65535, inclusive",
                ),
                (
                    "spec.ports[0].targetPort",
                    "FieldValueInvalid",
                    "Invalid value: 0: must be between 1 and 65535, inclusive",
                ),
            ],
        )
    }),
    Check::new(AREA, "ports are unique by number and protocol", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}),
            &[(
                "spec.ports[1]",
                "FieldValueDuplicate",
                "Duplicate value: \
                 {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\"NodePort\":0}",
            )],
        )
    }),
    Check::new(AREA, "a service's type is known", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"type": "Nope", "ports": [{"port": 80}]}),
            &[(
                "spec.type",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"ClusterIP\", \"ExternalName\", \
                 \"LoadBalancer\", \
                 \"NodePort\"",
            )],
        )
    }),
    Check::new(AREA, "a node port needs a service on nodes", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"ports": [{"port": 80, "nodePort": 30001}]}),
            &[(
                "spec.ports[0].nodePort",
                "FieldValueForbidden",
                "Forbidden: may not be used when `type` is 'ClusterIP'",
            )],
        )
    }),
    Check::new(AREA, "a cluster address is an address", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"clusterIP": "nope", "ports": [{"port": 80}]}),
            &[(
                "spec.clusterIPs[0]",
                "FieldValueInvalid",
                "Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            )],
        )
    }),
    Check::new(AREA, "a cluster address is in its range", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"clusterIP": "9.9.9.9", "ports": [{"port": 80}]}),
            &[(
                "spec.clusterIPs",
                "FieldValueInvalid",
                "Invalid value: [\"9.9.9.9\"]: failed to allocate IP 9.9.9.9: the provided network does not \
                 match the \
                 current range",
            )],
        )
    }),
    Check::new(AREA, "an external name is required", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"type": "ExternalName"}),
            &[("spec.externalName", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "a service's name is a DNS label", |cx| {
        refuses(
            cx,
            "v1",
            "services",
            json!({"metadata": {"name": "1a"}, "spec": {"ports": [{"port": 80}]}}),
            &[(
                "metadata.name",
                "FieldValueInvalid",
                "Invalid value: \"1a\": a DNS-1035 label must consist of lower case alphanumeric characters \
                 or \
                 '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
                 'my-name',  \
                 or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
            )],
        )
    }),
    Check::new(AREA, "an external address may not be local", |cx| {
        refuses_spec(
            cx,
            "v1",
            "services",
            json!({"externalIPs": ["127.0.0.1"], "ports": [{"port": 80}]}),
            &[(
                "spec.externalIPs[0]",
                "FieldValueInvalid",
                "Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            )],
        )
    }),
    Check::new(AREA, "an ingress needs a backend or a rule", |cx| {
        refuses_spec(
            cx,
            "networking.k8s.io/v1",
            "ingresses",
            json!({}),
            &[(
                "spec",
                "FieldValueInvalid",
                "Invalid value: null: either `defaultBackend` or `rules` must be specified",
            )],
        )
    }),
    Check::new(AREA, "an ingress path begins with a slash", |cx| {
        refuses_spec(
            cx,
            "networking.k8s.io/v1",
            "ingresses",
            json!({
                "rules": [
                    {
                        "http": {
                            "paths": [
                                {
                                    "path": "x", "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                },
                            ],
                        },
                    },
                ],
            }),
            &[(
                "spec.rules[0].http.paths[0].path",
                "FieldValueInvalid",
                "Invalid value: \"x\": must be an absolute path",
            )],
        )
    }),
    Check::new(AREA, "an ingress path has a type", |cx| {
        refuses_spec(
            cx,
            "networking.k8s.io/v1",
            "ingresses",
            json!({
                "rules": [
                    {
                        "http": {
                            "paths": [
                                {"path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}},
                            ],
                        },
                    },
                ],
            }),
            &[(
                "spec.rules[0].http.paths[0].pathType",
                "FieldValueRequired",
                "Required value: pathType must be specified",
            )],
        )
    }),
    Check::new(AREA, "an ingress backend names its port", |cx| {
        refuses_spec(
            cx,
            "networking.k8s.io/v1",
            "ingresses",
            json!({"defaultBackend": {"service": {"name": "s", "port": {}}}}),
            &[(
                "spec.defaultBackend",
                "FieldValueRequired",
                "Required value: port name or number is required",
            )],
        )
    }),
    Check::new(AREA, "a network policy's block is a block", |cx| {
        refuses_spec(
            cx,
            "networking.k8s.io/v1",
            "networkpolicies",
            json!({"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "nope"}}]}]}),
            &[(
                "spec.ingress[0].from[0].ipBlock.cidr",
                "FieldValueInvalid",
                "Invalid value: \"nope\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            )],
        )
    }),
    Check::new(AREA, "an endpoint slice's addresses are of its type", |cx| {
        refuses(
            cx,
            "discovery.k8s.io/v1",
            "endpointslices",
            json!({"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": [{"addresses": ["nope"]}]}),
            &[(
                "endpoints[0].addresses[0]",
                "FieldValueInvalid",
                "Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            )],
        )
    }),
    Check::new(AREA, "an endpoint slice has a type", |cx| {
        refuses(
            cx,
            "discovery.k8s.io/v1",
            "endpointslices",
            json!({"metadata": {"name": "a"}, "endpoints": []}),
            &[("addressType", "FieldValueRequired", "Required value")],
        )
    }),
    Check::new(AREA, "endpoints are addresses", |cx| {
        refuses(
            cx,
            "v1",
            "endpoints",
            json!({
                "metadata": {"name": "a"},
                "subsets": [{"addresses": [{"ip": "nope"}], "ports": [{"port": 80}]}],
            }),
            &[
                (
                    "subsets[0].addresses[0].ip",
                    "FieldValueInvalid",
                    "Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                ),
                (
                    "subsets[0].addresses[0].ip",
                    "FieldValueInvalid",
                    "Invalid value: \"nope\": must be a valid IP address",
                ),
            ],
        )
    }),
];
