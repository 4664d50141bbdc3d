//! The cluster is killed in the middle of things and started again.

use std::process::Command;

use client_tests::{
    Release, Server, Shell, User, kubectl,
    manifests::{Job, UNTIL_TOLD},
    needed,
    team::{Team, message, names, ready, state},
};

#[test]
fn jobs_go_on_where_they_were_after_the_cluster_was_killed() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    for user in User::all() {
        let mut server = Server::start_with_pods(user);
        let before = {
            let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
            ready(&shell);
            prepare(&team(&server, &shell, user))
        };
        server.kill();
        until_missed(&server);
        server.start_again();
        let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
        conclude(&team(&server, &shell, user), &before);
    }
}

fn team<'a>(server: &'a Server, shell: &'a Shell<'a>, user: User) -> Team<'a> {
    Team {
        server,
        shell,
        user,
        namespace: "default",
    }
}

/// What must be the same afterwards: the uids of the pods of the running jobs, and how jobs have ended.
#[derive(Debug, PartialEq)]
struct Before {
    pods: Vec<String>,
    succeeded: serde_json::Value,
    mxnet: serde_json::Value,
}

const PODS: [&str; 4] = [
    "done-worker-0",
    "long-worker-0",
    "long-worker-1",
    "waits-launcher",
];

/// Its launcher waits for a worker that is not ready before somebody says so, once for all.
const WAITS: &str = r#"
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: waits}
spec:
  runPolicy: {backoffLimit: 0, cleanPodPolicy: None}
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
      template: {spec: {containers: [{name: mpi, image: host, command: [echo, launched]}]}}
    Worker:
      replicas: 1
      template:
        spec:
          terminationGracePeriodSeconds: 0
          initContainers:
          - {name: gate, image: host, command: [sh, -c, "until [ -e /tmp/open ]; do sleep 0.1; done"]}
          containers: [{name: mpi, image: host}]
"#;

/// The launcher asks every few seconds, and says so when nobody answers.
#[track_caller]
fn until_missed(server: &Server) {
    let line = format!("until grep -rqs '{UNANSWERED}' \"$0\"; do sleep 0.1; done");
    let mut wait = Command::new("timeout");
    wait.args(["60", "sh", "-c", &line])
        .arg(server.data_dir().join("logs"));
    assert!(
        wait.status().is_ok_and(|status| status.success()),
        "the launcher does not miss the server"
    );
}

const UNANSWERED: &str = "waiting for the API server";

/// Whether something that a pod does before its program is under way.
fn is_preparing(pod: &serde_json::Value) -> bool {
    let statuses = pod["status"]["initContainerStatuses"].as_array();
    let mut statuses = statuses.into_iter().flatten();
    statuses.any(|status| status["state"]["running"].is_object())
}

fn look(team: &Team<'_>) -> Before {
    Before {
        pods: PODS.iter().map(|pod| team.uid(&format!("pods/{pod}"))).collect(),
        succeeded: team.find("jaxjobs/done")["status"].clone(),
        mxnet: team.find("mxjobs.mxnet.mlkube.io/local")["status"].clone(),
    }
}

fn prepare(team: &Team<'_>) -> Before {
    let job = |name: &str, workers: u32, command: &str, policy: &str| {
        let job = Job {
            kind: "JAXJob",
            name,
            roles: &[("Worker", workers, "ExitCode")],
            command,
            more: &format!("runPolicy: {{{policy}}}"),
            ..Job::default()
        };
        team.apply(&job.manifest());
    };
    job("done", 1, "true", "backoffLimit: 0");
    job("long", 2, UNTIL_TOLD, "backoffLimit: 1");
    job("late", 1, "sleep infinity", "activeDeadlineSeconds: 15");
    job("brief", 1, UNTIL_TOLD, "ttlSecondsAfterFinished: 4");
    team.apply(
        "{apiVersion: mxnet.mlkube.io/v1beta1, kind: MxJob, metadata: {name: local}, spec: {jobMode: local, \
         replicaSpecs: [{template: {spec: {restartPolicy: Never, containers: [{name: mxnet, image: host, command: [\"true\"]}]}}}]}}",
    );
    team.apply(WAITS);
    team.until("pods/late-worker-0", serde_json::Value::is_object);
    team.until_is("jaxjobs/done", "Succeeded");
    team.until("jaxjobs/long", |job| job["status"]["progress"] == "2/2");
    team.until_is("jaxjobs/brief", "Running");
    team.until("mxjobs.mxnet.mlkube.io/local", |job| {
        job["status"]["state"] == "Succeeded"
    });
    for pod in ["pods/waits-launcher", "pods/waits-worker-0"] {
        team.until(pod, is_preparing);
    }
    team.ok("exec brief-worker-0 -- sh -c 'echo 0 > /tmp/end'");
    // A failure that is not yet dealt with: its restart may be cut short anywhere.
    team.ok("exec long-worker-1 -- sh -c 'echo 137 > /tmp/end'");
    team.until("jaxjobs/long", |job| job["status"]["restarts"]["count"] == 1);
    team.until("jaxjobs/long", |job| {
        state(job) == "Running" && job["status"]["progress"] == "2/2"
    });
    look(team)
}

fn conclude(team: &Team<'_>, before: &Before) {
    // Its time was counted from its start, and its end is told now at the latest.
    let late = team.until_is("jaxjobs/late", "Failed");
    assert_eq!(
        message(&late),
        "Job late has failed because it was active longer than specified deadline"
    );
    team.until("pods/late-worker-0", serde_json::Value::is_null);
    team.until("jaxjobs/brief", serde_json::Value::is_null);
    assert_eq!(look(team), *before, "nothing is done twice");
    // The container ends as soon as the file is there, now and then before the command has told its end.
    let opened = team.run("exec waits-worker-0 -c gate -- touch /tmp/open");
    assert!([0, 137].contains(&opened.code), "{opened:?}");
    team.until_is("mpijobs/waits", "Succeeded");
    assert_eq!(team.ok("logs waits-launcher -c mpi").trim(), "launched");
    let waiting = team.ok("logs waits-launcher -c trainyard-wait");
    assert!(waiting.contains(UNANSWERED), "{waiting}");
    assert_eq!(waiting.matches("all 1 hosts are there").count(), 1, "{waiting}");
    // The budget is what it was: the next failure is one too many.
    team.ok("exec long-worker-0 -- sh -c 'echo 137 > /tmp/end'");
    let failed = team.until_is("jaxjobs/long", "Failed");
    assert!(
        message(&failed).contains("has reached the specified backoff limit: worker-0 exit 137"),
        "{}",
        message(&failed)
    );
    team.until("jobs", |jobs| names(jobs).len() == 1);
}
