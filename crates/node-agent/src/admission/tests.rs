use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use super::*;

fn node() -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "here", "labels": {"disk": "fast"}},
        "spec": {"taints": [{"key": "closed", "effect": "NoExecute"}]},
        "status": {"allocatable": {
            "cpu": "2", "memory": "1Gi", "ephemeral-storage": "10Gi", "pods": "3", "nvidia.com/gpu": "1",
        }},
    }))
    .unwrap()
}

/// A pod that tolerates the node's taint.
fn pod(mut spec: Value) -> Pod {
    if spec["tolerations"].is_null() {
        spec["tolerations"] = json!([{"operator": "Exists"}]);
    }
    if spec["containers"].is_null() {
        spec["containers"] = json!([]);
    }
    serde_json::from_value(json!({ "spec": spec })).unwrap()
}

fn asking(resource: &str, amount: &str) -> Pod {
    pod(json!({"containers": [{"name": "c", "resources": {"requests": {resource: amount}}}]}))
}

fn on_port(number: u16) -> Pod {
    pod(json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": number}]}]}))
}

#[track_caller]
fn check(pod: &Pod, others: &[&Pod], expected: Option<(&str, &str)>) {
    let expected = expected.map(|(reason, message)| Rejection::new(reason, message));
    let ground = Ground {
        node: &node(),
        others,
        tier: Tier::Root,
        host_images: false,
    };
    assert_eq!(rejection(pod, ground), expected);
}

#[test]
fn what_fits_is_taken() {
    check(&asking("cpu", "1"), &[&asking("cpu", "1")], None);
    check(&on_port(8080), &[&on_port(8081)], None);
    check(&pod(json!({"nodeSelector": {"disk": "fast"}})), &[], None);
}

#[test]
fn a_resource_that_is_used_up_is_named_with_its_amounts() {
    let message = |text: &str| format!("Node didn't have enough resource: {text}");
    for (resource, held, wanted, told) in [
        (
            "cpu",
            "1500m",
            "1",
            "cpu, requested: 1000, used: 1500, capacity: 2000",
        ),
        (
            "memory",
            "512Mi",
            "1Gi",
            "memory, requested: 1073741824, used: 536870912, capacity: 1073741824",
        ),
        (
            "nvidia.com/gpu",
            "1",
            "1",
            "nvidia.com/gpu, requested: 1, used: 1, capacity: 1",
        ),
    ] {
        let expected = (format!("OutOf{resource}"), message(told));
        check(
            &asking(resource, wanted),
            &[&asking(resource, held)],
            Some((expected.0.as_str(), expected.1.as_str())),
        );
    }
}

#[test]
fn a_node_has_places_for_so_many_pods() {
    let other = pod(json!({}));
    check(
        &pod(json!({})),
        &[&other, &other, &other],
        Some((
            "OutOfpods",
            "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
        )),
    );
}

#[test]
fn resources_that_no_node_has_are_not_the_nodes_to_refuse() {
    check(&asking("example.com/token", "5"), &[], None);
}

#[test]
fn a_port_of_the_node_is_given_once() {
    check(
        &on_port(8080),
        &[&on_port(8080)],
        Some((
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        )),
    );
}

#[test]
fn a_pod_that_wants_another_node_is_not_taken() {
    check(
        &pod(json!({"nodeSelector": {"disk": "slow"}})),
        &[],
        Some((
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        )),
    );
    check(
        &pod(json!({"tolerations": []})),
        &[],
        Some((
            "TaintToleration",
            "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
        )),
    );
    check(
        &pod(json!({"os": {"name": "windows"}})),
        &[],
        Some((
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        )),
    );
}

#[test]
fn a_pod_changes_only_settings_of_its_own() {
    let setting = |name: &str, host: bool| {
        pod(json!({
            "hostNetwork": host,
            "securityContext": {"sysctls": [{"name": name, "value": "1"}]},
        }))
    };
    check(&setting("net/ipv4/tcp_syncookies", false), &[], None);
    check(
        &setting("kernel.msgmax", false),
        &[],
        Some((
            "SysctlForbidden",
            "forbidden sysctl: \"kernel.msgmax\" not allowlisted",
        )),
    );
    check(
        &setting("net.ipv4.tcp_syncookies", true),
        &[],
        Some((
            "SysctlForbidden",
            "forbidden sysctl: \"net.ipv4.tcp_syncookies\" not allowed with host Net enabled",
        )),
    );
}

#[test]
fn plain_processes_are_refused_what_they_would_run_without() {
    let plain = |mut container: Value, volumes: Value| {
        container["name"] = json!("c");
        if container["image"].is_null() {
            container["image"] = json!("host");
        }
        let ground = Ground {
            node: &node(),
            others: &[],
            tier: Tier::Process,
            host_images: false,
        };
        let pod = pod(json!({"containers": [container], "volumes": volumes}));
        rejection(&pod, ground).map(|rejection| rejection.message)
    };
    let refused = |what: &str| {
        Some(format!(
            "container \"c\" has {what}, which plain processes cannot have: this machine allows no namespaces"
        ))
    };
    assert_eq!(plain(json!({}), json!([])), None);
    assert_eq!(
        plain(json!({"image": "busybox"}), json!([])),
        refused("the image \"busybox\"")
    );
    let read_only = json!({"securityContext": {"readOnlyRootFilesystem": true}});
    assert_eq!(plain(read_only, json!([])), refused("a read-only root"));
    let port = |host: u16| json!({"image": "host", "ports": [{"containerPort": 80, "hostPort": host}]});
    assert_eq!(
        plain(port(8080), json!([])),
        refused("host port 8080 for its port 80")
    );
    assert_eq!(plain(port(80), json!([])), None);
    let mounts = json!({"volumeMounts": [{"name": "v", "mountPath": "/data"}]});
    assert_eq!(
        plain(mounts.clone(), json!([{"name": "v", "emptyDir": {}}])),
        refused("a volume at /data")
    );
    assert_eq!(
        plain(mounts, json!([{"name": "v", "hostPath": {"path": "/data"}}])),
        None
    );
}
