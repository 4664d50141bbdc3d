//! What holds however things go: room, time, locks, and that nothing is left running.

use serde_json::{Value, json};

use super::{
    Cluster,
    cluster::{End, fail, node_name, ok, result},
};
use crate::{
    Plan,
    node::{Node, Phase},
    report::Report,
};

fn container() -> Value {
    json!({"image": "host", "command": ["true"]})
}

fn is_running(pod: &Value) -> bool {
    !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

fn count_running(cluster: &Cluster) -> usize {
    cluster.pods.values().filter(|pod| is_running(pod)).count()
}

#[test]
fn another_attempt_waits_for_room() {
    for limits in [json!({"parallelism": 1}), json!({})] {
        let mut spec = json!({"entrypoint": "main", "templates": [
            {"name": "main", "steps": [[{"name": "a", "template": "t", "withSequence": {"count": 3}}]]},
            {"name": "t", "retryStrategy": {"limit": 1, "backoff": {"duration": "3"}}, "container": container()},
        ]});
        match limits["parallelism"].as_i64() {
            Some(limit) => spec["parallelism"] = json!(limit),
            None => spec["templates"][0]["parallelism"] = json!(1),
        }
        let mut cluster = Cluster::new(spec, |pod, _| {
            if node_name(pod).ends_with("(0)") {
                fail(1)
            } else {
                ok()
            }
        });
        for _ in 0..40 {
            cluster.step();
            assert!(count_running(&cluster) <= 1, "{:?}", cluster.made);
            cluster.run_pods();
            cluster.advance(1);
        }
        assert_eq!((cluster.phase(), cluster.made.len()), (Phase::Succeeded, 6));
    }
}

/// The second item has the only place when the time for another attempt of the first has come, and needs it for one
/// more step.
#[test]
fn an_item_of_a_graph_that_waits_does_not_stop_the_one_it_waits_for() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "parallelism": 1, "dag": {"tasks": [
            {"name": "a", "template": "two", "withSequence": {"count": 2}},
        ]}},
        {"name": "two", "retryStrategy": {"limit": 1, "backoff": {"duration": "1"}}, "steps": [
            [{"name": "first", "template": "t"}], [{"name": "second", "template": "t"}],
        ]},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |pod, _| {
        if node_name(pod).contains("a(0:0)(0)") {
            fail(1)
        } else {
            ok()
        }
    });
    for _ in 0..40 {
        cluster.step();
        assert!(count_running(&cluster) <= 1, "{:?}", cluster.made);
        cluster.run_pods();
        cluster.advance(1);
    }
    assert_eq!((cluster.phase(), cluster.made.len()), (Phase::Succeeded, 5));
}

#[test]
fn pods_that_nobody_could_note_take_their_room() {
    let spec = json!({"entrypoint": "main", "parallelism": 2, "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "first", "template": "t"},
            {"name": "next", "template": "t", "depends": "first"},
            {"name": "other", "template": "t"},
        ]}},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |pod, _| {
        if node_name(pod) == "w.first" {
            ok()
        } else {
            End::Never
        }
    });
    // Both are made, and the controller dies; the task that comes next in the list is ready before it is back.
    cluster.step_dying(2);
    assert_eq!((cluster.made.len(), cluster.status().nodes.len()), (2, 0));
    cluster.run_pods();
    for _ in 0..3 {
        cluster.step();
        assert!(count_running(&cluster) <= 2, "{:?}", cluster.made);
    }
    assert_eq!(cluster.made.len(), 3);
}

#[test]
fn a_pod_that_ended_before_it_was_noted_takes_no_room() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "parallelism": 1, "dag": {"tasks": [
            {"name": "a", "template": "t"}, {"name": "b", "template": "t"},
        ]}},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step_dying(1);
    assert_eq!((cluster.made.len(), cluster.status().nodes.len()), (1, 0));
    cluster.run_pods();
    cluster.step();
    assert_eq!(cluster.told(), ["w Running", "w.a Succeeded", "w.b Pending"]);
}

