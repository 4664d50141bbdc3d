//! Locks beside limits: whoever waits for the one does not stop whoever waits for the other.

use std::{cell::Cell, rc::Rc};

use serde_json::{Value, json};

use super::cluster::{Cluster, End, end, fail, node_name, ok};
use crate::{Locks, Plan, node::Phase, report::Report};

fn container() -> Value {
    json!({"image": "i", "command": ["c"]})
}

/// One that has failed and holds the lock is tried again before the group, which needs the lock, has its room.
#[test]
fn who_holds_a_lock_keeps_his_room_for_another_attempt() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "parallelism": 1, "steps": [[
            {"name": "a", "template": "tried"}, {"name": "b", "template": "group"},
        ]]},
        {"name": "tried", "synchronization": {"mutex": {"name": "m"}},
         "retryStrategy": {"limit": 1, "backoff": {"duration": "3"}}, "container": container()},
        {"name": "group", "steps": [[{"name": "x", "template": "locked"}]]},
        {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |pod, _| {
        if node_name(pod).ends_with("(0)") {
            fail(1)
        } else {
            ok()
        }
    });
    for _ in 0..40 {
        cluster.step_dying(usize::MAX);
        cluster.run_pods();
        cluster.advance(1);
    }
    assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
    let made: Vec<&str> = cluster.log.iter().map(|(_, name)| name.as_str()).collect();
    let in_order = ["w[0].a(0)", "w[0].a(1)", "w[0].b[0].x"];
    assert_eq!(made, in_order.map(|name| [name, name]).concat());
}

/// Whoever has the room and needs the lock is not behind somebody who would need the room first.
#[test]
fn who_has_no_room_keeps_nobody_from_a_lock() {
    for tasks in [["x", "y"], ["y", "x"]] {
        let template = |task: &str| if task == "x" { "locked" } else { "group" };
        let tasks = tasks.map(|task| json!({"name": task, "template": template(task)}));
        let spec = json!({"entrypoint": "main", "templates": [
            {"name": "main", "steps": [[
                {"name": "first", "template": "locked"}, {"name": "narrow", "template": "narrow"},
            ]]},
            {"name": "narrow", "parallelism": 1, "dag": {"tasks": tasks}},
            {"name": "group", "steps": [[{"name": "z", "template": "locked"}]]},
            {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
        ]});
        let cluster = Cluster::new(spec, |_, _| ok()).play();
        assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
        assert_eq!(cluster.made.len(), 3);
    }
}

/// It has ended when somebody notes it, and what comes next needs its lock; or it was known to wait for that.
#[test]
fn a_lock_passes_from_a_pod_that_nobody_could_note() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [{"name": "a", "template": "locked"}, {"name": "b", "template": "locked"}]}},
        {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "retryStrategy": {"limit": 1},
         "container": container()},
    ]});
    for requests in [2, usize::MAX] {
        let mut cluster = Cluster::new(spec.clone(), |_, _| ok());
        // Twice the lock is written down and a pod made, and nothing more the second time.
        cluster.step_dying(requests);
        assert_eq!(cluster.made.len(), 1);
        cluster.run_pods();
        cluster.step_dying(2);
        assert_eq!(cluster.made.len(), 2);
        cluster.run_pods();
        let cluster = cluster.play();
        assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
        let nodes = cluster.status().nodes;
        assert!(nodes.values().all(|node| node.message.is_empty()), "{nodes:?}");
        assert_eq!(cluster.made.len(), 2);
    }
}

/// Another workflow holds the only lock of these tests.
fn taken() -> Value {
    json!({"status": {"synchronization": {"mutex": {"holding": [{"mutex": "n/Mutex/m", "holder": "n/other"}]}}}})
}

#[test]
fn others_look_at_once_when_somebody_leaves_a_queue() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "parallelism": 1, "dag": {"tasks": [
            {"name": "x", "template": "locked"}, {"name": "y", "template": "group"},
        ]}},
        {"name": "group", "steps": [[{"name": "z", "template": "locked"}]]},
        {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.locks.restore("n", &taken());
    // The first waits for the lock, the second takes the room; now the first could not begin if it had the lock.
    cluster.step();
    assert!(!cluster.last.left_queue);
    cluster.step();
    assert!(cluster.last.left_queue, "{:?}", cluster.locks);
    assert_eq!(cluster.last.wake_at, None);
    cluster.step();
    assert!(!cluster.last.left_queue, "it has left before");
}

