//! What jobs ask for beside their replicas: restarts, suspension, deadlines, who is in charge, what stays. And
//! what is in their way.

use client_tests::{
    manifests::Job,
    team::{Scenario, Team, conditions, message, names},
};
use serde_json::{Value, json};

use crate::simulation::{end, evict, job, play, restart, until_active};

#[test]
fn replicas_that_fail_are_restarted_as_their_job_says() {
    let scenarios: [Scenario; 7] = [
        ("never", never),
        ("exit-code", by_exit_code),
        ("in-place", by_the_kubelet),
        ("evicted", evicted),
        ("deleted", deleted),
        ("launcher-deleted", launcher_deleted),
        ("gang", all_together),
    ];
    play(&scenarios);
}

#[test]
fn a_job_is_run_as_its_policy_says() {
    let scenarios: [Scenario; 9] = [
        ("suspend", suspended_and_resumed),
        ("launcher", told_to_go_elsewhere),
        ("managed", managed_by_another),
        ("deadline", past_its_deadline),
        ("ttl", gone_when_its_time_is_over),
        ("clean", cleaned_up),
        ("scale", made_larger_and_smaller),
        ("mended", kept_as_wanted),
        ("collision", something_is_in_the_way),
    ];
    play(&scenarios);
}

/// Three workers that run.
fn submit(team: &Team<'_>, policy: &str, annotations: &str) {
    let job = Job {
        roles: &[("Worker", 3, policy)],
        more: "runPolicy: {backoffLimit: 2, cleanPodPolicy: None}",
        annotations,
        ..job()
    };
    team.apply(&job.manifest());
    until_active(team, "pytorchjobs/job", "Worker", 3);
}

fn never(team: &Team<'_>) {
    submit(team, "Never", "");
    end(team, "job-worker-2", 1);
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "PyTorchJob job is failed because 1 Worker replica(s) failed. worker-2 exit 1: the last words"
    );
    assert_eq!(conditions(&failed), "Created -Running Failed");
}

fn by_exit_code(team: &Team<'_>) {
    submit(team, "ExitCode", "");
    let before = team.uid("pods/job-worker-1");
    end(team, "job-worker-1", 137);
    team.until("pytorchjobs/job", |job| job["status"]["restarts"]["count"] == 1);
    until_active(team, "pytorchjobs/job", "Worker", 3);
    assert_ne!(team.uid("pods/job-worker-1"), before);
    end(team, "job-worker-0", 3);
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "job \"job\" is failing because \"Worker\" replica(s) failed. worker-0 exit 3: the last words"
    );
}

/// What the kubelet restarts is counted as any other restart.
fn by_the_kubelet(team: &Team<'_>) {
    submit(team, "OnFailure", "");
    restart(team, "job-worker-1", 1, 137);
    team.until_says("pytorchjobs/job", "restart 1 of 2: worker-1 exit 137");
    restart(team, "job-worker-1", 2, 137);
    team.until_says("pytorchjobs/job", "restart 2 of 2: worker-1 exit 137");
    restart(team, "job-worker-1", 3, 137);
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert!(
        message(&failed).starts_with("Job job has failed because it has reached the specified backoff limit"),
        "{}",
        message(&failed)
    );
}

fn evicted(team: &Team<'_>) {
    submit(team, "ExitCode", "");
    let before = team.uid("pods/job-worker-0");
    evict(team, "job-worker-0");
    team.until("pytorchjobs/job", |job| job["status"]["restarts"]["count"] == 1);
    until_active(team, "pytorchjobs/job", "Worker", 3);
    assert_ne!(team.uid("pods/job-worker-0"), before);
}

fn deleted(team: &Team<'_>) {
    submit(team, "Never", "");
    let before = team.uid("pods/job-worker-1");
    team.ok("delete pod job-worker-1");
    team.until("pods/job-worker-1", |pod| {
        pod["metadata"]["uid"].is_string() && pod["metadata"]["uid"] != before.as_str()
    });
    until_active(team, "pytorchjobs/job", "Worker", 3);
}

