//! From submission to the last trace: suspension, deadlines, what is cleaned up and when, and who is in
//! charge.

use serde_json::Value;

use client_tests::{
    manifests::{Job, UNTIL_TOLD},
    team::{Scenario, Team, conditions, message, names, play},
};

#[test]
fn a_job_does_what_its_run_policy_says() {
    let scenarios: [Scenario; 7] = [
        ("suspend", suspended_and_resumed),
        ("managed", managed_by_another),
        ("deadline", past_its_deadline),
        ("ttl", gone_when_its_time_is_over),
        ("clean", cleaned_up),
        ("budget", without_a_restart),
        ("shown", shown_by_kubectl),
    ];
    play(&scenarios);
}

fn suspended_and_resumed(team: &Team<'_>) {
    let job = Job {
        kind: "JAXJob",
        roles: &[("Worker", 2, "")],
        command: UNTIL_TOLD,
        more: "runPolicy: {suspend: true}",
        ..Job::default()
    };
    team.apply(&job.manifest());
    let waiting = team.until_is("jaxjobs/job", "Suspended");
    assert_eq!(conditions(&waiting), "Created Suspended");
    assert!(waiting["status"]["startTime"].is_null());
    assert!(team.pods().is_empty() && names(&team.find("services")).is_empty());

    let suspend = |suspend: bool| {
        let patch = format!("{{\"spec\":{{\"runPolicy\":{{\"suspend\":{suspend}}}}}}}");
        team.ok(&format!("patch jaxjob job --type=merge -p '{patch}'"));
    };
    suspend(false);
    let running = team.until("jaxjobs/job", |job| job["status"]["progress"] == "2/2");
    assert_eq!(conditions(&running), "Created -Suspended Running");
    suspend(true);
    let suspended = team.until("jaxjobs/job", |job| {
        conditions(job) == "Created -Running Suspended" && job["status"]["progress"] == "0/2"
    });
    assert_eq!(
        suspended["status"]["observedGeneration"],
        suspended["metadata"]["generation"]
    );
    assert!(team.pods().is_empty() && names(&team.find("services")).is_empty());
    suspend(false);
    team.until("jaxjobs/job", |job| job["status"]["progress"] == "2/2");
    for worker in 0..2 {
        team.ok(&format!("exec job-worker-{worker} -- sh -c 'echo 0 > /tmp/end'"));
    }
    let done = team.until_is("jaxjobs/job", "Succeeded");
    assert_eq!(conditions(&done), "Created -Suspended -Running Succeeded");
}

/// Kueue's dispatcher takes jobs to other clusters: nothing may happen to them here.
fn managed_by_another(team: &Team<'_>) {
    let job = |kind: &str, name: &str, policy: &str| {
        let roles: &[(&str, u32, &str)] = match kind {
            "XGBoostJob" => &[("Master", 1, "")],
            "MXJob" => &[("Scheduler", 1, "")],
            "MPIJob" => &[("Launcher", 1, "")],
            _ => &[("Worker", 1, "")],
        };
        let mode = if kind == "MXJob" { ", jobMode: MXTrain" } else { "" };
        let job = Job {
            kind,
            name: &format!("{name}-{}", kind.to_lowercase()),
            roles,
            more: &format!("runPolicy: {{{policy}}}{mode}"),
            ..Job::default()
        };
        team.apply(&job.manifest());
    };
    for kind in [
        "TFJob",
        "PyTorchJob",
        "XGBoostJob",
        "PaddleJob",
        "JAXJob",
        "MXJob",
        "MPIJob",
    ] {
        job(kind, "theirs", "managedBy: kueue.x-k8s.io/multikueue");
        job(kind, "ours", "managedBy: kubeflow.org/training-operator");
    }
    for job in [
        "tfjob",
        "pytorchjob",
        "xgboostjob",
        "paddlejob",
        "jaxjob",
        "mxjob",
        "mpijob",
    ] {
        team.until_is(&format!("{job}s/ours-{job}"), "Succeeded");
        // Those were submitted before, and by the same loop would have been seen before.
        let theirs = team.find(&format!("{job}s/theirs-{job}"));
        assert!(theirs.is_object() && theirs["status"].is_null());
    }
    assert!(team.pods().iter().all(|pod| pod.starts_with("ours-")));
}

