//! The log of changes where something goes wrong between a change and its record.

use client_tests::{Output, binary, run};
use serde_json::{Value, json};

use crate::{Service, countdown, until};

/// No chunk of this kind is to be stored.
fn policy(kind: &str) -> String {
    format!(
        "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: no-{kind}}}
spec:
  failurePolicy: Fail
  matchConstraints:
    objectSelector: {{matchLabels: {{trainyard.dev/audit: {kind}}}}}
    resourceRules:
      - {{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}}
  validations: [{{expression: 'false', message: lost on the way}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: no-{kind}}}
spec: {{policyName: no-{kind}, validationActions: [Deny]}}
"
    )
}

fn trainyard(service: &Service, words: &[&str], input: &str) -> Output {
    let mut command = std::process::Command::new(binary());
    command.args(words).env("KUBECONFIG", service.server.kubeconfig());
    run(&mut command, input)
}

/// From now on it does again.
#[track_caller]
fn permit_chunks(service: &Service, kind: &str) {
    trainyard(service, &["delete", "--wait", "-f", "-"], &policy(kind)).success();
}

/// From now on the cluster stores no chunk of the audit log of this kind, as if whoever writes it were killed first.
#[track_caller]
fn refuse_chunks(service: &Service, kind: &str) {
    let policy = policy(kind);
    trainyard(service, &["apply", "-f", "-"], &policy).success();
    // Policies count a moment after they are made.
    let chunk = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "probe", "namespace": "default", "labels": {"trainyard.dev/audit": kind}},
    });
    until("the policy to count", || {
        let output = trainyard(service, &["apply", "--dry-run", "-f", "-"], &chunk.to_string());
        (output.code != 0).then_some(()).ok_or(output.stdout)
    });
}

fn records(service: &Service) -> Vec<Value> {
    let log = service.get("/v1/audit?namespace=*").expect(200);
    log["items"].as_array().unwrap().clone()
}

#[test]
fn a_change_whose_record_is_lost_is_told_all_the_same() {
    let mut service = Service::start();
    service.register_countdown("countdown");
    assert_eq!(records(&service)[0]["outcome"], "done");

    // The change is made, and then nobody can write down that it was.
    refuse_chunks(&service, "loose");
    let task = service.countdown("countdown", 1);
    let lost = records(&service)[0].clone();
    assert_eq!(
        (&lost["operation"], &lost["name"], &lost["outcome"]),
        (&json!("createTask"), &json!(task), &json!("unknown")),
        "{lost}"
    );

    // Whoever comes after a kill knows of it, too.
    service.restart();
    let known = records(&service);
    assert_eq!(known[0], lost, "{known:?}");
    assert_eq!(known[1]["outcome"], "done", "{known:?}");

    // And looks at what it was about, once that can be written down.
    permit_chunks(&service, "loose");
    until("the task to be found", || {
        let found = &records(&service)[0];
        let is_known = found["outcome"] == "done" && found["found"] == "it bears this record";
        is_known.then_some(()).ok_or(found.to_string())
    });
    let known = records(&service);
    let same = ["id", "operation", "name", "who", "request_id"];
    assert!(
        same.iter().all(|field| known[0][*field] == lost[*field]),
        "{known:?}"
    );
    assert!(known[0].get("target").is_none(), "{known:?}");

    // What cannot be written down before is not done.
    refuse_chunks(&service, "begun");
    let refused = service.post("/v1/tasks", &countdown("countdown", 1));
    refused.problem(503, "unavailable");
    let tasks = service.get("/v1/tasks").expect(200);
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(records(&service), known);
    // What is only tried need not be written down.
    service
        .post("/v1/tasks?dryRun=true", &countdown("countdown", 1))
        .expect(200);
}

#[test]
fn what_is_refused_leaves_nothing_in_the_log() {
    let service = Service::start();
    service.register_countdown("countdown");
    let before = records(&service);
    let template = json!({"name": "countdown-task", "template": "kind: Job\n"});
    service
        .post("/v1/templates", &template)
        .problem(409, "already_exists");
    until("the log to be as it was", || {
        let now = records(&service);
        (now == before).then_some(()).ok_or(format!("{now:?}"))
    });
}
