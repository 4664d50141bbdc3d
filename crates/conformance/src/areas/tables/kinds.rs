//! Tables of the namespaced kinds: their columns (those for wide output marked `*`) and cells.

use serde_json::{Value, json};

use super::{AREA, TABLE};
use crate::{Check, Context, Outcome, failure::ensure};

/// Creates an object `a` and reads it as a table.
fn prints(
    cx: &Context<'_>,
    version: &str,
    resource: &str,
    mut body: Value,
    columns: &[&str],
    cells: Value,
) -> Outcome {
    body["metadata"] = json!({"name": "a"});
    cx.create(version, resource, body)?;
    let table = cx
        .get(cx.in_group(version, &format!("{resource}/a"))?)
        .accept(TABLE)
        .expect(200)?;
    let definitions = table.at("/columnDefinitions").as_array().into_iter().flatten();
    let got: Vec<String> = definitions
        .map(|column| {
            let mark = if column["priority"] == 0 { "" } else { "*" };
            format!("{}{mark}", column["name"].as_str().unwrap_or_default())
        })
        .collect();
    ensure(
        got == columns,
        &format!("the columns {columns:?}"),
        format!("{got:?}"),
    )?;
    table.exactly("/rows/0/cells", cells)?.done()
}

pub(crate) const CHECKS: &[Check] = &[
    Check::new(AREA, "deployments are a table", |cx| {
        prints(
            cx,
            "apps/v1",
            "deployments",
            json!({
                "spec": {
                    "replicas": 0, "selector": {"matchLabels": {"app": "a"}},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            }),
            &[
                "Name",
                "Ready",
                "Up-to-date",
                "Available",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            json!(["a", "0/0", 0, 0, "<any>", "c", "i", "app=a"]),
        )
    }),
    Check::new(AREA, "replica sets are a table", |cx| {
        prints(
            cx,
            "apps/v1",
            "replicasets",
            json!({
                "spec": {
                    "replicas": 0, "selector": {"matchLabels": {"app": "a"}},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            }),
            &[
                "Name",
                "Desired",
                "Current",
                "Ready",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            json!(["a", 0, 0, 0, "<any>", "c", "i", "app=a"]),
        )
    }),
    Check::new(AREA, "stateful sets are a table", |cx| {
        prints(
            cx,
            "apps/v1",
            "statefulsets",
            json!({
                "spec": {
                    "replicas": 0, "serviceName": "s", "selector": {"matchLabels": {"app": "a"}},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            }),
            &["Name", "Ready", "Age", "Containers*", "Images*"],
            json!(["a", "0/0", "<any>", "c", "i"]),
        )
    }),
    Check::new(AREA, "daemon sets are a table", |cx| {
        prints(
            cx,
            "apps/v1",
            "daemonsets",
            json!({
                "spec": {
                    "selector": {"matchLabels": {"app": "a"}},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {
                            "nodeSelector": {"no": "where"}, "containers": [{"name": "c", "image": "i"}],
                        },
                    },
                },
            }),
            &[
                "Name",
                "Desired",
                "Current",
                "Ready",
                "Up-to-date",
                "Available",
                "Node Selector",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            json!(["a", 0, 0, 0, 0, 0, "no=where", "<any>", "c", "i", "app=a"]),
        )
    }),
    Check::new(AREA, "jobs are a table", |cx| {
        prints(
            cx,
            "batch/v1",
            "jobs",
            json!({
                "spec": {
                    "suspend": true, "completions": 3,
                    "template": {
                        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
                    },
                },
            }),
            &[
                "Name",
                "Status",
                "Completions",
                "Duration",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            json!([
                "a",
                "Running",
                "0/3",
                "",
                "<any>",
                "c",
                "i",
                "batch.kubernetes.io/controller-uid={*}",
            ]),
        )
    }),
    Check::new(AREA, "cron jobs are a table", |cx| {
        prints(
            cx,
            "batch/v1",
            "cronjobs",
            json!({
                "spec": {
                    "schedule": "0 0 1 1 *",
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
            &[
                "Name",
                "Schedule",
                "Timezone",
                "Suspend",
                "Active",
                "Last Schedule",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            json!([
                "a",
                "0 0 1 1 *",
                "<none>",
                "False",
                0,
                "<none>",
                "<any>",
                "c",
                "i",
                "<none>"
            ]),
        )
    }),
    Check::new(AREA, "headless services are a table", |cx| {
        prints(
            cx,
            "v1",
            "services",
            json!({
                "spec": {
                    "clusterIP": "None", "selector": {"app": "a"},
                    "ports": [{"name": "x", "port": 80}, {"name": "y", "port": 53, "protocol": "UDP"}],
                },
            }),
            &[
                "Name",
                "Type",
                "Cluster-IP",
                "External-IP",
                "Port(s)",
                "Age",
                "Selector*",
            ],
            json!([
                "a",
                "ClusterIP",
                "None",
                "<none>",
                "80/TCP,53/UDP",
                "<any>",
                "app=a"
            ]),
        )
    }),
    Check::new(AREA, "config maps are a table", |cx| {
        prints(
            cx,
            "v1",
            "configmaps",
            json!({"data": {"x": "1", "y": "2"}}),
            &["Name", "Data", "Age"],
            json!(["a", 2, "<any>"]),
        )
    }),
    Check::new(AREA, "secrets are a table", |cx| {
        prints(
            cx,
            "v1",
            "secrets",
            json!({"stringData": {"x": "1"}}),
            &["Name", "Type", "Data", "Age"],
            json!(["a", "Opaque", 1, "<any>"]),
        )
    }),
    Check::new(AREA, "service accounts are a table", |cx| {
        prints(
            cx,
            "v1",
            "serviceaccounts",
            json!({}),
            &["Name", "Secrets", "Age"],
            json!(["a", 0, "<any>"]),
        )
    }),
    Check::new(AREA, "claims are a table", |cx| {
        prints(
            cx,
            "v1",
            "persistentvolumeclaims",
            json!({
                "spec": {
                    "storageClassName": "slow", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }),
            &[
                "Name",
                "Status",
                "Volume",
                "Capacity",
                "Access Modes",
                "StorageClass",
                "VolumeAttributesClass",
                "Age",
                "VolumeMode*",
            ],
            json!([
                "a",
                "Pending",
                "",
                "",
                "",
                "slow",
                "<unset>",
                "<any>",
                "Filesystem"
            ]),
        )
    }),
    Check::new(AREA, "endpoints are a table", |cx| {
        prints(
            cx,
            "v1",
            "endpoints",
            json!({
                "subsets": [{"addresses": [{"ip": "10.1.2.3"}, {"ip": "10.1.2.4"}], "ports": [{"port": 80}]}],
            }),
            &["Name", "Endpoints", "Age"],
            json!(["a", "10.1.2.3:80,10.1.2.4:80", "<any>"]),
        )
    }),
    Check::new(AREA, "endpoint slices are a table", |cx| {
        prints(
            cx,
            "discovery.k8s.io/v1",
            "endpointslices",
            json!({
                "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}],
            }),
            &["Name", "AddressType", "Ports", "Endpoints", "Age"],
            json!(["a", "IPv4", "80", "10.1.2.3", "<any>"]),
        )
    }),
    Check::new(AREA, "ingresses are a table", |cx| {
        prints(
            cx,
            "networking.k8s.io/v1",
            "ingresses",
            json!({
                "spec": {
                    "ingressClassName": "web", "tls": [{"hosts": ["h"]}],
                    "rules": [
                        {
                            "host": "h.example.com",
                            "http": {
                                "paths": [
                                    {
                                        "path": "/", "pathType": "Prefix",
                                        "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                    },
                                ],
                            },
                        },
                    ],
                },
            }),
            &["Name", "Class", "Hosts", "Address", "Ports", "Age"],
            json!(["a", "web", "h.example.com", "", "80, 443", "<any>"]),
        )
    }),
    Check::new(AREA, "network policies are a table", |cx| {
        prints(
            cx,
            "networking.k8s.io/v1",
            "networkpolicies",
            json!({"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
            &["Name", "Pod-Selector", "Age"],
            json!(["a", "a=b", "<any>"]),
        )
    }),
    Check::new(AREA, "autoscalers are a table", |cx| {
        prints(
            cx,
            "autoscaling/v2",
            "horizontalpodautoscalers",
            json!({
                "spec": {
                    "maxReplicas": 3,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                },
            }),
            &[
                "Name",
                "Reference",
                "Targets",
                "MinPods",
                "MaxPods",
                "Replicas",
                "Age",
            ],
            json!(["a", "Deployment/d", "cpu: <unknown>/80%", "1", 3, 0, "<any>"]),
        )
    }),
    Check::new(AREA, "disruption budgets are a table", |cx| {
        prints(
            cx,
            "policy/v1",
            "poddisruptionbudgets",
            json!({"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "a"}}}}),
            &[
                "Name",
                "Min Available",
                "Max Unavailable",
                "Allowed Disruptions",
                "Age",
            ],
            json!(["a", "50%", "N/A", 0, "<any>"]),
        )
    }),
    Check::new(AREA, "quotas are a table", |cx| {
        prints(
            cx,
            "v1",
            "resourcequotas",
            json!({"spec": {"hard": {"count/widgets.example.com": "3"}}}),
            &["Name", "Request", "Limit", "Age"],
            json!(["a", "{*}", "", "<any>"]),
        )
    }),
    Check::new(AREA, "limit ranges are a table", |cx| {
        prints(
            cx,
            "v1",
            "limitranges",
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}}),
            &["Name", "Created At"],
            json!(["a", "<time>"]),
        )
    }),
    Check::new(AREA, "roles are a table", |cx| {
        prints(
            cx,
            "rbac.authorization.k8s.io/v1",
            "roles",
            json!({"rules": []}),
            &["Name", "Created At"],
            json!(["a", "<time>"]),
        )
    }),
    Check::new(AREA, "role bindings are a table", |cx| {
        prints(
            cx,
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            json!({
                "roleRef": {"kind": "ClusterRole", "name": "view"},
                "subjects": [
                    {"kind": "User", "name": "u"},
                    {"kind": "Group", "name": "g"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                ],
            }),
            &["Name", "Role", "Age", "Users*", "Groups*", "ServiceAccounts*"],
            json!(["a", "ClusterRole/view", "<any>", "u", "g", "n/s"]),
        )
    }),
    Check::new(AREA, "leases are a table", |cx| {
        prints(
            cx,
            "coordination.k8s.io/v1",
            "leases",
            json!({"spec": {"holderIdentity": "me"}}),
            &["Name", "Holder", "Age"],
            json!(["a", "me", "<any>"]),
        )
    }),
    Check::new(AREA, "pod templates are a table", |cx| {
        prints(
            cx,
            "v1",
            "podtemplates",
            json!({
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            }),
            &["Name", "Containers", "Images", "Pod Labels"],
            json!(["a", "c", "i", "app=a"]),
        )
    }),
    Check::new(AREA, "replication controllers are a table", |cx| {
        prints(
            cx,
            "v1",
            "replicationcontrollers",
            json!({
                "spec": {
                    "replicas": 0, "selector": {"app": "a"},
                    "template": {
                        "metadata": {"labels": {"app": "a"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            }),
            &[
                "Name",
                "Desired",
                "Current",
                "Ready",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            json!(["a", 0, 0, 0, "<any>", "c", "i", "app=a"]),
        )
    }),
    Check::new(AREA, "controller revisions are a table", |cx| {
        prints(
            cx,
            "apps/v1",
            "controllerrevisions",
            json!({"revision": 4, "data": {}}),
            &["Name", "Controller", "Revision", "Age"],
            json!(["a", "<none>", 4, "<any>"]),
        )
    }),
    Check::new(AREA, "events are a table", |cx| {
        prints(
            cx,
            "v1",
            "events",
            json!({
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": cx.namespace()?},
                "reason": "Because",
                "message": "it happened", "type": "Normal", "count": 3,
                "source": {"component": "me", "host": "here"},
                "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
            }),
            &[
                "Last Seen",
                "Type",
                "Reason",
                "Object",
                "Subobject*",
                "Source*",
                "Message",
                "First Seen*",
                "Count*",
                "Name*",
            ],
            json!([
                "<any>",
                "Normal",
                "Because",
                "pod/p",
                "",
                "me, here",
                "it happened",
                "<any>",
                3,
                "a"
            ]),
        )
    }),
];
