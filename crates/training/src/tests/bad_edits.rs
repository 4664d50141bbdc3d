//! A specification that was fine when its job began, and is wrong now.

use serde_json::json;

use super::pytorch;
use crate::{Phase, simulation::World};

fn running(policy: &str) -> World {
    let roles = "Master:1:OnFailure Worker:2:OnFailure";
    let mut world = World::new(&pytorch(roles, &format!("  runPolicy: {policy}\n")));
    world.settle();
    world.run_all();
    world.settle();
    world
}

fn edit(world: &mut World, policy: &str) {
    let worker = &mut world.job["spec"]["pytorchReplicaSpecs"]["Worker"];
    worker["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!(policy);
    let generation = world.job["metadata"]["generation"].as_i64().unwrap();
    world.job["metadata"]["generation"] = json!(generation + 1);
}

#[test]
fn a_job_that_runs_is_looked_after_whatever_becomes_of_its_specification() {
    let mut world = running("{cleanPodPolicy: All}");
    edit(&mut world, "Sometimes");
    world.settle();
    assert_eq!(world.conditions(), "-Failed Created Running");
    let told = world.job["status"]["conditions"][0].clone();
    assert_eq!(told["reason"], "PyTorchJobFailedValidation");
    let path = "spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].imagePullPolicy";
    assert!(told["message"].as_str().unwrap().contains(path), "{told}");
    assert_eq!(world.message(), "PyTorchJob j is running.");
    let warnings = world.events.iter().filter(|event| event.severity == "Warning");
    assert_eq!(warnings.count(), 1);
    world.end("j-master-0", "pytorch", 0);
    world.settle();
    assert!(
        world.conditions().ends_with("Succeeded"),
        "{}",
        world.conditions()
    );
    assert!(world.names().is_empty());
}

#[test]
fn a_word_that_its_definition_has_come_to_refuse_does_not_stop_a_job_that_has_it() {
    let mut world = running("{backoffLimit: 3}");
    world.job["spec"]["runPolicy"]["cleanPodPolicy"] = json!("running");
    edit(&mut world, "Always");
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    world.end("j-worker-1", "pytorch", 1);
    world.settle();
    assert_eq!(world.pod("j-worker-1").unwrap().phase, Phase::Pending);
}

#[test]
fn it_keeps_its_deadline_and_its_budget() {
    let mut world = running("{activeDeadlineSeconds: 60, cleanPodPolicy: All}");
    edit(&mut world, "Sometimes");
    world.settle();
    world.wait(60);
    world.settle();
    assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
    assert!(world.names().is_empty());

    let mut world = running("{backoffLimit: 0}");
    edit(&mut world, "Sometimes");
    world.settle();
    world.end("j-worker-1", "pytorch", 1);
    world.settle();
    assert!(world.message().contains("backoff limit"), "{}", world.message());
}

#[test]
fn nothing_is_made_of_it_until_it_is_mended() {
    let mut world = running("{backoffLimit: 3}");
    edit(&mut world, "Sometimes");
    world.settle();
    world.end("j-worker-1", "pytorch", 1);
    world.settle();
    assert_eq!(world.pod("j-worker-1").unwrap().phase, Phase::Failed);
    edit(&mut world, "Always");
    world.settle();
    assert_eq!(world.pod("j-worker-1").unwrap().phase, Phase::Pending);
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
}

#[test]
fn it_can_be_suspended() {
    let mut world = running("{suspend: false}");
    world.job["spec"]["runPolicy"]["suspend"] = json!(true);
    edit(&mut world, "Sometimes");
    world.settle();
    assert!(world.names().is_empty());
    assert!(
        world.conditions().ends_with("Suspended"),
        "{}",
        world.conditions()
    );
    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    edit(&mut world, "Always");
    world.settle();
    assert_eq!(world.names().len(), 3);
}

#[test]
fn a_job_that_never_ran_has_ended_and_goes_in_its_time_unless_it_is_mended() {
    let mut world = World::new(&pytorch(
        "Worker:1",
        "  runPolicy: {ttlSecondsAfterFinished: 30}\n",
    ));
    edit(&mut world, "Sometimes");
    world.settle();
    assert_eq!(world.conditions(), "Failed");
    assert_eq!(world.job["status"]["completionTime"], "2026-01-01T00:00:00Z");
    assert_eq!(world.plan().wake_at.unwrap().to_string(), "2026-01-01T00:00:30Z");
    world.wait(30);
    assert!(world.plan().delete_job);
    world.wait(-1);
    edit(&mut world, "Always");
    world.settle();
    assert_eq!(world.conditions(), "Created");
    assert!(world.job["status"]["completionTime"].is_null());
}
