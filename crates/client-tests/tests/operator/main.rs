//! `trainyard operator` as a process of its own: who acts when there are several, what it refuses, what it
//! counts, and what it needs on a cluster.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is how a test fails, and what led to it is printed"
)]

mod absence;
mod election;
mod gang;
mod kinds;
mod kueue;
mod nodes;
mod policies;
mod process;
mod queues;
mod rights;
mod simulation;
mod starting;
mod work;
mod workflows;

use std::time::{Duration, Instant};

use client_tests::{Release, Server, Shell, kubectl, needed};

/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// Runs a test with a server without controllers, and a shell that has kubectl.
#[track_caller]
fn with_server(test: impl FnOnce(&Server, &Shell<'_>)) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start();
    let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
    test(&server, &shell);
}

/// Looks again and again until it is as it should be.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "gave up waiting: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A PyTorchJob of a master and some workers.
fn job(name: &str, workers: u32) -> String {
    let replica = |count: u32| {
        format!(
            "{{replicas: {count}, template: {{spec: {{containers: [{{name: pytorch, image: host, command: [\"true\"]}}]}}}}}}"
        )
    };
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: {name}}}\nspec:\n  pytorchReplicaSpecs:\n    Master: {}\n    Worker: {}\n",
        replica(1),
        replica(workers)
    )
}

/// Submits what a text says.
#[track_caller]
fn apply(shell: &Shell<'_>, namespace: &str, text: &str) {
    shell.ok(&format!("kubectl apply -n {namespace} -f - <<'END'\n{text}END"));
}

/// Names and uids of all pods of a namespace.
#[track_caller]
fn pods(shell: &Shell<'_>, namespace: &str) -> Vec<String> {
    let columns = "custom-columns=NAME:.metadata.name,UID:.metadata.uid";
    let text = shell.ok(&format!(
        "kubectl get pods -n {namespace} --no-headers -o {columns}"
    ));
    text.lines().map(str::to_owned).collect()
}
