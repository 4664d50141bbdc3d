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
         preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, \
         1 Preemption is not helpful for scheduling. \
         The pod needs 4 nvidia.com/gpu; node a1 has 2 free; n/train holds 6."
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
        failure.reasons["node(s) didn't satisfy existing pods anti-affinity rules"].len(),
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
        failure.reasons["node(s) didn't match pod topology spread constraints"].len(),
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
    let preemption = preempt(&mut cluster, &demand, &failure).unwrap();
    let names: Vec<_> = preemption.victims.iter().map(|victim| victim.name()).collect();
    assert_eq!((preemption.node.as_str(), names), ("a1", vec!["lower"]));
    let humble = with("q", "2", 0);
    let failure = place(&cluster, &humble).unwrap_err();
    assert!(preempt(&mut cluster, &humble, &failure).is_none());
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

fn at(second: i64) -> k8s_openapi::jiff::Timestamp {
    k8s_openapi::jiff::Timestamp::from_second(second).unwrap()
}

fn gpu_pod(name: &str, gpus: &str, created: i64) -> Arc<Demand> {
    let demand = pod(name, json!({"nvidia.com/gpu": gpus}), json!({}));
    let mut object = (*demand.pod).clone();
    object.metadata.creation_timestamp = serde_json::from_value(json!(at(created))).unwrap();
    Arc::new(Demand::of(Arc::new(object)))
}

fn group(name: &str, members: Vec<Arc<Demand>>, size: usize) -> Unit {
    Unit {
        namespace: "n".into(),
        name: name.into(),
        members,
        placed: 0,
        size,
        obstacle: None,
    }
}

/// Each decision in short: `pod>node`, or `pod:` and the message.
fn outline(decisions: &[Decision]) -> Vec<String> {
    let show = |decision: &Decision| match decision {
        Decision::Bind { demand, node, .. } => format!("{}>{node}", demand.name()),
        Decision::Wait { demand, message, .. } => format!("{}: {message}", demand.name()),
    };
    decisions.iter().map(show).collect()
}

#[test]
fn a_group_is_placed_as_a_whole_or_not_at_all() {
    let mut cluster = cluster([node("a1", 8, json!({}))]);
    let trio = |gpus| ["x", "y", "z"].map(|name| gpu_pod(name, gpus, 0)).to_vec();
    let refused = decide(&mut cluster, vec![group("g", trio("4"), 3)], at(1));
    assert_eq!(refused.len(), 3);
    assert!(
        outline(&refused)[0].ends_with("Pod group g is placed all at once: 2 of the 3 pods it needs fit.")
    );
    assert_eq!(cluster.node("a1").unwrap().free("nvidia.com/gpu"), 8);
    let placed = decide(&mut cluster, vec![group("g", trio("2"), 3)], at(1));
    assert_eq!(outline(&placed), ["x>a1", "y>a1", "z>a1"]);
}

#[test]
fn a_group_waits_for_its_members_to_exist() {
    let mut cluster = cluster([node("a1", 8, json!({}))]);
    let decisions = decide(
        &mut cluster,
        vec![group("g", vec![gpu_pod("x", "1", 0)], 3)],
        at(1),
    );
    let wanted = "x: pod group g needs 3 pods and has 1; they are placed together when the others exist";
    assert_eq!(outline(&decisions), [wanted]);
}

#[test]
fn a_group_of_unknown_size_waits_and_nobody_waits_behind_it() {
    let mut cluster = cluster([node("a1", 8, json!({}))]);
    let unknown = Unit {
        obstacle: Some("PodGroup n/g not found".into()),
        ..group("g", vec![gpu_pod("x", "1", 0)], 1)
    };
    let units = vec![unknown, Unit::pod(gpu_pod("small", "1", 5))];
    let decisions = decide(&mut cluster, units, at(60));
    assert_eq!(outline(&decisions), ["x: PodGroup n/g not found", "small>a1"]);
}