#[test]
fn what_is_being_stopped_takes_its_room_until_it_has_ended() {
    let spec = json!({"entrypoint": "main", "onExit": "t", "parallelism": 1, "templates": [
        {"name": "main", "dag": {"tasks": [{"name": "a", "template": "t"}]}},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(
        spec,
        |pod, _| {
            if node_name(pod) == "w.a" { End::Never } else { ok() }
        },
    );
    cluster.step();
    cluster.run_pods();
    cluster.workflow["spec"]["shutdown"] = json!("Stop");
    // Wherever the controller dies: not even for a moment does the handler run beside what it comes after.
    for requests in [1, 1, 2, 3] {
        cluster.step_dying(requests);
        assert!(count_running(&cluster) <= 1, "{:?}", cluster.made);
    }
    let cluster = cluster.play();
    assert_eq!((cluster.phase(), cluster.made.len()), (Phase::Failed, 2));
    assert_eq!(cluster.node("w.onExit").phase, Phase::Succeeded);
}

#[test]
fn each_attempt_has_its_own_time() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "timeout": "5s", "retryStrategy": {"limit": 1}, "container": container()},
    ]});
    let cluster = Cluster::new(spec, |pod, _| {
        if node_name(pod) == "w(0)" {
            End::Never
        } else {
            ok()
        }
    })
    .play();
    assert_eq!(cluster.told(), ["w Succeeded", "w(0) Failed", "w(1) Succeeded"]);
    assert_eq!(cluster.node("w(0)").message, "Step exceeded its deadline");
    assert_eq!(count_running(&cluster), 0);
}

#[test]
fn what_cannot_begin_is_not_tried_again_at_once_for_ever() {
    let mut container = container();
    container["volumeMounts"] = json!([{"name": "none", "mountPath": "/x"}]);
    for body in [
        json!({"container": container}),
        json!({"steps": [[{"name": "a", "template": "t", "withParam": "{{workflow.name}}"}]]}),
    ] {
        let mut main = body;
        main["name"] = json!("main");
        main["retryStrategy"] = json!({"retryPolicy": "Always"});
        let spec = json!({"entrypoint": "main", "templates": [
            main, {"name": "t", "container": {"image": "host", "command": ["true"]}},
        ]});
        let mut cluster = Cluster::new(spec, |_, _| ok());
        for _ in 0..5 {
            // However often it is looked at.
            cluster.step();
            cluster.step();
            cluster.advance(1);
        }
        let attempts = cluster.node("w").children.len();
        assert!((1..=6).contains(&attempts), "{attempts}");
        assert!(cluster.last.wake_at.is_some());
    }
}

#[test]
fn the_expression_of_a_retry_counts_from_nothing() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "retryStrategy": {"limit": 9, "expression": "asInt(retries) < 2 && lastRetry.exitCode != '0'"},
         "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, _| fail(3)).play();
    // After the first attempt nothing has been retried.
    assert_eq!(cluster.made.len(), 3);
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "retryStrategy": {"limit": 9, "expression": "lastRetry.exitCode == '-1' && retries == '0'"},
         "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    cluster.pods.clear();
    let cluster = cluster.play();
    assert_eq!(cluster.told(), ["w Succeeded", "w(0) Error", "w(1) Succeeded"]);
}

#[test]
fn nothing_runs_when_all_has_ended() {
    // The group cannot go on, and one of its steps has begun.
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[
            {"name": "a", "template": "t"},
            {"name": "b", "template": "broken"},
        ]]},
        {"name": "t", "container": container()},
        {"name": "broken", "container": {"image": "i", "command": ["c"], "volumeMounts": [{"name": "x", "mountPath": "/x"}]}},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    for _ in 0..5 {
        cluster.step();
        cluster.run_pods();
        cluster.advance(1);
    }
    assert!(cluster.phase().is_failure(), "{:?}", cluster.told());
    assert_eq!(count_running(&cluster), 0);
    assert!(
        cluster.status().nodes.values().all(Node::is_fulfilled),
        "{:?}",
        cluster.told()
    );
}

