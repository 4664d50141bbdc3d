//! A replica dies while its job runs: by its own exit, by `kill -9`, with its pod, for want of memory.

use std::{
    ffi::OsString,
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use client_tests::{
    manifests::{Job, UNTIL_TOLD},
    team::{Scenario, Team, conditions, message, play, state},
};

#[test]
fn a_worker_that_dies_is_dealt_with_as_its_restart_policy_says() {
    let scenarios: [Scenario; 13] = [
        ("always", |team| restarted_in_its_pod(team, "Always")),
        ("onfailure", |team| restarted_in_its_pod(team, "OnFailure")),
        ("never", never),
        ("exitcode", by_exit_code),
        ("gang", all_together),
        ("deleted", a_deleted_pod),
        ("stopped", programs_that_do_not_like_to_be_stopped),
        ("killed-always", |team| killed_and_restarted(team, "Always")),
        ("killed-onfailure", |team| killed_and_restarted(team, "OnFailure")),
        ("killed-exitcode", |team| killed_and_restarted(team, "ExitCode")),
        ("killed-never", killed_for_good),
        ("memory", out_of_memory),
        ("waiting", says_what_it_waits_for),
    ];
    play(&scenarios);
}

fn submit(team: &Team<'_>, policy: &str, annotations: &str) {
    let job = Job {
        roles: &[("Worker", 3, policy)],
        command: UNTIL_TOLD,
        more: "runPolicy: {backoffLimit: 2, cleanPodPolicy: None}",
        annotations,
        ..Job::default()
    };
    team.apply(&job.manifest());
    all_run(team);
}

#[track_caller]
fn all_run(team: &Team<'_>) -> Value {
    team.until("pytorchjobs/job", |job| {
        state(job) == "Running" && job["status"]["replicaStatuses"]["Worker"]["active"] == 3
    })
}

/// Makes the program of a worker end.
#[track_caller]
fn end(team: &Team<'_>, worker: u32, code: u32) {
    team.ok(&format!(
        "exec job-worker-{worker} -- sh -c 'echo {code} > /tmp/end'"
    ));
}

#[track_caller]
fn end_well(team: &Team<'_>) {
    (0..3).for_each(|worker| end(team, worker, 0));
}

/// The kubelet restarts the container; that counts as much as any other restart.
fn restarted_in_its_pod(team: &Team<'_>, policy: &str) {
    submit(team, policy, "");
    let before = team.uid("pods/job-worker-1");
    end(team, 1, 137);
    team.until_says(
        "pytorchjobs/job",
        "restart 1 of 2: worker-1 exit 137: the last words",
    );
    all_run(team);
    assert_eq!(team.uid("pods/job-worker-1"), before);
    for _ in 0..2 {
        team.until("pods/job-worker-1", |pod| {
            !pod["status"]["containerStatuses"][0]["state"]["running"].is_null()
        });
        end(team, 1, 137);
        team.until("pods/job-worker-1", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["running"].is_null()
        });
    }
    let failed = team.until_is("pytorchjobs/job", "Failed");
    let wanted = "Job job has failed because it has reached the specified backoff limit: worker-1 exit 137";
    assert!(message(&failed).starts_with(wanted), "{}", message(&failed));
    assert!(!failed["status"]["completionTime"].is_null());
}

fn never(team: &Team<'_>) {
    submit(team, "Never", "");
    end(team, 2, 1);
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "PyTorchJob job is failed because 1 Worker replica(s) failed. worker-2 exit 1: the last words"
    );
    assert_eq!(conditions(&failed), "Created -Running Failed");
    let counted = &failed["status"]["replicaStatuses"]["Worker"];
    assert_eq!((&counted["active"], &counted["failed"]), (&2.into(), &1.into()));
}

fn by_exit_code(team: &Team<'_>) {
    submit(team, "ExitCode", "");
    let before = team.uid("pods/job-worker-1");
    end(team, 1, 137);
    team.until("pytorchjobs/job", |job| job["status"]["restarts"]["count"] == 1);
    let running = all_run(team);
    assert_ne!(team.uid("pods/job-worker-1"), before);
    assert_eq!(
        message(&running),
        "PyTorchJob by-exit-code/job is running. restart 1 of 2: worker-1 exit 137: the last words"
            .replace("by-exit-code", team.namespace)
    );
    end(team, 0, 3);
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "job \"job\" is failing because \"Worker\" replica(s) failed. worker-0 exit 3: the last words"
    );
}

