//! PyTorch itself: processes that share their gradients. It is Debian's, which is made for processors alone;
//! `cargo xtask frameworks` tries it.

use std::cell::Cell;

use client_tests::{
    User,
    manifests::Job,
    needed, pytorch,
    team::{Team, message, play_as},
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

#[test]
#[ignore = "large: cargo xtask frameworks"]
fn a_group_goes_on_as_processes_come_and_go() {
    if needed(pytorch()).is_none() {
        return;
    }
    for user in User::all() {
        play_as(user, &[("elastic", as_many_as_there_are)]);
    }
}

const CONTAINER: &str = "volumeMounts: [{name: program, mountPath: /program}]";
const POD: &str = "volumes: [{name: program, configMap: {name: program}}]";

fn bring_program(team: &Team<'_>, name: &str) {
    let program = format!("{}/tests/training/{name}", env!("CARGO_MANIFEST_DIR"));
    team.ok(&format!("create configmap program --from-file={program}"));
}

fn master_and_worker(team: &Team<'_>) {
    bring_program(team, "ddp.py");
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

/// `torchrun` is told everything by the variables of the job. Debian's Python is newer than its PyTorch, which can
/// start processes only where their output goes to a file, and shows it beside.
fn as_many_as_there_are(team: &Team<'_>) {
    bring_program(team, "elastic.py");
    let container = "env: [{name: PET_REDIRECTS, value: '1'}, {name: PET_TEE, value: '1'}], \
                     volumeMounts: [{name: program, mountPath: /program}]";
    let job = Job {
        roles: &[("Worker", 2, "OnFailure")],
        // The agent is to die as the shell sees it: a container's first process cannot be killed from within.
        command: "/usr/bin/python3 -m torch.distributed.run /program/elastic.py; exit $?",
        more: "nprocPerNode: '1', runPolicy: {backoffLimit: 5}, elasticPolicy: {rdzvBackend: c10d, minReplicas: 1, \
               maxReplicas: 3, maxRestarts: 5, rdzvConf: [{key: last_call_timeout, value: '5'}]}",
        container,
        pod: POD,
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until("pytorchjobs/job", |job| job["status"]["progress"] == "2/2");
    let before = until_groups(team, 2, 1);
    team.ok("exec job-worker-1 -- touch /tmp/die");
    until_groups(team, 2, before + 1);
    let job = team.until("pytorchjobs/job", |job| job["status"]["progress"] == "2/2");
    assert!(
        message(&job).contains("restart 1 of 5: worker-1 exit 137"),
        "{job:#}"
    );
    // As an autoscaler does it.
    team.ok("scale pytorchjob job --replicas=3");
    until_groups(team, 3, 1);
    team.ok("exec job-worker-2 -- touch /tmp/end");
    team.until_is("pytorchjobs/job", "Succeeded");
    for pod in ["job-worker-0", "job-worker-1", "job-worker-2"] {
        until_learned(team, pod, "of 3: weight 3.00");
    }
}

/// How many groups of this size the first worker has been in, when there were so many.
#[track_caller]
fn until_groups(team: &Team<'_>, size: usize, times: usize) -> usize {
    let known = Cell::new(0);
    // Its process says so once a group; that of another may be first in its rank.
    team.until("pods/job-worker-0", |_| {
        let log = team.ok("logs job-worker-0");
        let groups = log.lines().filter(|line| line.ends_with(&format!(" of {size}")));
        known.set(groups.count());
        known.get() >= times
    });
    known.get()
}
