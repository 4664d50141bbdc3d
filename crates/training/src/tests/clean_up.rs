//! What is left of a job that has ended or stands still.

use serde_json::json;

use super::{pytorch, tensorflow};
use crate::simulation::World;

fn services(world: &World) -> Vec<&str> {
    let others = world.observed.others.iter();
    let services = others.filter(|other| other.kind == "Service");
    services.map(|service| service.name.as_str()).collect()
}

/// Pods are asked to stop, and then the operator dies, or the server fails it.
fn stop_pods_only(world: &mut World) {
    let plan = world.plan();
    let stopped: Vec<&str> = plan
        .delete
        .iter()
        .filter(|delete| delete.kind == "Pod")
        .map(|delete| delete.name.as_str())
        .collect();
    assert_eq!(stopped.len(), world.observed.pods.len());
    let now = world.now;
    for pod in &mut world.observed.pods {
        pod.deleted = Some(now);
    }
}

#[test]
fn no_service_is_left_by_an_operator_that_died_between_two_deletions() {
    let mut world = World::new(&pytorch(
        "Master:1 Worker:2",
        "  runPolicy: {cleanPodPolicy: All}\n",
    ));
    world.settle();
    world.run_all();
    world.end("j-master-0", "pytorch", 0);
    world.reconcile();
    stop_pods_only(&mut world);
    world.settle();
    assert_eq!((world.names(), services(&world)), (Vec::new(), Vec::new()));
}

#[test]
fn nor_by_one_that_died_while_it_suspended_the_job() {
    let mut world = World::new(&pytorch("Master:1 Worker:2", "  runPolicy: {suspend: false}\n"));
    world.settle();
    world.run_all();
    world.job["spec"]["runPolicy"]["suspend"] = json!(true);
    world.job["metadata"]["generation"] = json!(2);
    stop_pods_only(&mut world);
    world.bury();
    world.settle();
    assert_eq!((world.names(), services(&world)), (Vec::new(), Vec::new()));
}

#[test]
fn pods_of_numbers_that_a_job_no_longer_has_go_with_the_others() {
    let mut world = World::new(&pytorch("Worker:3", "  runPolicy: {cleanPodPolicy: All}\n"));
    world.settle();
    world.run_all();
    for pod in ["j-worker-0", "j-worker-1"] {
        world.end(pod, "pytorch", 0);
    }
    world.job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = json!(2);
    world.job["metadata"]["generation"] = json!(2);
    world.settle();
    assert!(
        world.conditions().ends_with("Succeeded"),
        "{}",
        world.conditions()
    );
    assert_eq!((world.names(), services(&world)), (Vec::new(), Vec::new()));
}
