//! Locks beside limits: whoever waits for the one does not stop whoever waits for the other.

use serde_json::{Value, json};

use super::cluster::{Cluster, fail, node_name, ok};
use crate::node::Phase;

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
