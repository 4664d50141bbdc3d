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

#[test]
fn a_failed_job_leaves_what_its_policy_says_and_all_where_it_says_nothing() {
    for (policy, left) in [
        ("{}", vec!["j-worker-0", "j-worker-1"]),
        ("{cleanPodPolicy: Running}", vec!["j-worker-1"]),
        ("{cleanPodPolicy: All}", vec![]),
        ("{cleanPodPolicy: None}", vec!["j-worker-0", "j-worker-1"]),
    ] {
        let mut world = World::new(&tensorflow("Worker:2:Never", &format!("  runPolicy: {policy}\n")));
        world.settle();
        world.run_all();
        world.end("j-worker-1", "tensorflow", 1);
        world.settle();
        assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
        assert_eq!(
            (world.names(), services(&world)),
            (left.clone(), left),
            "{policy}"
        );
    }
}

#[test]
fn what_runs_when_its_time_is_over_is_stopped_unless_it_is_to_be_kept() {
    for (policy, left) in [
        ("", vec!["j-worker-1"]),
        (", cleanPodPolicy: All", vec![]),
        (", cleanPodPolicy: None", vec!["j-worker-0", "j-worker-1"]),
    ] {
        let policy =
            format!("  successPolicy: AllWorkers\n  runPolicy: {{activeDeadlineSeconds: 60{policy}}}\n");
        let mut world = World::new(&tensorflow("Worker:2", &policy));
        world.settle();
        world.run_all();
        world.end("j-worker-1", "tensorflow", 0);
        world.wait(60);
        world.settle();
        assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
        assert_eq!(
            (world.names(), services(&world)),
            (left.clone(), left),
            "{policy}"
        );
    }
}

#[test]
fn what_runs_on_after_success_is_left_alone_as_the_originals_do() {
    let mut world = World::new(&tensorflow("Worker:1 PS:1", ""));
    world.settle();
    world.run_all();
    world.end("j-worker-0", "tensorflow", 0);
    world.settle();
    assert!(
        world.conditions().ends_with("Succeeded"),
        "{}",
        world.conditions()
    );
    assert_eq!(world.names(), ["j-ps-0", "j-worker-0"]);
}