#[test]
fn small_ones_pass_a_group_at_first_and_wait_behind_it_in_the_end() {
    let mut cluster = cluster([node("a1", 8, json!({}))]);
    put(
        &mut cluster,
        pod("old", json!({"nvidia.com/gpu": "4"}), json!({})),
        "a1",
    );
    let units = || {
        let big = vec![gpu_pod("x", "4", 0), gpu_pod("y", "4", 0)];
        vec![Unit::pod(gpu_pod("small", "1", 5)), group("g", big, 2)]
    };
    let early = decide(&mut cluster.clone(), units(), at(10));
    assert!(outline(&early).contains(&"small>a1".to_owned()));
    let late = decide(&mut cluster, units(), at(60));
    assert!(
        outline(&late)[2].starts_with("small: waits behind n/g, which needs 8 nvidia.com/gpu for 2 pods"),
        "{:?}",
        outline(&late)
    );
}

#[test]
fn nobody_waits_behind_a_group_that_the_whole_cluster_is_too_small_for() {
    let mut cluster = cluster([node("a1", 8, json!({})), node("b1", 8, json!({}))]);
    let trio = ["x", "y", "z"].map(|name| gpu_pod(name, "8", 0)).to_vec();
    let units = vec![group("g", trio, 3), Unit::pod(gpu_pod("small", "1", 5))];
    let decisions = decide(&mut cluster, units, at(60));
    assert!(
        outline(&decisions).iter().any(|told| told.starts_with("small>")),
        "{:?}",
        outline(&decisions)
    );
}

/// A pod that asks for four devices.
fn of_priority(name: &str, priority: i32) -> Demand {
    let spec = json!({"priority": priority});
    pod(name, json!({"nvidia.com/gpu": "4"}), spec)
}

/// Which node each member is promised, and who leaves for it.
fn promises(decisions: &[Decision]) -> Vec<String> {
    let show = |decision: &Decision| match decision {
        Decision::Wait {
            demand,
            preemption: Some(preemption),
            ..
        } => {
            let victims: Vec<_> = preemption.victims.iter().map(|pod| pod.name()).collect();
            Some(format!(
                "{}>{} {}",
                demand.name(),
                preemption.node,
                victims.join(",")
            ))
        }
        _ => None,
    };
    decisions.iter().filter_map(show).collect()
}

#[test]
fn the_least_important_make_room_for_a_whole_group() {
    let mut cluster = cluster(["a1", "b1", "c1"].map(|name| node(name, 4, json!({}))));
    put(&mut cluster, of_priority("low", 0), "a1");
    put(&mut cluster, of_priority("middle", 5), "b1");
    put(&mut cluster, of_priority("lower", -1), "c1");
    let duo = ["x", "y"].map(|name| Arc::new(of_priority(name, 10))).to_vec();
    let decisions = decide(&mut cluster, vec![group("g", duo, 2)], at(1));
    assert_eq!(promises(&decisions), ["x>c1 lower", "y>a1 low"]);
    let told = &outline(&decisions)[0];
    assert!(!told.contains("preemption:"), "{told}");
    assert_eq!(cluster.placed().count(), 3, "the cluster is as it was");
}