#[test]
fn a_pod_that_was_made_and_forgotten_is_stopped_when_all_has_ended() {
    let spec = json!({"entrypoint": "main", "templates": [{"name": "main", "container": container()}]});
    let mut cluster = Cluster::new(spec, |_, _| ok()).play();
    let mut stray = cluster.pods["w"].clone();
    stray["metadata"]["name"] = json!("stray");
    stray["metadata"]["annotations"]["workflows.argoproj.io/node-id"] = json!("w-1");
    stray["status"] = json!({"phase": "Running"});
    cluster.pods.insert("stray".to_owned(), stray);
    cluster.step();
    assert_eq!(count_running(&cluster), 0);
}

#[test]
fn only_pods_that_are_meant_go() {
    let spec = json!({"entrypoint": "main", "podGC": {"strategy": "OnPodCompletion", "labelSelector": {"matchLabels": {"goes": "yes"}}},
    "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "goes"}, {"name": "b", "template": "stays"}]]},
        {"name": "goes", "metadata": {"labels": {"goes": "yes"}}, "container": container()},
        {"name": "stays", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok()).play();
    cluster.step();
    let left: Vec<String> = cluster.pods.values().map(node_name).collect();
    assert_eq!(left, ["w[0].b"]);
}

#[test]
fn a_step_that_runs_is_not_replaced_by_what_others_found_out() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "memoize": {"key": "k", "cache": {"configMap": {"name": "cache"}}}, "container": container()},
    ]});
    let known = Cluster::new(spec.clone(), |_, _| ok()).play().config_maps;
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    cluster.run_pods();
    cluster.config_maps = known;
    for _ in 0..3 {
        cluster.step();
    }
    assert_eq!(cluster.node("w").phase, Phase::Running);
}

#[test]
fn a_template_inside_of_a_step_is_known_as_a_whole() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [
            [{"name": "server", "inline": {"daemon": true, "container": container()}}],
            [{"name": "says", "inline": {"container": container(), "outputs": {"parameters": [
                {"name": "p", "globalName": "g", "valueFrom": {"path": "/tmp/p"}},
            ]}}}],
            [{"name": "many", "inline": {"parallelism": 1, "steps": [[
                {"name": "one", "template": "t", "withSequence": {"count": 3}},
            ]]}}],
        ]},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |pod, _| match node_name(pod).as_str() {
        "w[0].server" => End::Never,
        "w[1].says" => End::With {
            code: 0,
            report: Report {
                parameters: vec![("p".to_owned(), "v".to_owned())],
                ..Report::default()
            },
        },
        _ => ok(),
    });
    for _ in 0..20 {
        cluster.step();
        let many = cluster
            .pods
            .values()
            .filter(|pod| node_name(pod).contains("one") && is_running(pod));
        assert!(many.count() <= 1);
        cluster.run_pods();
        cluster.advance(1);
    }
    assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
    assert_eq!(cluster.made.len(), 5);
    let outputs = cluster.status().outputs.unwrap();
    assert_eq!(outputs.parameters[0].name, "g");
}

#[test]
fn a_pod_that_is_deleted_while_it_runs_is_an_error_whatever_its_containers_say() {
    let spec = json!({"entrypoint": "main", "templates": [{"name": "main", "container": container()}]});
    let mut cluster = Cluster::new(spec, |_, _| fail(143));
    cluster.step();
    cluster.run_pods();
    let pod = cluster.pods.get_mut("w").unwrap();
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let cluster = cluster.play();
    assert_eq!(cluster.phase(), Phase::Error);
    assert_eq!(cluster.node("w").message, "pod deleted");
}

#[test]
fn what_waits_for_a_lock_ends_with_the_workflow() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "synchronization": {"mutex": {"name": "m"}}, "steps": [[{"name": "a", "template": "t"}]]},
        {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    let other = json!({"status": {"synchronization": {"mutex": {"holding": [{"mutex": "n/Mutex/m", "holder": "n/x"}]}}}});
    cluster.locks.restore("n", &other);
    cluster.step();
    assert_eq!(cluster.node("w").phase, Phase::Pending);
    cluster.workflow["spec"]["shutdown"] = json!("Stop");
    let cluster = cluster.play();
    assert_eq!(cluster.phase(), Phase::Failed);
}

