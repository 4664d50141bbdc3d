//! Whole decisions over small clusters.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn node(name: &str, gpus: u32, extra: Value) -> k8s_openapi::api::core::v1::Node {
    let mut object = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": &name[..1]}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": gpus.to_string()}},
    });
    object["spec"] = extra;
    serde_json::from_value(object).unwrap()
}

fn cluster<const N: usize>(nodes: [k8s_openapi::api::core::v1::Node; N]) -> Cluster {
    let mut cluster = Cluster::default();
    for node in nodes {
        cluster.set_node(&node);
    }
    cluster
}

fn pod(name: &str, requests: Value, spec: Value) -> Demand {
    let mut object = json!({
        "metadata": {"namespace": "n", "name": name, "uid": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    Demand::of(Arc::new(serde_json::from_value(object).unwrap()))
}

fn put(cluster: &mut Cluster, demand: Demand, place: &str) {
    cluster.put(Arc::new(demand), place);
}

#[test]
fn a_pod_goes_where_there_is_most_room() {
    let mut cluster = cluster([node("a1", 0, json!({})), node("b1", 0, json!({}))]);
    put(&mut cluster, pod("x", json!({"cpu": "2"}), json!({})), "a1");
    assert_eq!(
        place(&cluster, &pod("p", json!({"cpu": "1"}), json!({}))).unwrap(),
        "b1"
    );
}

#[test]
fn devices_are_packed_so_that_whole_nodes_stay_free() {
    let mut cluster = cluster([node("a1", 8, json!({})), node("b1", 8, json!({}))]);
    let gpu = |name: &str, count: &str| pod(name, json!({"nvidia.com/gpu": count}), json!({}));
    put(&mut cluster, gpu("x", "2"), "b1");
    assert_eq!(place(&cluster, &gpu("p", "4")).unwrap(), "b1");
    assert_eq!(place(&cluster, &gpu("q", "8")).unwrap(), "a1");
}

#[test]
fn a_pod_that_waits_is_told_the_numbers() {
    let taint = json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]});
    let mut cluster = cluster([node("a1", 8, json!({})), node("b1", 8, taint)]);
    put(
        &mut cluster,
        pod("train", json!({"nvidia.com/gpu": "6"}), json!({})),
        "a1",
    );
    let demand = pod("p", json!({"nvidia.com/gpu": "4"}), json!({}));
    let failure = place(&cluster, &demand).unwrap_err();
    assert_eq!(
        explain(&cluster, &demand, &failure),
        "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint {k: v}. \
         The pod needs 4 nvidia.com/gpu; node b1 has 8 free."
    );
}

#[test]
fn who_holds_what_is_missing_is_named() {
    let mut cluster = cluster([node("a1", 8, json!({}))]);
    put(
        &mut cluster,
        pod("train", json!({"nvidia.com/gpu": "6"}), json!({})),
        "a1",
    );
    let demand = pod("p", json!({"nvidia.com/gpu": "4"}), json!({}));
    let failure = place(&cluster, &demand).unwrap_err();
    let message = explain(&cluster, &demand, &failure);
    assert!(
        message.ends_with("The pod needs 4 nvidia.com/gpu; node a1 has 2 free; n/train holds 6."),
        "{message}"
    );
    let huge = pod("p", json!({"nvidia.com/gpu": "16"}), json!({}));
    let failure = place(&cluster, &huge).unwrap_err();
    assert!(explain(&cluster, &huge, &failure).ends_with("no node has more than 8."));
}

#[test]
fn selectors_affinity_and_cordons_keep_pods_away() {
    let cluster = cluster([
        node("a1", 0, json!({})),
        node("b1", 0, json!({"unschedulable": true})),
    ]);
    let to = |zone: &str| pod("p", json!({}), json!({"nodeSelector": {"zone": zone}}));
    assert_eq!(place(&cluster, &to("a")).unwrap(), "a1");
    let failure = place(&cluster, &to("b")).unwrap_err();
    let reasons: Vec<_> = failure.reasons.keys().map(String::as_str).collect();
    assert_eq!(
        reasons,
        [
            "node(s) didn't match Pod's node affinity/selector",
            "node(s) were unschedulable"
        ]
    );
    assert!(failure.hopeful.is_empty());
}

