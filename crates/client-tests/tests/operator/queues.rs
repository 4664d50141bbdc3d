//! What our commands tell a queue of Kueue, and say of it. `kueue` tries them with Kueue itself; here its part is
//! played, as that takes long to build.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use client_tests::{Output, Shell, binary, manifests::Job};
use serde_json::json;

use crate::{apply, process::Operator, until, with_server};

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: workloads.kueue.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: kueue.x-k8s.io
  names: {kind: Workload, plural: workloads, singular: workload}
  scope: Namespaced
  versions:
  - name: v1beta2
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

fn trainyard(shell: &Shell<'_>, verb: &str) -> Output {
    shell.run(&format!("{} {verb} pytorchjob/digits", binary().display()))
}

fn get(shell: &Shell<'_>, what: &str, path: &str) -> String {
    shell.ok(&format!("kubectl get {what} -o jsonpath='{{{path}}}'"))
}

/// Submits a job as Kueue leaves it that has seen it.
fn submit(shell: &Shell<'_>) {
    let job = Job {
        name: "digits",
        roles: &[("Master", 1, ""), ("Worker", 1, "")],
        more: "runPolicy: {suspend: true}",
        ..Job::default()
    };
    apply(shell, "default", &format!("{}\n", job.manifest()));
    shell.ok("kubectl label pytorchjob digits kueue.x-k8s.io/queue-name=lab");
    until("the operator has seen it", || {
        get(shell, "pytorchjob/digits", ".status.conditions[-1:].type") == "Suspended"
    });
}

/// Makes what Kueue makes of the job, which waits for room.
fn enqueue(shell: &Shell<'_>) {
    let owner = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "digits", "controller": true,
        "uid": get(shell, "pytorchjob/digits", ".metadata.uid"),
    });
    let workload = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "pytorchjob-digits-1a2b3", "ownerReferences": [owner]},
        "spec": {"queueName": "lab", "active": true},
    });
    apply(shell, "default", &format!("{workload}\n"));
    let waits = json!({"status": {"conditions": [{
        "type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient unused quota for cpu",
    }]}});
    shell.ok(&format!(
        "kubectl patch workload pytorchjob-digits-1a2b3 --subresource=status --type=merge -p '{waits}'"
    ));
}

#[test]
fn a_job_in_a_queue_is_stopped_and_resumed_by_its_queue() {
    with_server(|server, shell| {
        apply(shell, "default", DEFINITION);
        shell.ok("kubectl wait --for=condition=established crd/workloads.kueue.x-k8s.io");
        let operator = Operator::start(server, &["--install-definitions"]);
        operator.leads(shell);
        until("the kind is served", || {
            shell.run("kubectl get pytorchjobs").code == 0
        });
        submit(shell);
        let unnoticed = trainyard(shell, "why");
        assert!(
            unnoticed.stdout.contains("of which Kueue has not taken notice"),
            "{unnoticed:?}"
        );
        let unsure = trainyard(shell, "stop");
        assert_eq!(unsure.code, 2, "{unsure:?}");
        assert!(
            unsure.stderr.contains("Kueue has not taken notice of it"),
            "{unsure:?}"
        );
        enqueue(shell);
        let mut follower = Command::new(binary())
            .args(["logs", "-f", "pytorchjob/digits"])
            .env("KUBECONFIG", server.kubeconfig())
            .env("HOME", server.home())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut heard = BufReader::new(follower.stderr.take().unwrap());
        let mut hear = || {
            let mut line = String::new();
            heard.read_line(&mut line).unwrap();
            line
        };
        // The state of the job and what it waits for are two looks, and either may be first.
        let waiting = hear();
        assert!(waiting.contains("in the queue `lab`"), "{waiting:?}");
        let waits = trainyard(shell, "why");
        let why = "it waits in the queue `lab`: insufficient unused quota for cpu";
        assert!(waits.code == 1 && waits.stdout.contains(why), "{waits:?}");

        assert!(follower.try_wait().unwrap().is_none(), "it goes on by itself");
        let active = || get(shell, "workload/pytorchjob-digits-1a2b3", ".spec.active");
        let suspend = || get(shell, "pytorchjob/digits", ".spec.runPolicy.suspend");
        let stopped = trainyard(shell, "stop");
        assert_eq!(stopped.stdout, "PyTorchJob/digits stopped\n", "{stopped:?}");
        assert_eq!((active().as_str(), suspend().as_str()), ("false", "true"));
        let out = trainyard(shell, "why");
        assert!(
            out.stdout.contains("it was taken out of the queue `lab`"),
            "{out:?}"
        );
        let mut last = hear();
        while last.starts_with("waiting") || last.starts_with("hint: ") {
            last = hear();
        }
        assert_eq!(last, "`pytorchjob/digits` was stopped\n");
        assert!(follower.wait().unwrap().success());
        // Whether it runs is for the queue to say.
        let resumed = trainyard(shell, "resume");
        assert_eq!(resumed.stdout, "PyTorchJob/digits resumed\n", "{resumed:?}");
        assert_eq!((active().as_str(), suspend().as_str()), ("true", "true"));
    });
}