/// The kubelet would restart one of them; all are to be restarted.
fn all_together(team: &Team<'_>) {
    submit(team, "OnFailure", "trainyard.dev/gang-restart: \"true\"");
    let uids = || (0..3).map(|worker| team.uid(&format!("pods/job-worker-{worker}")));
    let before: Vec<String> = uids().collect();
    end(team, 2, 1);
    team.until("pytorchjobs/job", |job| job["status"]["restarts"]["gang"] == 1);
    let running = all_run(team);
    assert!(uids().all(|uid| !before.contains(&uid)));
    assert_eq!(
        running["status"]["restarts"]["cause"],
        "worker-2 exit 1: the last words"
    );
    assert!(message(&running).ends_with("restart 1 of 2: worker-2 exit 1: the last words"));
    end_well(team);
    let succeeded = team.until_is("pytorchjobs/job", "Succeeded");
    assert_eq!(succeeded["status"]["replicaStatuses"]["Worker"]["succeeded"], 3);
}

/// Whoever deletes a pod wants another; the job goes on.
fn a_deleted_pod(team: &Team<'_>) {
    submit(team, "Never", "");
    let before = team.uid("pods/job-worker-1");
    team.ok("delete pod job-worker-1");
    // The job's status still counts the old one for a moment.
    team.until("pods/job-worker-1", |pod| {
        pod["metadata"]["uid"] != before.as_str() && pod["status"]["phase"] == "Running"
    });
    all_run(team);
    end_well(team);
    team.until_is("pytorchjobs/job", "Succeeded");
}

/// Programs have time to stop and end badly: neither who deletes a pod nor who suspends the job has made it fail.
fn programs_that_do_not_like_to_be_stopped(team: &Team<'_>) {
    let job = Job {
        roles: &[("Worker", 3, "Never")],
        command: &format!("trap 'sleep 1; exit 1' TERM; {UNTIL_TOLD}"),
        more: "runPolicy: {backoffLimit: 0, suspend: false}",
        ..Job::default()
    };
    let patient = "terminationGracePeriodSeconds: 30";
    team.apply(
        &job.manifest()
            .replace("terminationGracePeriodSeconds: 0", patient),
    );
    all_run(team);
    let uids = || (0..3).map(|worker| team.uid(&format!("pods/job-worker-{worker}")));
    let first: Vec<String> = uids().collect();
    team.ok("delete pod job-worker-1");
    team.until("pods/job-worker-1", |pod| {
        pod["metadata"]["uid"] != first[1].as_str() && pod["status"]["phase"] == "Running"
    });
    all_run(team);
    let second: Vec<String> = uids().collect();
    for suspend in [true, false] {
        let patch = format!("{{\"spec\":{{\"runPolicy\":{{\"suspend\":{suspend}}}}}}}");
        team.ok(&format!("patch pytorchjob job --type=merge -p '{patch}'"));
        let state = if suspend { "True" } else { "False" };
        team.until("pytorchjobs/job", |job| {
            let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
            let mut suspended = conditions.filter(|condition| condition["type"] == "Suspended");
            suspended.any(|condition| condition["status"] == state)
        });
    }
    let running = all_run(team);
    assert!(uids().all(|uid| !first.contains(&uid) && !second.contains(&uid)));
    assert!(running["status"]["restarts"].is_null(), "{:#}", running["status"]);
    end_well(team);
    team.until_is("pytorchjobs/job", "Succeeded");
}

/// The program itself is killed from outside of its pod.
fn killed_and_restarted(team: &Team<'_>, policy: &str) {
    let running = a_killed_process(team, policy, |job| message(job).contains("restart 1 of 5: "));
    let cause = message(&running);
    assert!(
        ["worker-0 exit 137", "worker-1 exit 137"]
            .iter()
            .any(|wanted| cause.contains(wanted)),
        "{cause}"
    );
    team.until("jaxjobs/job", |job| {
        state(job) == "Running" && job["status"]["replicaStatuses"]["Worker"]["active"] == 2
    });
}