#[test]
fn pods_that_avoid_each_other_go_to_different_nodes() {
    let term =
        json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}});
    let far =
        json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let mut cluster = cluster([node("a1", 0, json!({})), node("b1", 0, json!({}))]);
    let first = place(&cluster, &pod("p", json!({}), far.clone())).unwrap();
    put(&mut cluster, pod("p", json!({}), far.clone()), &first);
    let second = place(&cluster, &pod("q", json!({}), far.clone())).unwrap();
    assert_ne!(first, second);
    put(&mut cluster, pod("q", json!({}), far.clone()), &second);
    assert!(place(&cluster, &pod("r", json!({}), far)).is_err());
    // Nor may others of the kind join them, although those have no wishes of their own.
    let failure = place(&cluster, &pod("s", json!({}), json!({}))).unwrap_err();
    assert_eq!(
        failure.reasons["node(s) didn't satisfy existing pods anti-affinity rules"],
        2
    );
}

#[test]
fn the_first_of_a_kind_that_wants_company_goes_anywhere_and_the_others_follow() {
    let term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}});
    let near =
        json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    let mut cluster = cluster([
        node("a1", 0, json!({})),
        node("b1", 0, json!({})),
        node("b2", 0, json!({})),
    ]);
    assert!(place(&cluster, &pod("p", json!({}), near.clone())).is_ok());
    put(&mut cluster, pod("p", json!({"cpu": "3"}), near.clone()), "b1");
    assert_eq!(
        place(&cluster, &pod("q", json!({"cpu": "2"}), near)).unwrap(),
        "b2"
    );
}

#[test]
fn a_spread_is_kept_even() {
    let rule = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}}});
    let spread = json!({"topologySpreadConstraints": [rule]});
    let mut cluster = cluster([
        node("a1", 0, json!({})),
        node("b1", 0, json!({"unschedulable": true})),
    ]);
    put(&mut cluster, pod("p", json!({}), spread.clone()), "a1");
    let failure = place(&cluster, &pod("q", json!({}), spread)).unwrap_err();
    assert_eq!(
        failure.reasons["node(s) didn't match pod topology spread constraints"],
        1
    );
}

#[test]
fn host_ports_are_taken_once() {
    let port = json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]});
    let mut cluster = cluster([node("a1", 0, json!({}))]);
    put(&mut cluster, pod("p", json!({}), port.clone()), "a1");
    assert!(place(&cluster, &pod("q", json!({}), port)).is_err());
}

#[test]
fn the_least_important_make_room_and_no_more_than_needed() {
    let mut cluster = cluster([node("a1", 0, json!({})), node("b1", 0, json!({}))]);
    let with =
        |name: &str, cpu: &str, priority: i32| pod(name, json!({"cpu": cpu}), json!({"priority": priority}));
    put(&mut cluster, with("low", "2", 1), "a1");
    put(&mut cluster, with("lower", "2", 0), "a1");
    put(&mut cluster, with("high", "4", 100), "b1");
    let demand = with("p", "2", 50);
    let failure = place(&cluster, &demand).unwrap_err();
    let preemption = preempt(&cluster, &demand, &failure).unwrap();
    let names: Vec<_> = preemption.victims.iter().map(|victim| victim.name()).collect();
    assert_eq!((preemption.node.as_str(), names), ("a1", vec!["lower"]));
    let humble = with("q", "2", 0);
    let failure = place(&cluster, &humble).unwrap_err();
    assert!(preempt(&cluster, &humble, &failure).is_none());
}

#[test]
fn a_pod_counts_on_a_node_that_is_not_known_yet() {
    let mut cluster = Cluster::default();
    put(&mut cluster, pod("p", json!({"cpu": "3"}), json!({})), "a1");
    cluster.set_node(&node("a1", 0, json!({})));
    assert_eq!(cluster.node("a1").unwrap().free("cpu"), 1000);
    cluster.remove_pod("p");
    assert_eq!(cluster.node("a1").unwrap().free("cpu"), 4000);
}
