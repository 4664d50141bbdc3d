use std::sync::Arc;

use k8s_openapi::{api::core::v1::Node as Object, jiff::Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::{Decision, GROUP, Unit, decide, place};

fn node(name: &str, gpus: u32, spec: Value) -> Object {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "4", "pods": "5", "nvidia.com/gpu": gpus.to_string()}},
    }))
    .unwrap()
}

fn cluster<const N: usize>(nodes: [Object; N]) -> Cluster {
    let mut cluster = Cluster::default();
    for node in nodes {
        cluster.set_node(&node);
    }
    cluster
}

fn pod(name: &str, gpus: u32, spec: Value) -> Demand {
    let mut object = json!({
        "metadata": {"namespace": "n", "name": name, "uid": name},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": gpus.to_string()}}}]},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    Demand::of(Arc::new(serde_json::from_value(object).unwrap()))
}

fn member(name: &str, gpus: u32) -> Arc<Demand> {
    let mut object = (*pod(name, gpus, json!({})).pod).clone();
    object.metadata.annotations = Some([(GROUP.to_owned(), "g".to_owned())].into());
    Arc::new(Demand::of(Arc::new(object)))
}

fn told(cluster: &Cluster, demand: &Demand) -> String {
    explain(cluster, demand, &place(cluster, demand).unwrap_err())
}

fn hold(cluster: &mut Cluster, name: &str, gpus: u32, place: &str) {
    cluster.put(Arc::new(pod(name, gpus, json!({}))), place);
}

#[test]
fn a_node_is_named_that_could_have_taken_the_pod() {
    let mut cluster = cluster([
        node("a", 8, json!({})),
        node("b", 8, json!({})),
        node("vm", 0, json!({"unschedulable": true})),
        node("zero", 0, json!({})),
    ]);
    hold(&mut cluster, "one", 8, "a");
    hold(&mut cluster, "other", 8, "b");
    let message = told(&cluster, &pod("p", 8, json!({})));
    assert!(
        message.ends_with(" The pod needs 8 nvidia.com/gpu; node a has 0 free; n/one holds 8."),
        "{message}"
    );
}

#[test]
fn the_node_with_most_to_spare_is_named_unless_it_is_closed() {
    let mut cluster = cluster([
        node("a", 8, json!({})),
        node("b", 8, json!({})),
        node("c", 8, json!({"unschedulable": true})),
    ]);
    hold(&mut cluster, "large", 7, "a");
    hold(&mut cluster, "small", 3, "b");
    let message = told(&cluster, &pod("p", 6, json!({})));
    assert!(
        message.ends_with("node b has 5 free; n/small holds 3."),
        "{message}"
    );
}

#[test]
fn what_a_closed_node_has_is_not_counted_as_to_be_had() {
    let closed = cluster([
        node("a", 4, json!({})),
        node("b", 8, json!({"unschedulable": true})),
    ]);
    let message = told(&closed, &pod("p", 6, json!({})));
    assert!(
        message.ends_with("The pod needs 6 nvidia.com/gpu; no node that it may go to has more than 4."),
        "{message}"
    );
    let open = cluster([node("a", 4, json!({}))]);
    let message = told(&open, &pod("p", 6, json!({})));
    assert!(message.ends_with("; no node has more than 4."), "{message}");
}

#[test]
fn who_has_the_ports_is_named() {
    let listening = |ports: &[u16]| {
        let ports: Vec<Value> = ports
            .iter()
            .map(|port| json!({"containerPort": port, "hostPort": port}))
            .collect();
        json!({"containers": [{"name": "c", "ports": ports}]})
    };
    let mut cluster = cluster([node("a", 0, json!({})), node("b", 0, json!({}))]);
    cluster.put(Arc::new(pod("web", 0, listening(&[80, 443]))), "a");
    cluster.put(Arc::new(pod("proxy", 0, listening(&[443]))), "b");
    let message = told(&cluster, &pod("p", 0, listening(&[80, 443])));
    assert!(
        message.starts_with(
            "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
        ),
        "{message}"
    );
    assert!(
        message.ends_with(" On node b n/proxy holds port 443 (TCP)."),
        "{message}"
    );
}

#[test]
fn a_node_that_is_full_of_pods_says_how_many_it_has() {
    let mut cluster = cluster([node("a", 8, json!({}))]);
    for name in ["a", "b", "c", "d", "e"] {
        hold(&mut cluster, name, 0, "a");
    }
    let message = told(&cluster, &pod("p", 0, json!({})));
    assert!(
        message.ends_with(" Node a has 5 pods and takes no more than 5."),
        "{message}"
    );
}

#[test]
fn more_holders_than_a_few_are_counted() {
    let mut cluster = cluster([node("a", 8, json!({}))]);
    for (name, gpus) in [("a", 1), ("b", 3), ("c", 1), ("d", 2)] {
        hold(&mut cluster, name, gpus, "a");
    }
    let message = told(&cluster, &pod("p", 2, json!({})));
    assert!(
        message.ends_with("node a has 1 free; n/b holds 3, n/d holds 2, n/a holds 1, 1 more hold the rest."),
        "{message}"
    );
}

fn messages(decisions: Vec<Decision>) -> Vec<String> {
    let message = |decision| match decision {
        Decision::Wait { message, .. } => Some(message),
        Decision::Bind { .. } => None,
    };
    decisions.into_iter().filter_map(message).collect()
}

#[test]
fn members_of_its_own_group_hold_nothing_against_a_pod() {
    let mut cluster = cluster([node("a", 8, json!({}))]);
    hold(&mut cluster, "old", 2, "a");
    let group = Unit {
        namespace: "n".to_owned(),
        name: "g".to_owned(),
        members: vec![member("x", 4), member("y", 4)],
        placed: 0,
        size: 2,
        obstacle: None,
    };
    let messages = messages(decide(&mut cluster, vec![group], Timestamp::UNIX_EPOCH));
    assert_eq!(messages.len(), 2);
    for message in messages {
        assert!(
            message.ends_with(
                " The pod needs 4 nvidia.com/gpu; node a has 2 free; n/old holds 2, \
                 1 pod of its own group takes 4. \
                 Pod group g is placed all at once: 1 of the 2 pods it needs fit."
            ),
            "{message}"
        );
    }
}

#[test]
fn those_behind_are_told_what_the_one_ahead_needs_and_who_holds_it() {
    let mut cluster = cluster([
        node("a", 8, json!({})),
        node("b", 8, json!({"unschedulable": true})),
    ]);
    hold(&mut cluster, "old", 4, "a");
    let ahead = Unit {
        namespace: "n".to_owned(),
        name: "g".to_owned(),
        members: vec![member("x", 4), member("y", 4)],
        placed: 0,
        size: 2,
        obstacle: None,
    };
    assert_eq!(
        behind(&cluster, &ahead, "nvidia.com/gpu"),
        "waits behind n/g, which needs 8 nvidia.com/gpu for 2 pods and has waited longer; \
         4 of 8 are free, n/old holds 4"
    );
}
