//! Daemons over small clusters.

use serde_json::{Value, json};

use super::*;

fn set(spec: Value) -> DaemonSet {
    let mut object = json!({
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

fn node(name: &str, taint: Option<(&str, &str)>) -> Arc<Node> {
    let taints: Vec<Value> = taint
        .map(|(key, effect)| json!({"key": key, "effect": effect}))
        .into_iter()
        .collect();
    let object = json!({"metadata": {"name": name}, "spec": {"taints": taints}});
    Arc::new(serde_json::from_value(object).unwrap())
}

fn nodes(count: usize) -> Vec<Arc<Node>> {
    (1..=count)
        .map(|number| node(&format!("n{number}"), None))
        .collect()
}

fn daemon(node: &str, hash: &str, is_ready: bool) -> Arc<Pod> {
    let ready = if is_ready { "True" } else { "False" };
    let object = json!({
        "metadata": {"name": format!("d-{node}-{hash}"), "namespace": "n", "labels": {DAEMON_HASH: hash}},
        "spec": {"nodeName": node, "containers": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn look(set: &DaemonSet, pods: &[Arc<Pod>], nodes: &[Arc<Node>]) -> Plan {
    let held_back = HashMap::new();
    let observed = Observed {
        set,
        pods,
        nodes,
        revisions: &[],
        held_back: &held_back,
    };
    plan(&observed, "2026-01-01T01:00:00Z".parse().unwrap())
}

fn present_hash(set: &DaemonSet) -> String {
    hash(look(set, &[], &[]).revision.revision())
}

fn told(plan: &Plan) -> Vec<String> {
    let tell = |action: &Action| match action {
        Action::Create(pod) => format!("create on {}", target(pod).unwrap()),
        Action::Delete(pod) => format!("delete {}", pod.metadata.name.as_deref().unwrap()),
        Action::Replace(pod) => format!("replace {}", pod.metadata.name.as_deref().unwrap()),
    };
    plan.actions.iter().map(tell).collect()
}

#[test]
fn every_node_gets_one_but_those_whose_taints_forbid_it() {
    let nodes = [
        node("a", None),
        node("b", Some(("mine", "NoSchedule"))),
        node("c", Some(("node.kubernetes.io/unschedulable", "NoSchedule"))),
        node("d", Some(("node.kubernetes.io/not-ready", "NoExecute"))),
    ];
    let plan = look(&set(json!({})), &[], &nodes);
    assert_eq!(told(&plan), ["create on a", "create on c", "create on d"]);
    assert_eq!(plan.status.desired_number_scheduled, 3);
}

#[test]
fn a_daemon_stays_where_it_would_not_be_started_but_not_where_it_is_thrown_out() {
    let pods = [daemon("a", "h", true), daemon("b", "h", true)];
    let nodes = [
        node("a", Some(("mine", "NoSchedule"))),
        node("b", Some(("mine", "NoExecute"))),
    ];
    let plan = look(
        &set(json!({"updateStrategy": {"type": "OnDelete"}})),
        &pods,
        &nodes,
    );
    assert_eq!(told(&plan), ["delete d-b-h"]);
    assert_eq!(plan.status.number_misscheduled, 2);
}

#[test]
fn a_rollout_takes_down_no_more_than_allowed() {
    let set = set(json!({}));
    let new = present_hash(&set);
    let pods = ["n1", "n2", "n3"].map(|node| daemon(node, "old", true));
    assert_eq!(told(&look(&set, &pods, &nodes(3))), ["delete d-n1-old"]);
    let waiting = [daemon("n1", &new, false), pods[1].clone(), pods[2].clone()];
    assert!(told(&look(&set, &waiting, &nodes(3))).is_empty());
    let going_on = [daemon("n1", &new, true), pods[1].clone(), pods[2].clone()];
    assert_eq!(told(&look(&set, &going_on, &nodes(3))), ["delete d-n2-old"]);
}

#[test]
fn daemons_that_do_not_work_are_replaced_whatever_the_limit() {
    let pods = ["n1", "n2", "n3"].map(|node| daemon(node, "old", false));
    assert_eq!(look(&set(json!({})), &pods, &nodes(3)).actions.len(), 3);
    let on_delete = set(json!({"updateStrategy": {"type": "OnDelete"}}));
    assert!(look(&on_delete, &pods, &nodes(3)).actions.is_empty());
}

#[test]
fn in_a_surge_the_new_come_before_the_old_go() {
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    let set = set(json!({"updateStrategy": strategy}));
    let new = present_hash(&set);
    let old = ["n1", "n2"].map(|node| daemon(node, "old", true));
    assert_eq!(told(&look(&set, &old, &nodes(2))), ["create on n1"]);
    let beside = [old[0].clone(), old[1].clone(), daemon("n1", &new, false)];
    assert!(told(&look(&set, &beside, &nodes(2))).is_empty());
    let ready = [old[0].clone(), old[1].clone(), daemon("n1", &new, true)];
    assert_eq!(told(&look(&set, &ready, &nodes(2))), ["delete d-n1-old"]);
}

#[test]
fn a_failed_daemon_is_replaced_unless_it_fails_too_often() {
    let set = set(json!({}));
    let mut failed = (*daemon("n1", "old", false)).clone();
    failed.status.as_mut().unwrap().phase = Some("Failed".into());
    let pods = [Arc::new(failed)];
    assert_eq!(told(&look(&set, &pods, &nodes(1))), ["replace d-n1-old"]);
    let held_back = HashMap::from([("n1".to_owned(), Duration::from_secs(4))]);
    let observed = Observed {
        set: &set,
        pods: &pods,
        nodes: &nodes(1),
        revisions: &[],
        held_back: &held_back,
    };
    let put_in_order = Fleet::new(&observed, "h".into(), Timestamp::UNIX_EPOCH).put_in_order();
    assert!(put_in_order.is_empty());
    assert_eq!(
        next_look(&observed, Timestamp::UNIX_EPOCH),
        Next::After(Duration::from_secs(4))
    );
}
