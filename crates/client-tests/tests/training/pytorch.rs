//! PyTorch itself: processes that share their gradients. It is Debian's, which is made for processors alone;
//! `cargo xtask frameworks` tries it. Its `torchrun` does not start a process with Debian's Python.

use client_tests::{
    User,
    manifests::Job,
    needed, pytorch,
    team::{Team, play_as},
};

#[test]
#[ignore = "large: cargo xtask frameworks"]
fn processes_of_a_job_learn_together() {
    if needed(pytorch()).is_none() {
        return;
    }
    for user in User::all() {
        play_as(user, &[("ddp", master_and_worker)]);
    }
}

const CONTAINER: &str = "volumeMounts: [{name: program, mountPath: /program}]";
const POD: &str = "volumes: [{name: program, configMap: {name: program}}]";

fn bring_program(team: &Team<'_>) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/training/ddp.py");
    team.ok(&format!("create configmap program --from-file={program}"));
}

fn master_and_worker(team: &Team<'_>) {
    bring_program(team);
    let job = Job {
        roles: &[("Master", 1, ""), ("Worker", 1, "")],
        command: "exec /usr/bin/python3 /program/ddp.py",
        container: CONTAINER,
        pod: POD,
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until_is("pytorchjobs/job", "Succeeded");
    for (pod, rank) in [("job-master-0", 0), ("job-worker-0", 1)] {
        until_learned(team, pod, &format!("rank {rank} of 2: weight 3.00"));
    }
}

/// The last words of a worker may come after the end of its job.
#[track_caller]
fn until_learned(team: &Team<'_>, pod: &str, words: &str) {
    team.until(&format!("pods/{pod}"), |pod| {
        pod["status"]["phase"] == "Succeeded"
    });
    let log = team.ok(&format!("logs {pod}"));
    assert!(log.contains(words), "{pod}: {log}");
}
