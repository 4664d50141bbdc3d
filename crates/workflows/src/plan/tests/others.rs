//! What others write into a workflow, as Argo's command line does, is gone on from; and so is what is known late, or
//! was done by somebody who could not note it.

use serde_json::{Value, json};

use super::cluster::{Cluster, End, fail, node_name, ok};
use crate::{Observed, Plan, Unknown, names, node::Phase, plan};

fn container() -> Value {
    json!({"image": "i", "command": ["c"]})
}

/// A graph whose second task fails.
fn half_done() -> Cluster {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [
            {"name": "a", "template": "t"},
            {"name": "b", "template": "t", "depends": "a"},
        ]}},
        {"name": "t", "container": container()},
    ]});
    let failing = |pod: &Value, _: Option<&_>| {
        if node_name(pod).rsplit('.').next() == Some("b") {
            fail(1)
        } else {
            ok()
        }
    };
    let mut failed = Cluster::new(spec, failing).play();
    // Pods are labelled when their end is known.
    failed.step();
    assert_eq!(failed.phase(), Phase::Failed, "{:?}", failed.told());
    failed.made.clear();
    failed.script = Box::new(|_, _| ok());
    failed
}

/// As `argo retry` does it: what failed is forgotten, what is around it goes on.
fn retried(mut failed: Cluster) -> Cluster {
    let b = names::node_id("w", "w.b");
    let status = &mut failed.workflow["status"];
    status["phase"] = json!("Running");
    status["finishedAt"] = Value::Null;
    status["nodes"].as_object_mut().unwrap().remove(&b);
    let root = &mut status["nodes"]["w"];
    root["phase"] = json!("Running");
    root["finishedAt"] = Value::Null;
    status["nodes"][names::node_id("w", "w.a")]["children"] = json!([]);
    let labels = failed.workflow["metadata"]["labels"].as_object_mut().unwrap();
    labels.remove(names::COMPLETED);
    failed
}

#[test]
fn a_pod_of_before_is_not_taken_for_one_of_now() {
    // Its deletion may be heard of after the change of the workflow.
    let mut again = retried(half_done());
    again.step();
    assert_eq!(again.phase(), Phase::Running, "{:?}", again.told());
    assert_eq!(again.made, Vec::<String>::new());
    let again = again.play();
    assert_eq!(again.phase(), Phase::Succeeded, "{:?}", again.told());
    assert_eq!(again.made.len(), 1);
}

#[test]
fn nodes_that_are_written_down_to_be_begun_begin() {
    // As `argo resubmit --memoized` does it: another workflow knows what has succeeded from the start.
    let mut again = half_done();
    again.pods.clear();
    let status = again.workflow["status"].take();
    let mut nodes = status["nodes"].clone();
    for node in nodes.as_object_mut().unwrap().values_mut() {
        let is_done = node["phase"] == "Succeeded";
        let has_failed_pod = node["type"] == "Pod" && !is_done;
        node["phase"] = json!(if is_done { "Skipped" } else { "Pending" });
        if is_done {
            node["type"] = json!("Skipped");
        }
        if has_failed_pod {
            node["startedAt"] = Value::Null;
            node["finishedAt"] = Value::Null;
        }
    }
    again.workflow["status"] = json!({"phase": "", "nodes": nodes});
    again.workflow["metadata"]["labels"] = json!({});
    let again = again.play();
    assert_eq!(again.phase(), Phase::Succeeded, "{:?}", again.told());
    assert_eq!(again.told(), ["w Succeeded", "w.a Skipped", "w.b Succeeded"]);
    assert_eq!(again.made.len(), 1);
    assert!(again.node("w.b").started_at.is_some());
}

#[test]
fn what_is_waited_for_is_what_somebody_supplies() {
    let spec = json!({"entrypoint": "main", "templates": [{
        "name": "main",
        "suspend": {"duration": "5"},
        "inputs": {"parameters": [{"name": "p", "default": "d"}]},
        "outputs": {"parameters": [
            {"name": "p", "valueFrom": {"supplied": {}}},
        ]},
    }]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    let source = &cluster.workflow["status"]["nodes"]["w"]["outputs"]["parameters"][0]["valueFrom"];
    assert_eq!(*source, json!({"supplied": {}, "default": "d"}));
    let cluster = cluster.play();
    let value = cluster.node("w").outputs.unwrap().parameters[0].value.clone();
    assert_eq!(value, Some("d".to_owned().into()));
}

#[test]
fn a_pod_that_is_not_known_of_is_asked_for_before_its_step_is_given_up() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "retryStrategy": {"limit": 2, "retryPolicy": "Always"}, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    cluster.run_pods();
    cluster.step();
    cluster.advance(5);
    let (name, settings) = (cluster.made[0].clone(), Cluster::settings());
    let node_id = cluster.node("w(0)").id;
    let mut plan_knowing = |observed: &Observed| {
        let (workflow, locks) = (&cluster.workflow, &mut cluster.locks);
        plan(workflow, observed, locks, &settings, cluster.now)
    };
    let mut observed = Observed::default();
    let late = plan_knowing(&observed);
    let expected = Plan {
        unknown: [Unknown::Pod {
            name: name.clone(),
            node_id,
        }]
        .into(),
        ..Plan::default()
    };
    assert_eq!(late, expected, "nothing is decided");
    observed.absent.insert(name);
    let gone = plan_knowing(&observed);
    assert_eq!(gone.make.len(), 1, "another attempt: {gone:?}");
}

#[test]
fn a_pod_that_was_deleted_when_its_time_was_over_has_failed_of_that() {
    let spec = json!({"entrypoint": "main", "templates": [{
        "name": "main", "timeout": "5s", "retryStrategy": {"limit": 1}, "container": container(),
    }]});
    for (seconds, expected) in [(6, Phase::Failed), (4, Phase::Error)] {
        let mut cluster = Cluster::new(spec.clone(), |_, _| End::Never);
        cluster.step();
        // No node had it, so it was deleted, and whoever did that could not note why.
        cluster.pods.clear();
        cluster.advance(seconds);
        cluster.step();
        let first = cluster.node("w(0)");
        assert_eq!(first.phase, expected, "{}", first.message);
        let is_retried = cluster.made.len() == 2;
        assert_eq!(is_retried, expected == Phase::Failed, "errors are not retried");
    }
}

#[test]
fn whose_a_pod_is_cannot_be_overwritten() {
    let own = json!({
        "labels": {names::WORKFLOW: "mine", names::COMPLETED: "true", "mine": "1"},
        "annotations": {names::NODE_ID: "mine", names::NODE_NAME: "mine", "mine": "1"},
    });
    let spec = json!({"entrypoint": "main", "podMetadata": own, "templates": [
        {"name": "main", "metadata": own, "container": container()},
    ]});
    let mut cluster = Cluster::new(spec, |_, _| ok());
    cluster.step();
    let pod = cluster.pods.values().next().unwrap();
    let expected = json!({names::WORKFLOW: "w", names::COMPLETED: "false", "mine": "1"});
    assert_eq!(pod["metadata"]["labels"], expected);
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations[names::NODE_ID], cluster.node("w").id);
    assert_eq!(
        (&annotations[names::NODE_NAME], &annotations["mine"]),
        (&json!("w"), &json!("1"))
    );
    assert_eq!(cluster.play().node("w").phase, Phase::Succeeded);
}
