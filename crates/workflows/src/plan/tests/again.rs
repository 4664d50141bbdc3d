//! Workflows that have failed and are tried again.

use serde_json::{Value, json};

use super::cluster::{Cluster, End, fail, node_name, ok};
use crate::{Locks, change, names, node::Phase};

fn container() -> Value {
    json!({"image": "i", "command": ["c"]})
}

/// Pods of nodes whose names end so fail, until they are tried again.
fn failing(spec: Value, names: &'static [&'static str]) -> Cluster {
    Cluster::new(spec, |pod, _| {
        let name = node_name(pod);
        if names.iter().any(|end| name.ends_with(end)) {
            fail(1)
        } else {
            ok()
        }
    })
}

/// The workflow tried again, where pods end as `script` says.
fn tried_again(mut failed: Cluster, script: fn(&str) -> End) -> Cluster {
    assert_eq!(failed.phase(), Phase::Failed, "{:?}", failed.told());
    let change::Retried { object, pods } = change::retry(&failed.workflow, failed.now).unwrap();
    failed.pods.retain(|name, _| !pods.contains(name));
    failed.workflow = object;
    failed.made.clear();
    failed.locks = Locks::default();
    failed.script = Box::new(move |pod, _| script(&node_name(pod)));
    failed
}

#[test]
fn groups_that_go_on_take_turns_as_they_did_before() {
    for limits in [
        json!({"parallelism": 1}),
        json!({"synchronization": {"mutex": {"name": "m"}}}),
    ] {
        let mut spec = json!({"entrypoint": "main", "templates": [
            {"name": "main", "steps": [[
                {"name": "a", "template": "inner"},
                {"name": "b", "template": "inner"},
            ]]},
            {"name": "inner", "dag": {"tasks": [
                {"name": "x", "template": "t"},
                {"name": "y", "template": "t", "depends": "x"},
            ]}},
            {"name": "t", "container": container()},
        ]});
        match limits["parallelism"].as_i64() {
            Some(limit) => spec["templates"][0]["parallelism"] = json!(limit),
            None => spec["templates"][1]["synchronization"] = limits["synchronization"].clone(),
        }
        let mut again = tried_again(failing(spec, &[".y"]).play(), |_| ok());
        again.step();
        assert_eq!(again.made.len(), 1, "{:?}", again.told());
        assert_eq!(again.node("w[0].a").phase, Phase::Running, "{limits}");
        assert_eq!(again.node("w[0].b").phase, Phase::Pending, "{limits}");
        let again = again.play();
        assert_eq!(again.phase(), Phase::Succeeded, "{:?}", again.told());
        assert_eq!(again.made.len(), 2, "{:?}", again.made);
    }
}

#[test]
fn what_was_done_after_a_failure_is_no_part_of_what_is_done_again() {
    let spec = json!({"entrypoint": "main", "parallelism": 1, "templates": [
        {"name": "main", "dag": {"failFast": false, "tasks": [
            {"name": "first", "template": "t"},
            {"name": "each", "template": "t", "withItems": [1, 2], "hooks": {"exit": {"template": "t"}}},
            {"name": "after", "template": "t", "depends": "each.Failed"},
        ]}},
        {"name": "t", "container": container()},
    ]});
    let failed = failing(spec, &["first", "(0:1)", "(1:2)"]).play();
    assert_eq!(failed.node("w.after").phase, Phase::Succeeded);
    // While there is no room for its items, the loop has none.
    let mut again = tried_again(failed, |_| ok());
    again.step();
    assert_eq!(again.node("w.each").children, Vec::<String>::new());
    let again = again.play();
    assert_eq!(again.phase(), Phase::Succeeded, "{:?}", again.told());
    assert!(!again.told().iter().any(|told| told.starts_with("w.after.onExit")));
    assert_eq!(again.node("w.each(0:1)").children.len(), 2);
}

#[test]
fn a_graph_does_not_end_before_all_of_it_was_tried_again() {
    let spec = json!({"entrypoint": "main", "parallelism": 1, "templates": [
        {"name": "main", "steps": [[{"name": "busy", "template": "t"}, {"name": "graph", "template": "graph"}]]},
        {"name": "graph", "dag": {"failFast": false, "tasks": [
            {"name": "a", "template": "t"},
            {"name": "b", "template": "t"},
            {"name": "either", "template": "t", "depends": "a.Failed || b"},
            {"name": "asked", "template": "asked"},
        ]}},
        {"name": "t", "container": container()},
        {"name": "asked", "suspend": {}},
    ]});
    let asked = names::node_id("w", "w[0].graph.asked");
    let mut failed = failing(spec, &["busy", ".a"]).play();
    failed.workflow["status"]["nodes"][&asked]["phase"] = json!("Failed");
    let mut again = tried_again(failed.play(), |name| {
        if name.ends_with("busy") { End::Never } else { ok() }
    });
    again.step();
    again.workflow["status"]["nodes"][&asked]["phase"] = json!("Succeeded");
    again.step();
    assert_eq!(
        again.node("w[0].graph").phase,
        Phase::Running,
        "{:?}",
        again.told()
    );
    again.script = Box::new(|_, _| ok());
    let again = again.play();
    assert_eq!(again.phase(), Phase::Succeeded, "{:?}", again.told());
    assert_eq!(again.node("w[0].graph.a").phase, Phase::Succeeded);
}

#[test]
fn a_group_that_was_allowed_to_fail_takes_no_room_from_what_is_tried_again() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "parallelism": 1, "steps": [
            [{"name": "a", "template": "inner", "continueOn": {"failed": true}}],
            [{"name": "b", "template": "t", "arguments": {"parameters": [
                {"name": "p", "value": "{{steps.a.status}}"},
            ]}}],
        ]},
        {"name": "inner", "dag": {"tasks": [{"name": "x", "template": "t"}]}},
        {"name": "t", "container": container()},
    ]});
    let again = tried_again(failing(spec, &[".x", ".b"]).play(), |_| ok()).play();
    assert_eq!(again.phase(), Phase::Succeeded, "{:?}", again.told());
    assert_eq!(again.node("w[0].a").phase, Phase::Failed);
    assert_eq!(again.made.len(), 1, "{:?}", again.made);
}