fn past_its_deadline(team: &Team<'_>) {
    let job = Job {
        roles: &[("Master", 1, ""), ("Worker", 1, "")],
        command: "sleep infinity",
        more: "runPolicy: {activeDeadlineSeconds: 2, cleanPodPolicy: All}",
        ..Job::default()
    };
    team.apply(&job.manifest());
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "Job job has failed because it was active longer than specified deadline"
    );
    team.until("pods", |pods| names(pods).is_empty());
    assert!(names(&team.find("services")).is_empty());
}

fn gone_when_its_time_is_over(team: &Team<'_>) {
    let job = Job {
        kind: "TFJob",
        roles: &[("Worker", 2, "")],
        more: "runPolicy: {ttlSecondsAfterFinished: 1}",
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until("tfjobs/job", Value::is_null);
    team.until("pods", |pods| names(pods).is_empty());
    team.until("services", |services| names(services).is_empty());
}

fn cleaned_up(team: &Team<'_>) {
    let job = |name: &str, policy: &str| {
        let job = Job {
            name,
            roles: &[("Master", 1, ""), ("Worker", 1, "")],
            command: UNTIL_TOLD,
            more: &format!("runPolicy: {{cleanPodPolicy: {policy}}}"),
            ..Job::default()
        };
        team.apply(&job.manifest());
    };
    job("all", "All");
    job("running", "Running");
    job("none", "None");
    for name in ["all", "running", "none"] {
        let job = format!("pytorchjobs/{name}");
        team.until(&job, |job| job["status"]["progress"] == "2/2");
        // Only the master comes to an end.
        team.ok(&format!("exec {name}-master-0 -- sh -c 'echo 0 > /tmp/end'"));
        team.until_is(&job, "Succeeded");
    }
    let wanted = ["none-master-0", "none-worker-0", "running-master-0"];
    team.until("pods", |pods| names(pods) == wanted);
    team.until("services", |services| names(services) == wanted);
    // Counters stay true after the end.
    team.until("pytorchjobs/none", |job| {
        let counted = &job["status"]["replicaStatuses"];
        counted["Master"]["succeeded"] == 1 && counted["Worker"]["active"] == 1
    });
}

fn without_a_restart(team: &Team<'_>) {
    let job = Job {
        kind: "XGBoostJob",
        roles: &[("Master", 1, "ExitCode")],
        command: "echo the last words; exit 137",
        more: "runPolicy: {backoffLimit: 0}",
        ..Job::default()
    };
    team.apply(&job.manifest());
    let failed = team.until_is("xgboostjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "Job job has failed because it has reached the specified backoff limit: master-0 exit 137: the last words"
    );
    assert_eq!(team.pods(), ["job-master-0"]);
}

fn shown_by_kubectl(team: &Team<'_>) {
    let job = Job {
        kind: "PaddleJob",
        roles: &[("Worker", 2, "")],
        command: "sleep infinity",
        ..Job::default()
    };
    team.apply(&job.manifest());
    let job = team.until("paddlejobs/job", |job| job["status"]["progress"] == "2/2");
    assert_eq!(job["status"]["observedGeneration"], 1);
    assert_eq!(job["status"]["replicaStatuses"]["Worker"]["active"], 2);
    let shown = team.ok("get tfjobs,pytorchjobs,xgboostjobs,paddlejobs,jaxjobs,mpijobs,mxjobs");
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert_eq!(lines[0], ["NAME", "STATE", "PROGRESS", "AGE"]);
    assert_eq!(lines[1][..3], ["paddlejob.kubeflow.org/job", "Running", "2/2"]);
    // As a user scales it.
    team.ok("scale paddlejob job --replicas=3");
    team.until("paddlejobs/job", |job| job["status"]["progress"] == "3/3");
    assert_eq!(team.pods(), ["job-worker-0", "job-worker-1", "job-worker-2"]);
    team.ok("scale paddlejob job --replicas=1");
    team.until("pods", |pods| names(pods) == ["job-worker-0"]);
    let shrunk = team.until("paddlejobs/job", |job| job["status"]["progress"] == "1/1");
    assert_eq!(shrunk["status"]["observedGeneration"], 3);
    // The operator inside the cluster is measured with it.
    let measured = team.ok("get --raw /metrics");
    let of_team = |line: &str| line.contains(&format!("job_namespace=\"{}\"", team.namespace));
    let created = |line: &&str| line.starts_with("training_operator_jobs_created_total{") && of_team(line);
    let created = measured.lines().find(created).unwrap_or_default();
    assert!(created.ends_with(" 1"), "{created:?}");
}
