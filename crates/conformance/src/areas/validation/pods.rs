//! Faults of pods as a whole.

use serde_json::json;

use super::{AREA, refuses, refuses_pod};
use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "a restart policy is one of three", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Sometimes"}),
            &[(
                "spec.restartPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
            )],
        )
    }),
    Check::new(AREA, "a DNS policy is known", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}], "dnsPolicy": "Nope"}),
            &[(
                "spec.dnsPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"ClusterFirstWithHostNet\", \
                 \"ClusterFirst\", \
                 \"Default\", \"None\"",
            )],
        )
    }),
    Check::new(AREA, "a DNS policy of none needs a server", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}], "dnsPolicy": "None"}),
            &[(
                "spec.dnsConfig",
                "FieldValueRequired",
                "Required value: must provide `dnsConfig` when `dnsPolicy` is None",
            )],
        )
    }),
    Check::new(AREA, "a volume mount must be of a volume", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/x"}]},
                ],
            }),
            &[(
                "spec.containers[0].volumeMounts[0].name",
                "FieldValueNotFound",
                "Not found: \"v\"",
            )],
        )
    }),
    Check::new(AREA, "mount paths are unique", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}],
                    },
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
            }),
            &[(
                "spec.containers[0].volumeMounts[1].mountPath",
                "FieldValueInvalid",
                "Invalid value: \"/x\": must be unique",
            )],
        )
    }),
    Check::new(AREA, "volume names are unique", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
            }),
            &[(
                "spec.volumes[1].name",
                "FieldValueDuplicate",
                "Duplicate value: \"v\"",
            )],
        )
    }),
    Check::new(AREA, "a volume has one source", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}],
            }),
            &[(
                "spec.volumes[0].hostPath",
                "FieldValueForbidden",
                "Forbidden: may not specify more than 1 volume type",
            )],
        )
    }),
    Check::new(AREA, "a host path may not go up", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "hostPath": {"path": "/x/../y"}}],
            }),
            &[(
                "spec.volumes[0].hostPath.path",
                "FieldValueInvalid",
                "Invalid value: \"/x/../y\": must not contain '..'",
            )],
        )
    }),
    Check::new(AREA, "a host path has a known type", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "hostPath": {"path": "/x", "type": "Nope"}}],
            }),
            &[(
                "spec.volumes[0].hostPath.type",
                "FieldValueNotSupported",
                "Unsupported value: \"Nope\": supported values: \"\", \"BlockDevice\", \"CharDevice\", \
                 \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            )],
        )
    }),
    Check::new(AREA, "a pull policy is one of three", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i", "imagePullPolicy": "Maybe"}]}),
            &[(
                "spec.containers[0].imagePullPolicy",
                "FieldValueNotSupported",
                "Unsupported value: \"Maybe\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
            )],
        )
    }),
    Check::new(AREA, "a probe has one handler", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "livenessProbe": {"httpGet": {"port": 80}, "tcpSocket": {"port": 80}},
                    },
                ],
            }),
            &[(
                "spec.containers[0].livenessProbe.tcpSocket",
                "FieldValueForbidden",
                "Forbidden: may not specify more than 1 handler type",
            )],
        )
    }),
    Check::new(AREA, "a probe needs a handler", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i", "livenessProbe": {"periodSeconds": 5}}]}),
            &[(
                "spec.containers[0].livenessProbe",
                "FieldValueRequired",
                "Required value: must specify a handler type",
            )],
        )
    }),
    Check::new(AREA, "a liveness probe succeeds at once", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "livenessProbe": {"tcpSocket": {"port": 80}, "successThreshold": 2},
                    },
                ],
            }),
            &[(
                "spec.containers[0].livenessProbe.successThreshold",
                "FieldValueInvalid",
                "Invalid value: 2: must be 1",
            )],
        )
    }),
    Check::new(AREA, "a deadline is positive", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}], "activeDeadlineSeconds": 0}),
            &[(
                "spec.activeDeadlineSeconds",
                "FieldValueInvalid",
                "Invalid value: 0: must be between 1 and 2147483647, inclusive",
            )],
        )
    }),
    Check::new(AREA, "a toleration that exists has no value", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "tolerations": [{"key": "k", "operator": "Exists", "value": "v"}],
            }),
            &[(
                "spec.tolerations[0].operator",
                "FieldValueInvalid",
                "Invalid value: \"v\": value must be empty when `operator` is 'Exists'",
            )],
        )
    }),
    Check::new(AREA, "a toleration's operator is known", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "tolerations": [{"key": "k", "operator": "Like", "value": "v"}],
            }),
            &[(
                "spec.tolerations[0].operator",
                "FieldValueNotSupported",
                "Unsupported value: \"Like\": supported values: \"Equal\", \"Exists\"",
            )],
        )
    }),
    Check::new(AREA, "a host name is a label", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}], "hostname": "a.b"}),
            &[(
                "spec.hostname",
                "FieldValueInvalid",
                "Invalid value: \"a.b\": must not contain dots",
            )],
        )
    }),
    Check::new(AREA, "a host network uses its own ports", |cx| {
        refuses_pod(
            cx,
            json!({
                "hostNetwork": true,
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}],
            }),
            &[(
                "spec.containers[0].ports[0].hostPort",
                "FieldValueInvalid",
                "Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
            )],
        )
    }),
    Check::new(AREA, "host ports are unique", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "ports": [
                            {"containerPort": 80, "hostPort": 81}, {"containerPort": 82, "hostPort": 81},
                        ],
                    },
                ],
            }),
            &[(
                "spec.containers[0].ports[1].hostPort",
                "FieldValueDuplicate",
                "Duplicate value: \"TCP//81\"",
            )],
        )
    }),
    Check::new(AREA, "a spread constraint is complete", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "topologySpreadConstraints": [
                    {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Maybe"},
                ],
            }),
            &[
                (
                    "spec.topologySpreadConstraints[0].maxSkew",
                    "FieldValueInvalid",
                    "Invalid value: 0: must be greater than zero",
                ),
                (
                    "spec.topologySpreadConstraints[0].topologyKey",
                    "FieldValueRequired",
                    "Required value: can not be empty",
                ),
                (
                    "spec.topologySpreadConstraints[0].whenUnsatisfiable",
                    "FieldValueNotSupported",
                    "Unsupported value: \"Maybe\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
                ),
            ],
        )
    }),
    Check::new(AREA, "an affinity's weight is between 1 and 100", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "affinity": {
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 0, "podAffinityTerm": {"topologyKey": "k", "labelSelector": {}}},
                        ],
                    },
                },
            }),
            &[(
                "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
                "FieldValueInvalid",
                "Invalid value: 0: must be in the range 1-100",
            )],
        )
    }),
    Check::new(AREA, "an affinity needs a topology", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "", "labelSelector": {}},
                        ],
                    },
                },
            }),
            &[
                (
                    "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                    "FieldValueRequired",
                    "Required value: can not be empty",
                ),
                (
                    "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                    "FieldValueInvalid",
                    "Invalid value: \"\": name part must be non-empty",
                ),
                (
                    "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                    "FieldValueInvalid",
                    "Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or \
                     '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
                     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                ),
            ],
        )
    }),
    Check::new(AREA, "a node selector's operator is known", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "k", "operator": "Like", "values": ["v"]}]},
                            ],
                        },
                    },
                },
            }),
            &[(
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator",
                "FieldValueInvalid",
                "Invalid value: \"Like\": not a valid selector operator",
            )],
        )
    }),
    Check::new(AREA, "a user of a process is not negative", |cx| {
        refuses_pod(
            cx,
            json!({"containers": [{"name": "c", "image": "i"}], "securityContext": {"runAsUser": -1}}),
            &[(
                "spec.securityContext.runAsUser",
                "FieldValueInvalid",
                "Invalid value: -1: must be between 0 and 2147483647, inclusive",
            )],
        )
    }),
    Check::new(AREA, "a privileged container cannot forbid escalation", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [
                    {
                        "name": "c", "image": "i",
                        "securityContext": {"privileged": true, "allowPrivilegeEscalation": false},
                    },
                ],
            }),
            &[(
                "spec.containers[0].securityContext",
                "FieldValueInvalid",
                "Invalid value: \
                 {\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\"SeccompProfile\":null,\"AppArmorProfile\":null}: \
                 cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            )],
        )
    }),
    Check::new(AREA, "a security profile of the node needs a path", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "securityContext": {"seccompProfile": {"type": "Localhost"}},
            }),
            &[(
                "spec.securityContext.seccompProfile.localhostProfile",
                "FieldValueRequired",
                "Required value: must be set when seccomp type is Localhost",
            )],
        )
    }),
    Check::new(AREA, "a sysctl is well named", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "securityContext": {"sysctls": [{"name": "A b", "value": "1"}]},
            }),
            &[(
                "spec.securityContext.sysctls[0].name",
                "FieldValueInvalid",
                "Invalid value: \"A b\": must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            )],
        )
    }),
    Check::new(AREA, "a host alias is an address", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "hostAliases": [{"ip": "nope", "hostnames": ["x"]}],
            }),
            &[(
                "spec.hostAliases[0].ip",
                "FieldValueInvalid",
                "Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            )],
        )
    }),
    Check::new(AREA, "an init container has no probes", |cx| {
        refuses_pod(
            cx,
            json!({
                "containers": [{"name": "c", "image": "i"}],
                "initContainers": [
                    {"name": "i", "image": "i", "readinessProbe": {"tcpSocket": {"port": 80}}},
                ],
            }),
            &[(
                "spec.initContainers[0].readinessProbe",
                "FieldValueForbidden",
                "Forbidden: may not be set for init containers without restartPolicy=Always",
            )],
        )
    }),
    Check::new(AREA, "a label's key is qualified", |cx| {
        refuses(
            cx,
            "v1",
            "pods",
            json!({
                "metadata": {"name": "a", "labels": {"a/b/c": "x"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }),
            &[(
                "metadata.labels",
                "FieldValueInvalid",
                "Invalid value: \"a/b/c\": a qualified name must consist of alphanumeric characters, '-', \
                 '_' or \
                 '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
                 or \
                 '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
                 optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            )],
        )
    }),
    Check::new(AREA, "an owner is complete", |cx| {
        refuses(
            cx,
            "v1",
            "pods",
            json!({
                "metadata": {"name": "a", "ownerReferences": [{"kind": "Pod", "name": "x"}]},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }),
            &[
                (
                    "metadata.ownerReferences.apiVersion",
                    "FieldValueInvalid",
                    "Invalid value: \"\": version must not be empty",
                ),
                (
                    "metadata.ownerReferences.uid",
                    "FieldValueInvalid",
                    "Invalid value: \"\": must not be empty",
                ),
            ],
        )
    }),
    Check::new(AREA, "there is one controlling owner", |cx| {
        refuses(
            cx,
            "v1",
            "pods",
            json!({
                "metadata": {
                    "name": "a",
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1", "controller": true},
                        {"apiVersion": "v1", "kind": "Pod", "name": "y", "uid": "2", "controller": true},
                    ],
                },
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }),
            &[(
                "metadata.ownerReferences",
                "FieldValueInvalid",
                "Invalid value: \
                 [{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"x\",\"uid\":\"1\",\"controller\":true},{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"y\",\"uid\":\"2\",\"controller\":true}]: \
                 Only one reference can have Controller set to true. Found \"true\" in references for Pod/x \
                 and \
                 Pod/y",
            )],
        )
    }),
    Check::new(AREA, "a finalizer is qualified", |cx| {
        refuses(
            cx,
            "v1",
            "pods",
            json!({
                "metadata": {"name": "a", "finalizers": ["nope"]},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }),
            &[(
                "metadata.finalizers[0]",
                "FieldValueInvalid",
                "Invalid value: \"nope\": name is neither a standard finalizer name nor is it fully \
                 qualified",
            )],
        )
    }),
];
