//! Pipelines as their users have them: workflows made with kubectl or by our own commands on a real cluster of this
//! machine, and what becomes of them.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod argo;
mod commands;
mod corpus;
mod cron;
mod examples;
mod locks;
mod plain;
mod runs;
mod survival;
mod tensorflow;

use client_tests::{
    Release, Server, Shell, User, binary, is_real, kubectl, needed,
    team::{Team, play_on, ready},
};
use serde_json::Value;

/// Plays scenarios on a cluster whose images are all this machine.
#[track_caller]
fn play<Play: Fn(&Team<'_>) + Sync>(scenarios: &[(&str, Play)]) {
    if is_real() {
        return;
    }
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_options(User::Us, &["--images", "host"]);
    let shell = Shell::new(&server, &[("kubectl", &kubectl), ("trainyard", binary())]);
    ready(&shell);
    play_on(&server, &shell, User::Us, scenarios);
}

/// The workflow when it has ended so.
#[track_caller]
fn until_ended(team: &Team<'_>, name: &str, phase: &str) -> Value {
    let workflow = team.until(&format!("workflows/{name}"), |workflow| {
        matches!(phase_of(workflow), "Succeeded" | "Failed" | "Error")
            && workflow["metadata"]["labels"]["workflows.argoproj.io/completed"] == "true"
    });
    assert_eq!(phase_of(&workflow), phase, "{:#}", workflow["status"]);
    workflow
}

fn phase_of(workflow: &Value) -> &str {
    workflow["status"]["phase"].as_str().unwrap_or_default()
}

/// A node by its name.
#[track_caller]
fn node<'w>(workflow: &'w Value, name: &str) -> &'w Value {
    let nodes = workflow["status"]["nodes"].as_object().unwrap();
    nodes
        .values()
        .find(|node| node["name"] == name)
        .unwrap_or_else(|| panic!("no node {name} in {:#}", workflow["status"]))
}

#[track_caller]
fn parameter<'w>(node: &'w Value, name: &str) -> &'w Value {
    let parameters = node["outputs"]["parameters"].as_array().unwrap();
    let found = parameters.iter().find(|parameter| parameter["name"] == name);
    &found.unwrap_or_else(|| panic!("no parameter {name} in {node:#}"))["value"]
}

#[test]
fn workflows_run_as_they_are_written() {
    play::<fn(&Team<'_>)>(&[
        ("steps", runs::steps),
        ("dag", runs::dag_with_artifacts),
        ("retries", runs::retries_and_the_handler_of_the_end),
        ("wrong", runs::what_is_wrong_is_said_before_anything_runs),
        ("refused", runs::what_the_api_refuses_is_told),
        ("set", runs::a_set_of_containers),
        ("objects", runs::objects_are_made_and_waited_for),
        ("flags", runs::objects_are_named_by_flags),
        ("requests", runs::requests_are_steps),
        ("stop", commands::stopped_and_retried),
        ("suspend", commands::suspended_and_resumed),
        ("verdict", commands::the_verdict_is_the_exit_code),
        ("check", commands::mistakes_are_told_with_their_lines),
        ("cron", cron::due_workflows_begin_once),
        ("digits", examples::the_best_training_is_found),
        ("serve", examples::trained_until_good_enough_then_served),
    ]);
}

#[test]
fn a_killed_cluster_runs_no_step_twice_that_succeeded() {
    survival::no_step_runs_twice();
}

#[test]
fn a_lock_is_held_until_the_pods_of_a_deleted_workflow_have_ended() {
    locks::a_lock_outlives_its_workflow();
}

#[test]
fn steps_that_are_plain_processes_are_heard() {
    plain::steps_speak_to_each_other();
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn the_runnable_workflows_of_the_corpus_reach_their_phases() {
    corpus::all();
}