#[test]
fn a_lock_passes_from_one_that_was_tried_to_one_that_follows_it() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "a", "template": "t"},
            {"name": "b", "template": "t"},
            {"name": "c", "template": "t", "depends": "b"},
        ]}},
        {"name": "t", "synchronization": {"mutex": {"name": "m"}}, "retryStrategy": {"limit": 1}, "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
}

/// Long enough that whatever looks through all tasks for each of them, and again for each of those, does not end.
const LONG: usize = 2000;

#[test]
fn a_chain_may_be_longer_than_a_stack() {
    let tasks: Vec<Value> = (0..LONG)
        .map(|number| match number {
            0 => json!({"name": "t0", "template": "t", "arguments": {"parameters": [{"name": "p", "value": "0"}]}}),
            number => {
                let before = format!("t{}", number - 1);
                let value = format!("{{{{tasks.{before}.outputs.result}}}}");
                json!({"name": format!("t{number}"), "template": "t", "depends": before,
                    "arguments": {"parameters": [{"name": "p", "value": value}]}})
            }
        })
        .collect();
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": tasks}},
        {"name": "t", "inputs": {"parameters": [{"name": "p"}]}, "retryStrategy": {"limit": 1}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| result("1"));
    for pods in 1..3 {
        cluster.step();
        assert_eq!(cluster.made.len(), pods);
        cluster.run_pods();
    }
}

#[test]
fn a_task_may_follow_upon_a_group_in_which_nothing_was_to_do() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "a", "template": "none"}, {"name": "b", "template": "t", "depends": "a"},
        ]}},
        {"name": "none", "steps": [[{"name": "x", "template": "t", "withItems": []}]]},
        {"name": "t", "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
    assert_eq!(cluster.made.len(), 1);
}

#[test]
fn no_group_of_steps_follows_upon_itself() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [
            [{"name": "x", "template": "t", "withItems": []}],
            [{"name": "y", "template": "t", "withItems": []}],
            [{"name": "z", "template": "t"}],
        ]},
        {"name": "t", "container": container()},
    ]});
    let cluster = Cluster::new(spec, |_, _| ok()).play();
    let nodes = cluster.status().nodes;
    assert!(
        nodes.values().all(|node| !node.children.contains(&node.id)),
        "{nodes:?}"
    );
}

#[test]
fn many_tasks_may_begin_at_once() {
    let tasks: Vec<Value> = (0..LONG)
        .map(|number| json!({"name": format!("t{number}"), "template": "t"}))
        .collect();
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": tasks}}, {"name": "t", "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    assert_eq!(cluster.made.len(), LONG);
    cluster.run_pods();
    cluster.step();
    assert_eq!(cluster.phase(), Phase::Succeeded);
}

#[test]
fn a_handler_that_found_no_room_still_runs() {
    let spec = json!({"entrypoint": "main", "parallelism": 1, "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "a", "template": "inner"},
            {"name": "b", "template": "t"},
        ]}},
        {"name": "inner", "dag": {"tasks": [
            {"name": "x", "template": "t", "hooks": {"exit": {"template": "t"}}},
        ]}},
        {"name": "t", "container": container()},
    ]});
    // The other branch takes the room as soon as there is some.
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    cluster.run_pods();
    let cluster = cluster.play();
    assert_eq!(cluster.node("w.a.x.onExit").phase, Phase::Succeeded);
    assert_eq!((cluster.phase(), cluster.made.len()), (Phase::Succeeded, 3));
}

#[test]
fn a_lock_is_written_down_before_a_pod_relies_on_it() {
    let object = json!({"metadata": {"name": "w"}, "spec": {}});
    let holding = json!({"mutex": {"holding": [{"mutex": "n/Mutex/m", "holder": "n/w/x"}]}});
    let mut planned = object.clone();
    planned["status"] = json!({"phase": "Running", "synchronization": holding});
    let plan = Plan {
        make: vec![json!({"kind": "Pod"})],
        object: Some(planned),
        ..Plan::default()
    };
    let written = plan.newly_held(&object).unwrap();
    assert_eq!(written["status"], json!({"synchronization": holding}));
    assert_eq!(plan.newly_held(&written), None);
    let without_pods = Plan {
        make: Vec::new(),
        ..plan
    };
    assert_eq!(without_pods.newly_held(&object), None);
}