/// Somebody deletes the batch Job of a launcher, at once. What it has used of the restarts stays used.
fn launcher_deleted(team: &Team<'_>) {
    let mpi = Job {
        kind: "MPIJob",
        roles: &[("Launcher", 1, ""), ("Worker", 1, "")],
        more: "runPolicy: {backoffLimit: 2}",
        ..job()
    };
    team.apply(&launched(&mpi));
    until_active(team, "mpijobs/job", "Launcher", 1);
    let launcher = || {
        let mut pods = team.pods().into_iter();
        pods.find(|pod| pod.starts_with("job-launcher-")).unwrap()
    };
    end(team, &launcher(), 1);
    team.until("mpijobs/job", |job| {
        let launcher = &job["status"]["replicaStatuses"]["Launcher"];
        launcher["failed"] == 1 && launcher["active"] == 1
    });
    let before = team.uid("jobs/job-launcher");
    team.ok("delete job job-launcher");
    team.until("jobs/job-launcher", |job| {
        job["metadata"]["uid"].is_string() && job["metadata"]["uid"] != before.as_str()
    });
    let running = until_active(team, "mpijobs/job", "Launcher", 1);
    assert_eq!(running["status"]["restarts"]["count"], 1, "{running:#}");
    let launcher = team.find("jobs/job-launcher");
    assert_eq!(launcher["spec"]["backoffLimit"], 1);
}

fn all_together(team: &Team<'_>) {
    submit(team, "OnFailure", "trainyard.dev/gang-restart: \"true\"");
    let uids = || (0..3).map(|worker| team.uid(&format!("pods/job-worker-{worker}")));
    let before: Vec<String> = uids().collect();
    end(team, "job-worker-2", 1);
    team.until("pytorchjobs/job", |job| job["status"]["restarts"]["gang"] == 1);
    let running = until_active(team, "pytorchjobs/job", "Worker", 3);
    assert!(uids().all(|uid| !before.contains(&uid)));
    assert!(message(&running).ends_with("restart 1 of 2: worker-2 exit 1: the last words"));
}

fn suspended_and_resumed(team: &Team<'_>) {
    let job = Job {
        kind: "JAXJob",
        roles: &[("Worker", 2, "")],
        more: "runPolicy: {suspend: true}",
        ..job()
    };
    team.apply(&job.manifest());
    let waiting = team.until_is("jaxjobs/job", "Suspended");
    assert!(waiting["status"]["startTime"].is_null());
    assert!(team.pods().is_empty());
    let suspend = |suspend: bool| {
        let patch = format!("{{\"spec\":{{\"runPolicy\":{{\"suspend\":{suspend}}}}}}}");
        team.ok(&format!("patch jaxjob job --type=merge -p '{patch}'"));
    };
    suspend(false);
    until_active(team, "jaxjobs/job", "Worker", 2);
    suspend(true);
    team.until("jaxjobs/job", |job| {
        conditions(job) == "Created -Running Suspended"
    });
    team.until("pods", |pods| names(pods).is_empty());
    suspend(false);
    until_active(team, "jaxjobs/job", "Worker", 2);
}

/// A job whose launcher is a batch Job. Pods of those run for a second on simulated nodes unless they say more.
fn launched(mpi: &Job<'_>) -> String {
    let runs_on = "template: {metadata: {annotations: {trainyard.dev/simulated-duration: \"3600\"}}, ";
    let manifest = mpi.manifest().replace("template: {", runs_on);
    manifest.replace("kubeflow.org/v1,", "kubeflow.org/v2beta1,")
}

