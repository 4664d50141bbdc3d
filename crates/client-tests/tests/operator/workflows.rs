//! Workflows on a cluster that does not have Argo: ours, or a real control plane with kwok.

use std::sync::Mutex;

use client_tests::team::{Team, play_on};
use client_tests::{Server, Shell, User};
use serde_json::Value;

use crate::{
    process::Operator,
    simulation::{SIMULATED, end, with_nodes},
    until,
};

#[test]
fn workflows_run_where_argo_is_not_installed() {
    with_nodes(|server, shell| {
        let _operator = start(server, shell);
        play_on::<fn(&Team<'_>)>(
            server,
            shell,
            User::Us,
            &[("graph", graph), ("failed", failed), ("stopped", stopped)],
        );
    });
}

/// Argo's controller is there while its lease is. An operator that saw it waits for it when it goes; one that begins
/// long after does not.
#[test]
fn workflows_are_left_to_argo_while_it_is_there() {
    with_nodes(|server, shell| {
        let first = Mutex::new(start(server, shell));
        let later = |team: &Team<'_>| {
            let mut first = first.lock().unwrap();
            shell.ok(&lease("2126-01-01T00:00:00.000000Z"));
            first.says("workflows are left to it");
            submit(team, &format!("  templates: [{{name: main, {CONTAINER}}}]\n"));
            let before = team.find("workflows/w");
            assert!(before["status"].is_null(), "{before:#}");
            first.signal("TERM");
            first.ends();
            shell.ok(&lease("2026-01-01T00:00:00.000000Z"));
            let _second = start(server, shell);
            end_node(team, "w", 0);
            ended(team, "Succeeded");
        };
        play_on(server, shell, User::Us, &[("later", later)]);
    });
}

fn lease(renewed: &str) -> String {
    format!(
        "kubectl apply -f - <<'END'
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: workflow-controller, namespace: default}}
spec: {{holderIdentity: argo, leaseDurationSeconds: 15, renewTime: '{renewed}'}}
END"
    )
}

#[track_caller]
fn start(server: &Server, shell: &Shell<'_>) -> Operator {
    let arguments = [
        "--kinds=workflows",
        "--install-definitions",
        "--tools-image=registry/trainyard",
    ];
    let operator = Operator::start(server, &arguments);
    operator.says("leading as");
    let kinds = "kubectl get workflows,workflowtemplates,clusterworkflowtemplates,cronworkflows";
    until("the kinds are served", || shell.run(kinds).code == 0);
    operator
}

/// A workflow `w` whose pods only seem to run.
#[track_caller]
fn submit(team: &Team<'_>, spec: &str) {
    team.apply(&format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: w}}\nspec:\n  entrypoint: main\n  \
         {SIMULATED}\n{spec}"
    ));
}

const CONTAINER: &str = "container: {image: host, command: [\"true\"]}";

/// Ends the pod of a node when it runs.
#[track_caller]
fn end_node(team: &Team<'_>, node: &str, code: i32) {
    let of_node = |pod: &Value| pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"] == node;
    let pods = team.until("pods", |pods| {
        pods["items"]
            .as_array()
            .is_some_and(|pods| pods.iter().any(of_node))
    });
    let mut pods = pods["items"].as_array().into_iter().flatten();
    let pod = pods.find(|pod| of_node(pod)).unwrap();
    end(team, pod["metadata"]["name"].as_str().unwrap(), code);
}

#[track_caller]
fn ended(team: &Team<'_>, phase: &str) -> Value {
    let workflow = team.until("workflows/w", |workflow| {
        workflow["metadata"]["labels"]["workflows.argoproj.io/completed"] == "true"
    });
    assert_eq!(workflow["status"]["phase"], phase, "{:#}", workflow["status"]);
    assert_eq!(
        workflow["metadata"]["labels"]["workflows.argoproj.io/phase"],
        phase
    );
    workflow
}

/// `NAME PHASE` of all nodes, in the order of their names.
fn nodes(workflow: &Value) -> Vec<String> {
    let nodes = workflow["status"]["nodes"].as_object().unwrap().values();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut nodes: Vec<String> = nodes
        .map(|node| format!("{} {}", text(&node["name"]), text(&node["phase"])))
        .collect();
    nodes.sort();
    nodes
}

fn graph(team: &Team<'_>) {
    submit(
        team,
        &format!(
            "  onExit: t
  templates:
  - name: main
    dag:
      tasks:
      - {{name: a, template: t}}
      - {{name: b, template: again, depends: a}}
      - {{name: c, template: t, depends: a}}
      - {{name: d, template: t, depends: b && c}}
  - {{name: t, {CONTAINER}}}
  - {{name: again, retryStrategy: {{limit: 1}}, {CONTAINER}}}
"
        ),
    );
    end_node(team, "w.a", 0);
    end_node(team, "w.b(0)", 1);
    end_node(team, "w.c", 0);
    end_node(team, "w.b(1)", 0);
    end_node(team, "w.d", 0);
    end_node(team, "w.onExit", 0);
    let workflow = ended(team, "Succeeded");
    assert_eq!(
        nodes(&workflow),
        [
            "w Succeeded",
            "w.a Succeeded",
            "w.b Succeeded",
            "w.b(0) Failed",
            "w.b(1) Succeeded",
            "w.c Succeeded",
            "w.d Succeeded",
            "w.onExit Succeeded",
        ]
    );
    // The attempt that failed counts too.
    assert_eq!(workflow["status"]["progress"], "5/6");
    team.until("pods", |pods| {
        let mut pods = pods["items"].as_array().unwrap().iter();
        pods.all(|pod| pod["metadata"]["labels"]["workflows.argoproj.io/completed"] == "true")
    });
    // What belongs to a workflow goes with it.
    team.ok("delete workflow w");
    team.until("pods", |pods| pods["items"].as_array().is_some_and(Vec::is_empty));
}

fn failed(team: &Team<'_>) {
    submit(
        team,
        &format!(
            "  templates:
  - name: main
    steps:
    - - {{name: a, template: t}}
    - - {{name: b, template: t}}
  - {{name: t, {CONTAINER}}}
"
        ),
    );
    end_node(team, "w[0].a", 3);
    let workflow = ended(team, "Failed");
    assert_eq!(nodes(&workflow), ["w Failed", "w[0] Failed", "w[0].a Failed"]);
    let node = workflow["status"]["nodes"].as_object().unwrap().values();
    let mut node = node.filter(|node| node["name"] == "w[0].a");
    assert_eq!(
        node.next().unwrap()["message"],
        "main: Error (exit code 3): the last words"
    );
}

fn stopped(team: &Team<'_>) {
    submit(
        team,
        &format!(
            "  onExit: t
  templates:
  - {{name: main, {CONTAINER}}}
  - {{name: t, {CONTAINER}}}
"
        ),
    );
    team.until("workflows/w", |workflow| {
        workflow["status"]["nodes"]["w"]["phase"] == "Running"
    });
    team.ok("patch workflow w --type=merge -p '{\"spec\": {\"shutdown\": \"Stop\"}}'");
    end_node(team, "w.onExit", 0);
    let workflow = ended(team, "Failed");
    assert_eq!(workflow["status"]["message"], "Stopped with strategy 'Stop'");
}
