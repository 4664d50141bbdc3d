//! The latest condition says why, whatever came before.

use serde_json::json;

use super::{job, pytorch};
use crate::{Existing, Gang, Refusal, simulation::World};

const NO_ROOM: &str = "0/3 nodes are available: 3 Insufficient cpu.";

fn find_no_room(world: &mut World, name: &str) {
    world.change(name, |pod| pod.unscheduled = Some(NO_ROOM.to_owned()));
    world.settle();
}

fn find_room(world: &mut World) {
    for pod in &mut world.observed.pods {
        pod.unscheduled = None;
    }
    world.run_all();
    world.settle();
}

fn messages(world: &World) -> Vec<String> {
    let conditions = world.job["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .map(|condition| condition["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_resumed_job_says_what_it_waits_for() {
    let mut world = World::new(&pytorch("Master:1 Worker:1", "  runPolicy: {suspend: true}\n"));
    world.settle();
    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    world.settle();
    find_no_room(&mut world, "j-master-0");
    assert_eq!(world.conditions(), "Created -Suspended");
    assert_eq!(
        world.message(),
        format!("PyTorchJob j is resumed. master-0: {NO_ROOM}")
    );
    find_room(&mut world);
    assert_eq!(
        messages(&world),
        [
            "PyTorchJob j is created.",
            "PyTorchJob j is resumed.",
            "PyTorchJob j is running."
        ]
    );
}

#[test]
fn so_does_one_that_has_run_before_it_was_suspended() {
    let mut world = World::new(&pytorch("Master:1 Worker:1", "  runPolicy: {suspend: false}\n"));
    world.settle();
    find_room(&mut world);
    for suspend in [true, false] {
        world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
        world.settle();
    }
    find_no_room(&mut world, "j-worker-0");
    assert_eq!(world.conditions(), "Created -Running -Suspended");
    assert_eq!(
        world.message(),
        format!("PyTorchJob j is resumed. worker-0: {NO_ROOM}")
    );
    find_room(&mut world);
    assert_eq!(world.conditions(), "Created -Suspended Running");
    assert_eq!(world.message(), "PyTorchJob j is running.");
}

#[test]
fn a_job_that_has_lost_the_pod_that_decides_does_not_run() {
    let mut world = World::new(&pytorch("Master:1 Worker:1", ""));
    world.settle();
    find_room(&mut world);
    world.observed.pods.retain(|pod| pod.name != "j-master-0");
    world.settle();
    find_no_room(&mut world, "j-master-0");
    assert_eq!(world.conditions(), "Created Restarting");
    assert_eq!(
        world.message(),
        format!("PyTorchJob j is restarting because no Master replica runs; now master-0: {NO_ROOM}")
    );
    assert!(world.job["status"]["restarts"].is_null(), "nobody has failed");
    find_room(&mut world);
    assert_eq!(world.conditions(), "Created Running");
    assert_eq!(world.message(), "PyTorchJob j is running.");
}

#[test]
fn an_mpi_job_says_which_of_its_workers_it_has_lost() {
    let yaml = job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher:1 Worker:2", "");
    let mut world = World::new(&yaml);
    world.settle();
    find_room(&mut world);
    assert_eq!(world.conditions(), "Created Running");
    world.observed.pods.retain(|pod| pod.name != "j-worker-1");
    world.settle();
    find_no_room(&mut world, "j-worker-1");
    assert_eq!(world.conditions(), "Created Running");
    assert_eq!(
        world.message(),
        format!("MPIJob j is running. worker-1: {NO_ROOM}")
    );
    world.observed.pods.retain(|pod| pod.name != "j-launcher");
    world.settle();
    find_no_room(&mut world, "j-launcher");
    assert_eq!(world.conditions(), "Created Restarting");
    assert!(
        world
            .message()
            .contains("no Launcher replica runs; now launcher: 0/3")
    );
}

#[test]
fn a_group_that_waits_in_a_queue_is_told_and_uses_up_no_time() {
    let policy = "  runPolicy: {activeDeadlineSeconds: 60}\n";
    let mut world = World::new(&pytorch("Master:1 Worker:1", policy));
    world.settings.gang = Gang::Volcano;
    world.settle();
    world.wait(3600);
    world.settle();
    assert_eq!(
        world.message(),
        "PyTorchJob j is created. 2 pods wait for Volcano to let PodGroup j in"
    );
    assert!(world.job["status"]["startTime"].is_null());
    // It is put back, and goes on into a queue again.
    for suspend in [true, false] {
        world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
        world.changed();
        world.settle();
    }
    world.wait(3600);
    world.settle();
    assert_eq!(world.conditions(), "Created -Suspended");
    assert!(world.job["status"]["startTime"].is_null());
    let is_group = |other: &&mut Existing| other.kind == "PodGroup";
    let group = world.observed.others.iter_mut().find(is_group).unwrap();
    group.phase = Some("Inqueue".to_owned());
    world.settle();
    assert_eq!(world.names().len(), 2);
    assert!(world.job["status"]["startTime"].is_string());
    world.wait(61);
    world.settle();
    assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
}

#[test]
fn a_group_that_is_refused_waits_for_nobody() {
    let mut world = World::new(&pytorch("Master:1", ""));
    world.settings.gang = Gang::Volcano;
    world.observed.refusals.push(Refusal {
        name: "j".to_owned(),
        message: "there is no queue of that name".to_owned(),
    });
    let status = world.plan().status.unwrap();
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("there is no queue of that name"), "{message}");
}