#[test]
fn nobody_leaves_for_a_group_that_would_not_fit_even_so_and_it_is_told_the_truth() {
    let mut cluster = cluster(["a1", "b1"].map(|name| node(name, 4, json!({}))));
    put(&mut cluster, of_priority("low", 0), "a1");
    put(&mut cluster, of_priority("high", 10), "b1");
    let duo = ["x", "y"].map(|name| Arc::new(of_priority(name, 10))).to_vec();
    let decisions = decide(&mut cluster, vec![group("g", duo, 2)], at(1));
    assert_eq!(promises(&decisions), [""; 0]);
    let told = &outline(&decisions)[0];
    let wanted = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn only_as_many_leave_as_the_group_needs_to_run() {
    let mut cluster = cluster(["a1", "b1", "c1"].map(|name| node(name, 4, json!({}))));
    for (name, place) in [("one", "a1"), ("two", "b1")] {
        put(&mut cluster, of_priority(name, 0), place);
    }
    let trio = ["x", "y", "z"]
        .map(|name| Arc::new(of_priority(name, 10)))
        .to_vec();
    let decisions = decide(&mut cluster, vec![group("g", trio, 2)], at(1));
    assert_eq!(promises(&decisions), ["x>c1 ", "y>a1 one"]);
}

#[test]
fn while_victims_leave_a_group_keeps_the_places_it_was_promised() {
    let mut cluster = cluster(["a1", "b1", "c1"].map(|name| node(name, 4, json!({}))));
    for (name, place) in [("one", "a1"), ("two", "b1"), ("three", "c1")] {
        let mut object = (*of_priority(name, 0).pod).clone();
        if name == "three" {
            object.metadata.deletion_timestamp = serde_json::from_value(json!(at(1))).unwrap();
        }
        put(&mut cluster, Demand::of(Arc::new(object)), place);
    }
    let promised = |name: &str, node: &str| {
        let mut object = (*of_priority(name, 10).pod).clone();
        object.status = serde_json::from_value(json!({"nominatedNodeName": node})).unwrap();
        Arc::new(Demand::of(Arc::new(object)))
    };
    let duo = vec![promised("x", "b1"), promised("y", "c1")];
    let decisions = decide(&mut cluster.clone(), vec![group("g", duo, 2)], at(2));
    assert_eq!(promises(&decisions), ["x>b1 ", "y>c1 "]);
    // Without a promise those are chosen who leave anyway.
    let solo = vec![Unit::pod(Arc::new(of_priority("x", 10)))];
    assert_eq!(promises(&decide(&mut cluster, solo, at(2))), ["x>c1 three"]);
}

#[test]
fn nobody_waits_behind_what_can_never_be() {
    let mut cluster = cluster([node("a1", 8, json!({}))]);
    let units = vec![
        Unit::pod(gpu_pod("huge", "99", 0)),
        Unit::pod(gpu_pod("small", "1", 5)),
    ];
    let decisions = decide(&mut cluster, units, at(60));
    assert!(outline(&decisions).contains(&"small>a1".to_owned()));
}

fn claimed(name: &str, claim: &str) -> Demand {
    let volume = json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]);
    pod(name, json!({}), json!({"volumes": volume}))
}

fn storage(cluster: &mut Cluster, kind: &str, object: Value) {
    let key = |namespace: &str| reconcile::Key::new(namespace, object["metadata"]["name"].as_str().unwrap());
    match kind {
        "claim" => {
            let claim = Arc::new(serde_json::from_value(object.clone()).unwrap());
            cluster.storage.claims.insert(key("n"), claim);
        }
        "volume" => {
            let volume = Arc::new(serde_json::from_value(object.clone()).unwrap());
            cluster.storage.volumes.insert(key(""), volume);
        }
        _ => {
            let class = Arc::new(serde_json::from_value(object.clone()).unwrap());
            cluster.storage.classes.insert(key(""), class);
        }
    }
}

fn volume(name: &str, node: &str) -> Value {
    let on = json!([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]);
    json!({"metadata": {"name": name}, "status": {"phase": "Available"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late",
        "nodeAffinity": {"required": {"nodeSelectorTerms": on}},
    }})
}

fn unbound(class: &str) -> Value {
    json!({"metadata": {"name": "c", "namespace": "n", "uid": "c"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": class,
        "resources": {"requests": {"storage": "1Gi"}},
    }})
}

#[test]
fn a_pod_goes_where_its_volume_is() {
    let mut cluster = cluster([node("a1", 0, json!({})), node("b1", 0, json!({}))]);
    storage(&mut cluster, "volume", volume("v", "b1"));
    let mut claim = unbound("late");
    claim["spec"]["volumeName"] = "v".into();
    claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    storage(&mut cluster, "claim", claim);
    assert_eq!(place(&cluster, &claimed("p", "c")).unwrap(), "b1");
}

#[test]
fn a_pod_without_its_claim_or_its_volume_is_told_so() {
    let mut cluster = cluster([node("a1", 0, json!({}))]);
    let told = |cluster: &Cluster| {
        let demand = claimed("p", "c");
        let failure = place(cluster, &demand).unwrap_err();
        explain(cluster, &demand, &failure)
    };
    assert!(told(&cluster).starts_with("0/1 nodes are available: persistentvolumeclaim \"c\" not found."));
    storage(&mut cluster, "claim", unbound("at-once"));
    assert_eq!(
        told(&cluster),
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are \
         available: 1 Preemption is not helpful for scheduling."
    );
}

