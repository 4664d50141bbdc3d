//! Nodes that are removed, and their pods with them: what nobody could look at counts as what failed before all eyes.

use client_tests::{
    User,
    manifests::Job,
    team::{Scenario, Team, play_on},
};
use serde_json::Value;

use crate::simulation::{job, start, until_active, with_nodes};

#[test]
fn a_node_that_is_removed_costs_its_jobs_a_restart() {
    with_nodes(|server, shell| {
        let _operator = start(server, shell);
        let nodes = shell.ok("kubectl get nodes -l trainyard.dev/simulated=true -o name");
        assert_eq!(nodes.lines().count(), 4, "{nodes}");
        // Two for each, so that nobody loses a pod by the doing of another, and another node can take it.
        for (node, team) in nodes.lines().zip(["alone", "alone", "together", "together"]) {
            shell.ok(&format!("kubectl label {node} team={team}"));
        }
        let scenarios: [Scenario; 2] = [("alone", one_replica), ("together", all_together)];
        play_on(server, shell, User::Us, &scenarios);
    });
}

#[track_caller]
fn submit(team: &Team<'_>, workers: u32, policy: &str, annotations: &str) {
    let job = Job {
        roles: &[("Worker", workers, policy)],
        more: "runPolicy: {backoffLimit: 2}",
        annotations,
        pod: &format!("nodeSelector: {{team: {}}}", team.namespace),
        ..job()
    };
    team.apply(&job.manifest());
    until_active(team, JOB, "Worker", workers);
}

const JOB: &str = "pytorchjobs/job";

#[track_caller]
fn remove_node_of(team: &Team<'_>, pod: &str) {
    let pod = team.find(&format!("pods/{pod}"));
    let node = pod["spec"]["nodeName"].as_str().unwrap();
    team.ok(&format!("delete node {node}"));
}

#[track_caller]
fn until_restarted(team: &Team<'_>, counter: &str) -> Value {
    team.until(JOB, |job| job["status"]["restarts"][counter] == 1)
}

fn one_replica(team: &Team<'_>) {
    submit(team, 1, "ExitCode", "");
    let before = team.uid("pods/job-worker-0");
    remove_node_of(team, "job-worker-0");
    until_restarted(team, "count");
    let running = until_active(team, JOB, "Worker", 1);
    assert_ne!(team.uid("pods/job-worker-0"), before);
    assert_eq!(running["status"]["restarts"]["count"], 1, "{running:#}");
}

/// However many of a gang were on it.
fn all_together(team: &Team<'_>) {
    submit(team, 4, "OnFailure", "trainyard.dev/gang-restart: \"true\"");
    let uids = || (0..4).map(|worker| team.uid(&format!("pods/job-worker-{worker}")));
    let before: Vec<String> = uids().collect();
    remove_node_of(team, "job-worker-0");
    until_restarted(team, "gang");
    let running = until_active(team, JOB, "Worker", 4);
    assert!(uids().all(|uid| !before.contains(&uid)));
    assert_eq!(running["status"]["restarts"]["gang"], 1, "{running:#}");
    assert_eq!(running["status"]["restarts"]["count"], 1, "{running:#}");
}