/// As Kueue does it with jobs that stand still, whether they have run before or not: their pods are to go elsewhere,
/// and there are fewer or more of them.
fn told_to_go_elsewhere(team: &Team<'_>) {
    let mpi = Job {
        kind: "MPIJob",
        roles: &[("Launcher", 1, ""), ("Worker", 2, "")],
        more: "runPolicy: {suspend: true}",
        pod: "nodeSelector: {trainyard.dev/simulated: \"true\", pool: nowhere}",
        ..job()
    };
    team.apply(&launched(&mpi));
    let change = |spec: Value| {
        let patch = json!({ "spec": spec });
        team.ok(&format!(
            "patch mpijob.v2beta1.kubeflow.org job --type=merge -p '{patch}'"
        ));
    };
    let replicas = |nodes: Value, workers: u32| {
        let template = json!({"spec": {"nodeSelector": nodes}});
        json!({"Launcher": {"template": template}, "Worker": {"template": template, "replicas": workers}})
    };
    let nodes = |job: &Value| job["spec"]["template"]["spec"]["nodeSelector"].clone();
    team.until("jobs/job-launcher", |job| nodes(job)["pool"] == "nowhere");
    let first = team.uid("jobs/job-launcher");
    change(json!({"mpiReplicaSpecs": replicas(json!({"pool": null}), 1), "runPolicy": {"suspend": false}}));
    until_active(team, "mpijobs/job", "Launcher", 1);
    let launcher = team.find("jobs/job-launcher");
    assert_eq!(nodes(&launcher), json!({"trainyard.dev/simulated": "true"}));
    assert_eq!(launcher["metadata"]["uid"], first.as_str());

    change(json!({"runPolicy": {"suspend": true}}));
    team.until("pods", |pods| names(pods).is_empty());
    change(json!({"mpiReplicaSpecs": replicas(json!({"kubernetes.io/os": "linux"}), 3)}));
    change(json!({"runPolicy": {"suspend": false}}));
    let launcher = team.until("jobs/job-launcher", |job| {
        nodes(job)["kubernetes.io/os"] == "linux"
    });
    assert_ne!(launcher["metadata"]["uid"], first.as_str());
    until_active(team, "mpijobs/job", "Worker", 3);
    let running = until_active(team, "mpijobs/job", "Launcher", 1);
    assert!(running["status"]["restarts"].is_null(), "{running:#}");
    let pods = team.pods();
    let launchers: Vec<&String> = pods
        .iter()
        .filter(|pod| pod.starts_with("job-launcher-"))
        .collect();
    assert_eq!(launchers.len(), 1, "{pods:?}");
    end(team, launchers[0], 0);
    team.until_is("mpijobs/job", "Succeeded");
}

/// Kueue's dispatcher takes jobs to other clusters: nothing may happen to them here.
fn managed_by_another(team: &Team<'_>) {
    let kinds = [
        ("TFJob", "Worker"),
        ("PyTorchJob", "Worker"),
        ("XGBoostJob", "Master"),
        ("PaddleJob", "Worker"),
        ("JAXJob", "Worker"),
    ];
    for (kind, role) in kinds {
        let roles = [(role, 1, "")];
        for (name, manager) in [
            ("theirs", "kueue.x-k8s.io/multikueue"),
            ("ours", "kubeflow.org/training-operator"),
        ] {
            let job = Job {
                kind,
                name: &format!("{name}-{}", kind.to_lowercase()),
                roles: &roles,
                more: &format!("runPolicy: {{managedBy: {manager}}}"),
                ..job()
            };
            team.apply(&job.manifest());
        }
    }
    for (kind, _) in kinds {
        let kind = kind.to_lowercase();
        team.until_is(&format!("{kind}s/ours-{kind}"), "Running");
        // Submitted before the other, and seen before it.
        assert!(team.find(&format!("{kind}s/theirs-{kind}"))["status"].is_null());
    }
    assert!(team.pods().iter().all(|pod| pod.starts_with("ours-")));
}

fn past_its_deadline(team: &Team<'_>) {
    let job = Job {
        roles: &[("Master", 1, ""), ("Worker", 1, "")],
        more: "runPolicy: {activeDeadlineSeconds: 3, cleanPodPolicy: All}",
        ..job()
    };
    team.apply(&job.manifest());
    let failed = team.until_is("pytorchjobs/job", "Failed");
    assert_eq!(
        message(&failed),
        "Job job has failed because it was active longer than specified deadline"
    );
    team.until("pods", |pods| names(pods).is_empty());
}

fn gone_when_its_time_is_over(team: &Team<'_>) {
    let job = Job {
        kind: "TFJob",
        roles: &[("Chief", 1, ""), ("Worker", 1, "")],
        more: "runPolicy: {ttlSecondsAfterFinished: 2}",
        ..job()
    };
    team.apply(&job.manifest());
    end(team, "job-chief-0", 0);
    team.until("tfjobs/job", Value::is_null);
    team.until("pods", |pods| names(pods).is_empty());
    team.until("services", |services| names(services).is_empty());
}

fn cleaned_up(team: &Team<'_>) {
    for (name, policy) in [("all", "All"), ("running", "Running"), ("none", "None")] {
        let job = Job {
            name,
            roles: &[("Master", 1, ""), ("Worker", 1, "")],
            more: &format!("runPolicy: {{cleanPodPolicy: {policy}}}"),
            ..job()
        };
        team.apply(&job.manifest());
        let path = format!("pytorchjobs/{name}");
        until_active(team, &path, "Worker", 1);
        end(team, &format!("{name}-master-0"), 0);
        team.until_is(&path, "Succeeded");
    }
    let wanted = ["none-master-0", "none-worker-0", "running-master-0"];
    team.until("pods", |pods| names(pods) == wanted);
    team.until("services", |services| names(services) == wanted);
}