#[test]
fn who_will_not_run_because_another_failed_stands_in_no_queue() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [{"name": "fast", "template": "fast"}]}},
        {"name": "fast", "failFast": true, "steps": [[
            {"name": "bad", "template": "t"}, {"name": "slow", "template": "t"},
            {"name": "a", "template": "locked"}, {"name": "b", "template": "locked"},
        ]]},
        {"name": "t", "container": container()},
        {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
    ]});
    let is_slow = Rc::new(Cell::new(true));
    let asked = is_slow.clone();
    let mut cluster = Cluster::new(spec, move |pod, _| match node_name(pod).rsplit_once('.') {
        Some((_, "bad")) => fail(1),
        _ if asked.get() => End::Never,
        _ => ok(),
    });
    cluster.locks.restore("n", &taken());
    cluster.step();
    assert_eq!(cluster.locks.waiting().len(), 1, "{:?}", cluster.locks);
    cluster.run_pods();
    cluster.step();
    assert_eq!(cluster.locks.waiting(), [], "{:?}", cluster.told());
    assert!(cluster.last.left_queue);
    assert_eq!(cluster.phase(), Phase::Running, "what runs is waited for");
    is_slow.set(false);
    let cluster = cluster.play();
    assert_eq!(cluster.phase(), Phase::Failed, "{:?}", cluster.told());
    assert_eq!(cluster.made.len(), 2);
    assert_eq!(cluster.node("w.fast[0].b").phase, Phase::Failed);
}

/// Plans, and stores what is to be stored; the pods have not heard of it yet.
fn decide(cluster: &mut Cluster) -> Plan {
    let plan = cluster.plan();
    if let Some(object) = &plan.object {
        cluster.workflow = object.clone();
    }
    plan
}

/// A workflow whose pods run, and the plan that ends it in the midst of it.
fn terminated(spec: Value) -> (Cluster, Plan) {
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    cluster.run_pods();
    cluster.step();
    cluster.workflow["spec"]["shutdown"] = json!("Terminate");
    let stopping = decide(&mut cluster);
    (cluster, stopping)
}

fn end_stopped(cluster: &mut Cluster, plan: &Plan) {
    for stopped in &plan.stop {
        let pod = cluster.pods.get_mut(&stopped.name).unwrap();
        end(pod, 143, &Report::default(), cluster.now);
    }
}

#[test]
fn a_lock_is_held_until_the_pod_that_was_stopped_has_ended() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [{"name": "a", "template": "timed"}, {"name": "b", "template": "locked"}]}},
        {"name": "timed", "timeout": "5s", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
        {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    cluster.run_pods();
    cluster.step();
    cluster.advance(6);
    let stopping = decide(&mut cluster);
    assert_eq!(stopping.stop.len(), 1);
    assert_eq!(cluster.node("w.a").phase, Phase::Failed);
    let meanwhile = decide(&mut cluster);
    assert!(
        meanwhile.make.is_empty(),
        "the other runs beside it: {:?}",
        cluster.locks
    );
    end_stopped(&mut cluster, &stopping);
    assert_eq!(decide(&mut cluster).make.len(), 1);
}

#[test]
fn a_workflow_that_was_ended_holds_its_locks_until_its_pods_have_ended() {
    for whole in [true, false] {
        let lock = json!({"mutex": {"name": "m"}});
        let mut spec = json!({"entrypoint": "main", "templates": [
            {"name": "main", "steps": [[{"name": "a", "template": "t"}]]},
            {"name": "t", "container": container()},
        ]});
        let locked = if whole {
            &mut spec
        } else {
            &mut spec["templates"][1]
        };
        locked["synchronization"] = lock;
        let (mut cluster, stopping) = terminated(spec);
        assert_eq!(cluster.phase(), Phase::Failed);
        // Another controller begins with what is stored.
        cluster.locks = Locks::default();
        cluster.locks.restore("n", &cluster.workflow);
        decide(&mut cluster);
        assert_eq!(cluster.locks.held_by("n", "w").len(), 1, "whole: {whole}");
        end_stopped(&mut cluster, &stopping);
        decide(&mut cluster);
        assert_eq!(cluster.locks, Locks::default(), "whole: {whole}");
        assert!(cluster.workflow["status"]["synchronization"].is_null());
        assert_eq!(decide(&mut cluster).object, None);
    }
}

#[test]
fn a_pod_that_is_only_now_made_holds_the_lock_around_it() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "synchronization": {"mutex": {"name": "m"}}, "steps": [[
            {"name": "a", "template": "t"}, {"name": "b", "template": "broken"},
        ]]},
        {"name": "t", "container": container()},
        {"name": "broken", "podSpecPatch": "{", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    let plan = decide(&mut cluster);
    assert_eq!(cluster.phase(), Phase::Failed, "the other is broken");
    assert_eq!(plan.make.len(), 1);
    assert_eq!(cluster.locks.held_by("n", "w").len(), 1);
}

#[test]
fn a_task_named_like_a_handler_holds_the_lock_around_it() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "synchronization": {"mutex": {"name": "m"}}, "dag": {"tasks": [
            {"name": "onExit-report", "template": "t"},
        ]}},
        {"name": "t", "container": container()},
    ]});
    let (mut cluster, stopping) = terminated(spec);
    assert_eq!(cluster.locks.held_by("n", "w").len(), 1);
    end_stopped(&mut cluster, &stopping);
    decide(&mut cluster);
    assert_eq!(cluster.locks, Locks::default());
}
