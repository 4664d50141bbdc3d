//! Clusters whose nodes only seem to run pods: ours, or a real control plane with kwok
//! (`cargo xtask test --against real`). What would be a kubelet's to tell of pods, the tests tell.

use client_tests::{
    Release, Server, Shell, User, kubectl,
    manifests::Job,
    needed,
    team::{Team, play_on, state},
};
use serde_json::{Value, json};

use crate::{process::Operator, until};

/// Keeps pods from this machine, which runs them in earnest.
pub(crate) const SIMULATED: &str = "nodeSelector: {trainyard.dev/simulated: \"true\"}";

/// A job whose pods only seem to run.
pub(crate) fn job<'a>() -> Job<'a> {
    Job {
        pod: SIMULATED,
        ..Job::default()
    }
}

/// Runs a test on such a cluster. Who looks after its jobs is the test's affair.
#[track_caller]
pub(crate) fn with_nodes(test: impl FnOnce(&Server, &Shell<'_>)) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_simulated_nodes();
    let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
    let ready = "kubectl wait --for=condition=Ready node -l trainyard.dev/simulated=true";
    until("the nodes are ready", || shell.run(ready).code == 0);
    test(&server, &shell);
}

/// An operator that has everything it needs.
#[track_caller]
pub(crate) fn start(server: &Server, shell: &Shell<'_>) -> Operator {
    let arguments = ["--install-definitions", "--tools-image=registry/trainyard"];
    let operator = Operator::start(server, &arguments);
    operator.leads(shell);
    operator
}

/// Plays scenarios on such a cluster, all at once, with one operator for all.
#[track_caller]
pub(crate) fn play<Play: Fn(&Team<'_>) + Sync>(scenarios: &[(&str, Play)]) {
    with_nodes(|server, shell| {
        let _operator = start(server, shell);
        play_on(server, shell, User::Us, scenarios);
    });
}

/// A pod that runs in the eyes of its node.
#[track_caller]
fn running(team: &Team<'_>, pod: &str) -> Value {
    team.until(&format!("pods/{pod}"), |pod| {
        pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
    })
}

fn terminated(code: i32) -> Value {
    let (reason, words) = match code {
        0 => ("Completed", ""),
        _ => ("Error", "the last words"),
    };
    json!({
        "exitCode": code, "reason": reason, "message": words,
        "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:00Z",
    })
}

#[track_caller]
fn tell(team: &Team<'_>, pod: &str, status: Value) {
    let patch = json!({"status": status});
    team.ok(&format!(
        "patch pod {pod} --subresource=status --type=merge -p '{patch}'"
    ));
}

/// The first container of a pod, as its kubelet tells of it.
fn container(pod: &Value, restarts: u32, state: Value, last: Value) -> Value {
    let container = &pod["spec"]["containers"][0];
    json!([{
        "name": container["name"], "image": container["image"], "imageID": "", "ready": !state["running"].is_null(),
        "restartCount": restarts, "state": state, "lastState": last,
    }])
}

/// The program of a pod that runs has ended, and so has the pod.
#[track_caller]
pub(crate) fn end(team: &Team<'_>, pod: &str, code: i32) {
    let found = running(team, pod);
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let state = json!({"terminated": terminated(code)});
    let status = json!({"phase": phase, "containerStatuses": container(&found, 0, state, json!({}))});
    tell(team, pod, status);
}

/// The program of a pod has ended for the `count`th time and was started again.
#[track_caller]
pub(crate) fn restart(team: &Team<'_>, pod: &str, count: u32, code: i32) {
    let found = running(team, pod);
    let state = json!({"running": {"startedAt": "2026-01-01T00:01:00Z"}});
    let last = json!({"terminated": terminated(code)});
    tell(
        team,
        pod,
        json!({"containerStatuses": container(&found, count, state, last)}),
    );
}

/// A pod had to leave its node.
#[track_caller]
pub(crate) fn evict(team: &Team<'_>, pod: &str) {
    running(team, pod);
    let message = "The node was low on resource: memory.";
    tell(
        team,
        pod,
        json!({"phase": "Failed", "reason": "Evicted", "message": message}),
    );
}

/// The job when it runs with so many replicas of a role.
#[track_caller]
pub(crate) fn until_active(team: &Team<'_>, job: &str, role: &str, count: u32) -> Value {
    team.until(job, |job| {
        state(job) == "Running" && job["status"]["replicaStatuses"][role]["active"] == count
    })
}