fn killed_for_good(team: &Team<'_>) {
    let failed = a_killed_process(team, "Never", |job| state(job) == "Failed");
    assert!(message(&failed).contains("exit 137"), "{}", message(&failed));
    assert!(!failed["status"]["completionTime"].is_null());
}

/// The job, once it is as expected after one of its two programs was killed.
fn a_killed_process(team: &Team<'_>, policy: &str, is_expected: fn(&Value) -> bool) -> Value {
    // No other test, and no other policy, has a program with these arguments.
    let command = format!("sleep infinity {} {}", team.server.pid(), policy.len());
    let job = Job {
        kind: "JAXJob",
        roles: &[("Worker", 2, policy)],
        command: &format!("exec {command}"),
        more: "runPolicy: {backoffLimit: 5, cleanPodPolicy: All}",
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until("jaxjobs/job", |job| {
        job["status"]["replicaStatuses"]["Worker"]["active"] == 2
    });
    kill_one(&command);
    team.until("jaxjobs/job", is_expected)
}

/// `kill -9` of one process with this command line.
#[track_caller]
fn kill_one(command: &str) {
    let pid = until_found(command);
    let killed = std::process::Command::new("kill").arg("-9").arg(pid).status();
    assert!(killed.is_ok_and(|status| status.success()));
}

/// A pod runs before its shell has become the program.
fn until_found(command: &str) -> OsString {
    let wanted = format!("{}\0", command.replace(' ', "\0"));
    let is_it = |pid: &OsString| {
        fs::read(format!("/proc/{}/cmdline", pid.display())).is_ok_and(|line| line == wanted.as_bytes())
    };
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let entries = fs::read_dir("/proc").expect("there are processes");
        if let Some(pid) = entries.flatten().map(|entry| entry.file_name()).find(is_it) {
            return pid;
        }
        assert!(Instant::now() < end, "nothing runs as `{command}`");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Where there are control groups for us, limits are kept; elsewhere the program gets what it wants.
fn out_of_memory(team: &Team<'_>) {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    let job = Job {
        kind: "TFJob",
        roles: &[("Worker", 1, "ExitCode")],
        command: "python3 -c 'x = bytearray(256 << 20)'",
        more: "runPolicy: {backoffLimit: 0}",
        container: "resources: {limits: {memory: 64Mi}}",
        ..Job::default()
    };
    team.apply(&job.manifest());
    let ended = team.until("tfjobs/job", |job| !job["status"]["completionTime"].is_null());
    assert!(
        state(&ended) == "Succeeded" || message(&ended).contains("worker-0 exit 137, OOMKilled"),
        "{}",
        message(&ended)
    );
}

/// Why a job does not run is said by the job.
fn says_what_it_waits_for(team: &Team<'_>) {
    let pull = Job {
        kind: "JAXJob",
        name: "pull",
        ..Job::default()
    };
    team.apply(
        &pull
            .manifest()
            .replace("image: host", "image: registry.invalid/none:1"),
    );
    let crash = Job {
        kind: "JAXJob",
        name: "crash",
        roles: &[("Worker", 1, "OnFailure")],
        command: "echo the last words; exit 3",
        ..Job::default()
    };
    team.apply(&crash.manifest());
    team.until_says(
        "jaxjobs/pull",
        "worker-0: ErrImagePull: failed to pull and unpack image",
    );
    team.until_says(
        "jaxjobs/crash",
        "worker-0: CrashLoopBackOff after exit 3: the last words",
    );
    team.ok("create quota few --hard=services=0");
    let quota = Job {
        kind: "PaddleJob",
        name: "quota",
        // Its pod needs no service: it must not be over before anybody has looked.
        command: UNTIL_TOLD,
        ..Job::default()
    };
    team.apply(&quota.manifest());
    team.until_says(
        "paddlejobs/quota",
        "exceeded quota: few, requested: services=1, used: services=",
    );
    // What is left to be made follows when there is room.
    team.ok("delete quota few");
    team.until("services/quota-worker-0", Value::is_object);
    team.until("paddlejobs/quota", |job| !message(job).contains("exceeded quota"));
}