fn made_larger_and_smaller(team: &Team<'_>) {
    let job = Job {
        kind: "PaddleJob",
        roles: &[("Worker", 2, "")],
        ..job()
    };
    team.apply(&job.manifest());
    until_active(team, "paddlejobs/job", "Worker", 2);
    team.ok("scale paddlejob job --replicas=3");
    until_active(team, "paddlejobs/job", "Worker", 3);
    team.ok("scale paddlejob job --replicas=1");
    until_active(team, "paddlejobs/job", "Worker", 1);
    team.until("pods", |pods| names(pods) == ["job-worker-0"]);
    team.until("services", |services| names(services) == ["job-worker-0"]);
}

/// What is made for a job holds what the job wants now and nothing else, whoever wrote it.
fn kept_as_wanted(team: &Team<'_>) {
    let mpi = Job {
        kind: "MPIJob",
        roles: &[("Launcher", 1, ""), ("Worker", 2, "")],
        ..job()
    };
    team.apply(&mpi.manifest());
    until_active(team, "mpijobs/job", "Worker", 2);
    team.ok("label configmap job-config mine=kept");
    team.ok(
        r#"patch configmap job-config --type=merge -p '{"data": {"old.sh": "true", "hostfile": "nobody"}}'"#,
    );
    team.until("configmaps/job-config", |map| {
        map["data"]["old.sh"].is_null()
            && map["data"]["hostfile"] == "job-worker-0 slots=1\njob-worker-1 slots=1\n"
    });
    team.ok(
        r#"patch mpijob job --type=merge -p '{"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}}'"#,
    );
    let map = team.until("configmaps/job-config", |map| {
        map["data"]["hostfile"] == "job-worker-0 slots=1\n"
            && map["data"]["discover_hosts.sh"] == "#!/bin/sh\necho job-worker-0:1"
    });
    assert_eq!(map["metadata"]["labels"]["mine"], "kept");
    team.until("roles/job-launcher", |role| {
        role["rules"][1]["resourceNames"] == json!(["job-worker-0"])
    });
    let elastic = |max: u32, load: u32| {
        let target = format!("target: {{type: Utilization, averageUtilization: {load}}}");
        format!(
            "elasticPolicy: {{maxReplicas: {max}, minReplicas: 1, metrics: [{{type: Resource, resource: {{name: cpu, {target}}}}}]}}"
        )
    };
    for (max, load) in [(3, 80), (2, 80), (2, 50)] {
        let job = Job {
            name: "elastic",
            more: &elastic(max, load),
            ..job()
        };
        team.apply(&job.manifest());
        team.until("horizontalpodautoscalers/elastic", |autoscaler| {
            let metric = &autoscaler["spec"]["metrics"][0]["resource"];
            autoscaler["spec"]["maxReplicas"] == max && metric["target"]["averageUtilization"] == load
        });
    }
    // Nobody else decides what it goes by.
    team.ok(r#"patch hpa elastic --type=merge -p '{"spec": {"metrics": [{"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}]}}'"#);
    team.until("horizontalpodautoscalers/elastic", |autoscaler| {
        autoscaler["spec"]["metrics"][0]["resource"]["name"] == "cpu"
    });
}

/// Objects of others have the names of children: they stay as they are, and nothing is made beside them.
fn something_is_in_the_way(team: &Team<'_>) {
    team.ok("create service clusterip job-master-0 --clusterip=None");
    team.ok("create configmap mpi-config --from-literal=mine=kept");
    let pair = Job {
        roles: &[("Master", 1, ""), ("Worker", 1, "")],
        ..job()
    };
    team.apply(&pair.manifest());
    let mpi = Job {
        kind: "MPIJob",
        name: "mpi",
        roles: &[("Launcher", 1, ""), ("Worker", 1, "")],
        ..job()
    };
    team.apply(&mpi.manifest());
    team.until_says("pytorchjobs/job", "job-master-0");
    team.until_says("mpijobs/mpi", "mpi-config");
    assert!(team.pods().is_empty());
    let kept = team.find("configmaps/mpi-config");
    assert_eq!(kept["data"]["mine"], "kept");
    team.ok("delete service job-master-0");
    team.ok("delete configmap mpi-config");
    team.until_is("pytorchjobs/job", "Running");
    team.until_is("mpijobs/mpi", "Running");
}
