//! PyTorch itself: processes that share their gradients, and `torchrun`, which starts them again together.
//! It is Debian's, which is made for processors alone; `cargo xtask frameworks` tries it.

use client_tests::{
    User,
    manifests::Job,
    needed, pytorch,
    team::{Scenario, Team, names, play_as},
};

#[test]
#[ignore = "large: cargo xtask frameworks"]
fn processes_of_a_job_learn_together() {
    if needed(pytorch()).is_none() {
        return;
    }
    let scenarios: [Scenario; 2] = [("ddp", master_and_worker), ("elastic", elastic)];
    for user in User::all() {
        play_as(user, &scenarios);
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
        until_learned(team, pod, &format!("rank {rank} of 2, attempt 0: weight 3.00"));
    }
}

/// One process fails once; `torchrun` in both pods starts all of them again.
fn elastic(team: &Team<'_>) {
    bring_program(team);
    let job = Job {
        roles: &[("Worker", 2, "OnFailure")],
        command: "exec /usr/bin/torchrun /program/ddp.py",
        more: "elasticPolicy: {rdzvBackend: c10d, minReplicas: 2, maxReplicas: 2, maxRestarts: 3}, \
               nprocPerNode: \"1\"",
        container: &format!("env: [{{name: FAIL_ONCE, value: \"yes\"}}], {CONTAINER}"),
        pod: POD,
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until_is("pytorchjobs/job", "Succeeded");
    let mut logs = Vec::new();
    for pod in names(&team.find("pods")) {
        until_learned(team, &pod, "of 2, attempt 1: weight 3.00");
        logs.push(team.ok(&format!("logs {pod}")));
    }
    let log = logs.concat();
    assert!(
        log.contains("rank 0 of 2") && log.contains("rank 1 of 2"),
        "{log}"
    );
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