#[test]
fn a_claim_that_waits_for_its_pod_gets_a_volume_with_the_node() {
    let mut cluster = cluster([node("a1", 0, json!({})), node("b1", 0, json!({}))]);
    let class = json!({"metadata": {"name": "late"}, "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer"});
    storage(&mut cluster, "class", class);
    storage(&mut cluster, "claim", unbound("late"));
    assert!(place(&cluster, &claimed("p", "c")).is_err());
    storage(&mut cluster, "volume", volume("v", "b1"));
    let units = vec![Unit::pod(Arc::new(claimed("p", "c")))];
    let decisions = decide(&mut cluster, units, k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
    let [
        Decision::Bind {
            node, arrangements, ..
        },
    ] = decisions.as_slice()
    else {
        panic!("{decisions:?}");
    };
    assert_eq!(node, "b1");
    assert!(matches!(arrangements.as_slice(), [Arrangement::Take(_, _)]));
}

#[test]
fn pods_that_a_budget_protects_are_the_last_to_leave() {
    let mut cluster = cluster([node("a1", 0, json!({})), node("b1", 0, json!({}))]);
    let low = |name: &str| pod(name, json!({"cpu": "4"}), json!({"priority": -1}));
    let mut protected = (*low("protected").pod).clone();
    protected.metadata.labels = Some([("app".to_owned(), "guarded".to_owned())].into());
    put(&mut cluster, Demand::of(Arc::new(protected)), "a1");
    put(&mut cluster, low("other"), "b1");
    let budget = json!({"metadata": {"name": "b", "namespace": "n"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
    let budget = Arc::new(serde_json::from_value(budget).unwrap());
    cluster.budgets.insert(reconcile::Key::new("n", "b"), budget);
    let demand = pod("p", json!({"cpu": "2"}), json!({}));
    let failure = place(&cluster, &demand).unwrap_err();
    let preemption = preempt(&mut cluster, &demand, &failure).unwrap();
    assert_eq!(preemption.node, "b1");
    assert_eq!(cluster.placed().count(), 2, "the cluster is as it was");
}

#[test]
fn room_that_is_being_made_is_not_given_to_others() {
    let mut cluster = cluster([node("a1", 0, json!({}))]);
    put(
        &mut cluster,
        pod("victim", json!({"cpu": "3"}), json!({"priority": -1})),
        "a1",
    );
    let units = vec![
        Unit::pod(Arc::new(pod(
            "important",
            json!({"cpu": "4"}),
            json!({"priority": 10}),
        ))),
        Unit::pod(Arc::new(pod("small", json!({"cpu": "1"}), json!({})))),
    ];
    let decisions = decide(&mut cluster, units, k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
    let waits = |decision: &Decision| matches!(decision, Decision::Wait { .. });
    assert!(decisions.iter().all(waits), "{decisions:?}");
    assert_eq!(cluster.placed().count(), 1, "a promise is no place");
}

#[test]
fn many_pods_of_a_kind_are_placed_as_each_would_be_alone() {
    let nodes = ["a1", "a2", "b1", "b2"].map(|name| node(name, 8, json!({})));
    let (mut together, mut alone) = (cluster(nodes.clone()), cluster(nodes));
    let pods: Vec<_> = (0..24)
        .map(|number| {
            let requests = if number % 3 == 0 {
                json!({"nvidia.com/gpu": "2"})
            } else {
                json!({"cpu": "500m"})
            };
            Arc::new(pod(&format!("p{number:02}"), requests, json!({})))
        })
        .collect();
    let units = pods.iter().map(|pod| Unit::pod(pod.clone())).collect();
    decide(&mut together, units, k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
    for pod in &pods {
        if let Ok(node) = place(&alone, pod) {
            alone.put(pod.clone(), &node);
        }
    }
    let places = |cluster: &Cluster| {
        let mut places: Vec<_> = cluster
            .placed()
            .map(|(node, pod)| (pod.name().to_owned(), node.name.to_string()))
            .collect();
        places.sort();
        places
    };
    assert_eq!(places(&together), places(&alone));
}
