//! Tasks as an administrator sees them: objects of the API, made and changed with kubectl, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod bad;
mod callbacks;
mod lifecycle;
mod pinned;
mod storage;

use client_tests::{
    Release, Server, Shell, User, kubectl, needed,
    team::{Scenario, Team, play_on, ready},
};
use serde_json::{Value, json};

/// Plays scenarios on a cluster whose images are all this machine, with the class that templates name.
#[track_caller]
fn play(scenarios: &[Scenario]) {
    play_with(&["--images", "host", "--storage-class", "aws-efs"], scenarios);
}

/// Plays scenarios on a cluster of its own.
#[track_caller]
fn play_with(options: &[&str], scenarios: &[Scenario]) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_options(User::Us, options);
    let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
    ready(&shell);
    play_on(&server, &shell, User::Us, scenarios);
}

/// A template of a Job with a claim that runs a shell command of its definition.
fn template(name: &str) -> Value {
    let text = r#"
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "{{ global.release }}"}
spec:
  storageClassName: aws-efs
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ global.release }}"}
spec:
  backoffLimit: 0
  ttlSecondsAfterFinished: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers:
        - name: main
          image: host
          command: [sh, -c, 'eval "$COMMAND"']
          env:
            - {name: COMMAND, value: "{{ command }}"}
            - {name: STORAGE, value: /mount/storage}
            - {name: NUMBER, value: "{{ process.number or 0 }}"}
          volumeMounts: [{name: storage, mountPath: /mount/storage}]
      volumes:
        - {name: storage, persistentVolumeClaim: {claimName: "{{ global.release }}"}}
"#;
    json!({
        "apiVersion": "trainyard.dev/v1alpha1",
        "kind": "TaskTemplate",
        "metadata": {"name": name},
        "spec": {"description": "runs a command", "template": text},
    })
}

/// A definition that gives the template its command.
fn definition(name: &str, template: &str, command: &str) -> Value {
    json!({
        "apiVersion": "trainyard.dev/v1alpha1",
        "kind": "TaskDefinition",
        "metadata": {"name": name},
        "spec": {
            "creator": "admin",
            "task_template_name": template,
            "system_values": format!("command: {command:?}\r\n"),
            "application": "Production",
            "append_uuid": 0,
        },
    })
}

fn task(name: &str, definition: &str) -> Value {
    json!({
        "apiVersion": "trainyard.dev/v1alpha1",
        "kind": "Task",
        "metadata": {"name": name},
        "spec": {"values": {"taskDef": definition, "creator": "ducta", "name": "demo", "process": {}}},
    })
}

/// Applies a definition of its own template and a task of it.
#[track_caller]
fn submit(team: &Team<'_>, command: &str, change: impl FnOnce(&mut Value)) {
    // Templates are the cluster's; each scenario has its own.
    let of_template = format!("run-{}", team.namespace);
    team.apply(&template(&of_template).to_string());
    team.apply(&definition("run", &of_template, command).to_string());
    let mut task = task("t", "run");
    change(&mut task);
    team.apply(&task.to_string());
}

/// The task when it is in a phase.
#[track_caller]
fn until_is(team: &Team<'_>, phase: &str) -> Value {
    team.until("tasks/t", |task| task["status"]["phase"] == phase)
}

#[track_caller]
fn patch(team: &Team<'_>, spec: &Value) {
    let patch = json!({ "spec": spec });
    team.ok(&format!("patch task t --type=merge -p '{patch}'"));
}

/// What has happened to a task.
fn events(task: &Value) -> Vec<&str> {
    let events = task["status"]["events"].as_array().into_iter().flatten();
    events.filter_map(|event| event["type"].as_str()).collect()
}
