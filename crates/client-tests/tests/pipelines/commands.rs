//! `trainyard pipeline`: workflows run, watched, stopped, retried and resumed from the command line.

use std::fs;

use client_tests::{Output, team::Team};
use serde_json::Value;

use crate::{node, phase_of, until_ended};

/// `trainyard pipeline` in the team's namespace.
fn pipeline(team: &Team<'_>, words: &str) -> Output {
    team.shell.run(&format!(
        "trainyard pipeline {words} --namespace {}",
        team.namespace
    ))
}

/// A file of the team's own.
fn file(team: &Team<'_>, name: &str, text: &str) -> String {
    let folder = team.server.home().join(format!("files-{}", team.namespace));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

pub(crate) fn the_verdict_is_the_exit_code(team: &Team<'_>) {
    let path = file(
        team,
        "verdict.yaml",
        "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: verdict-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: code, value: '0'}]}
  templates:
  - name: main
    container: {image: host, command: [sh, -c, 'exit {{workflow.parameters.code}}']}
",
    );
    let good = pipeline(team, &format!("run {path}"));
    assert_eq!(good.code, 0, "{}{}", good.stdout, good.stderr);
    assert!(good.stdout.contains("Succeeded"), "{}", good.stdout);
    let bad = pipeline(team, &format!("run {path} -p code=3 -o json"));
    assert_eq!(bad.code, 1, "{}{}", bad.stdout, bad.stderr);
    let workflow: Value = serde_json::from_str(&bad.stdout).unwrap();
    assert_eq!(phase_of(&workflow), "Failed");
    assert_eq!(workflow["status"]["message"], "main: Error (exit code 3)");
    let shown = pipeline(team, "show @latest");
    assert!(shown.stdout.contains("✖ verdict-"), "{}", shown.stdout);
    let listed = pipeline(team, "list");
    assert_eq!(listed.stdout.lines().count(), 3, "{}", listed.stdout);
    let unknown = pipeline(team, &format!("run {path} -p kode=3"));
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("no parameter `kode`") && unknown.stderr.contains("code"),
        "{}",
        unknown.stderr
    );
    let again = pipeline(team, "resubmit @latest --watch");
    assert_eq!(again.code, 1, "{}{}", again.stdout, again.stderr);
    let absent = pipeline(team, "watch nothing");
    assert_eq!(absent.code, 2);
    assert!(
        absent.stderr.contains("there is no workflow `nothing`"),
        "{}",
        absent.stderr
    );
}

pub(crate) fn mistakes_are_told_with_their_lines(team: &Team<'_>) {
    let path = file(
        team,
        "wrong.yaml",
        "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: wrong-}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: echo, depends: b}
      - {name: b, template: echo, depends: a}
  - name: echo
    container:
      image: host
      command: [echo]
      args: ['{{inputs.parameters.text}}']
",
    );
    let checked = pipeline(team, &format!("check {path}"));
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    let found = |text: &str| checked.stdout.contains(&format!("{path}:{text}"));
    assert!(
        found("8: spec.templates[0].dag")
            || found("9: spec.templates[0].dag")
            || found("10: spec.templates[0].dag"),
        "{}",
        checked.stdout
    );
    let refused = pipeline(team, &format!("run {path}"));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("was not submitted"), "{}", refused.stderr);
    assert!(client_tests::team::names(&team.find("workflows")).is_empty());
}

/// Stopped while a step runs; what has succeeded is not run again by a retry.
pub(crate) fn stopped_and_retried(team: &Team<'_>) {
    let folder = team.server.home().join("stopped-and-retried");
    fs::create_dir_all(&folder).unwrap();
    let path = file(
        team,
        "stop.yaml",
        &format!(
            "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: stopped}}
spec:
  entrypoint: main
  volumes: [{{name: here, hostPath: {{path: {0}}}}}]
  templates:
  - name: main
    steps:
    - - {{name: first, template: first}}
    - - {{name: second, template: second}}
  - name: first
    container: {{image: host, command: [sh, -c, 'echo first >> /here/log'], volumeMounts: [{{name: here, mountPath: /here}}]}}
  - name: second
    container:
      image: host
      command: [sh, -c, 'echo second >> /here/log; test -e /here/go || exec sleep 1000']
      volumeMounts: [{{name: here, mountPath: /here}}]
",
            folder.display()
        ),
    );
    assert_eq!(pipeline(team, &format!("run {path} --detach")).code, 0);
    let log = folder.join("log");
    team.until("workflows/stopped", |_| {
        fs::read_to_string(&log).is_ok_and(|text| text.contains("second"))
    });
    let stopped = pipeline(team, "stop stopped");
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    let watched = pipeline(team, "watch stopped");
    assert_eq!(watched.code, 1, "{}{}", watched.stdout, watched.stderr);
    let workflow = until_ended(team, "stopped", "Failed");
    assert_eq!(workflow["status"]["message"], "Stopped with strategy 'Stop'");
    assert_eq!(node(&workflow, "stopped[0].first")["phase"], "Succeeded");
    fs::write(folder.join("go"), "").unwrap();
    let retried = pipeline(team, "retry stopped --watch");
    assert_eq!(retried.code, 0, "{}{}", retried.stdout, retried.stderr);
    until_ended(team, "stopped", "Succeeded");
    assert_eq!(fs::read_to_string(&log).unwrap(), "first\nsecond\nsecond\n");
    let removed = pipeline(team, "rm stopped");
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    team.until("pods", |pods| client_tests::team::names(pods).is_empty());
}

pub(crate) fn suspended_and_resumed(team: &Team<'_>) {
    let path = file(
        team,
        "suspend.yaml",
        "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: asks}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: ask, template: ask}
    - - name: say
        template: say
        arguments: {parameters: [{name: text, value: '{{steps.ask.outputs.parameters.answer}}'}]}
  - name: ask
    suspend: {}
    outputs: {parameters: [{name: answer, valueFrom: {supplied: {}}}]}
  - name: say
    inputs: {parameters: [{name: text}]}
    script: {image: host, command: [sh], source: 'echo {{inputs.parameters.text}}'}
",
    );
    assert_eq!(pipeline(team, &format!("run {path} --detach")).code, 0);
    team.until("workflows/asks", |workflow| {
        workflow["status"]["nodes"]
            .as_object()
            .is_some_and(|nodes| nodes.values().any(|node| node["type"] == "Suspend"))
    });
    let refused = pipeline(team, "resume asks");
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("waits for the value of `answer`"),
        "{}",
        refused.stderr
    );
    let resumed = pipeline(team, "resume asks -p answer=yes");
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let workflow = until_ended(team, "asks", "Succeeded");
    let say = node(&workflow, "asks[1].say");
    let number = say["id"].as_str().unwrap().rsplit('-').next().unwrap();
    assert_eq!(team.ok(&format!("logs asks-say-{number}")).trim(), "yes");
}
