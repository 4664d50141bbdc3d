use serde_json::json;

use super::{pytorch, tensorflow};
use crate::simulation::World;

#[test]
fn a_job_is_created_runs_and_succeeds() {
    let mut world = World::new(&tensorflow("Worker:2 PS:1", ""));
    world.reconcile();
    assert_eq!(world.names(), ["j-ps-0", "j-worker-0", "j-worker-1"]);
    assert_eq!(world.conditions(), "Created");
    assert_eq!(world.message(), "TFJob j is created.");
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    assert_eq!(world.message(), "TFJob team/j is running.");
    assert_eq!(world.job["status"]["progress"], "3/3");
    world.end("j-worker-0", "tensorflow", 0);
    world.wait(5);
    world.settle();
    assert_eq!(world.conditions(), "Created -Running Succeeded");
    assert_eq!(world.message(), "TFJob team/j successfully completed.");
    assert_eq!(world.job["status"]["completionTime"], "2026-01-01T00:00:05Z");
    assert_eq!(
        world.job["status"]["replicaStatuses"]["Worker"],
        json!({"active": 1, "succeeded": 1})
    );
}

#[test]
fn all_workers_must_succeed_where_the_policy_says_so() {
    let mut world = World::new(&tensorflow("Worker:2", "  successPolicy: AllWorkers\n"));
    world.settle();
    world.run_all();
    world.end("j-worker-0", "tensorflow", 0);
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    world.end("j-worker-1", "tensorflow", 0);
    world.settle();
    assert_eq!(world.conditions(), "Created -Running Succeeded");
}

#[test]
fn the_master_decides_and_workers_do_not_outlive_it_when_the_policy_says_so() {
    let mut world = World::new(&pytorch(
        "Master:1 Worker:2",
        "  runPolicy: {cleanPodPolicy: Running}\n",
    ));
    world.settle();
    world.run_all();
    world.settle();
    assert_eq!(world.message(), "PyTorchJob j is running.");
    world.end("j-master-0", "pytorch", 0);
    let plan = world.reconcile();
    assert!(
        plan.delete.is_empty(),
        "a verdict is stored before it is carried out"
    );
    world.settle();
    assert_eq!(world.names(), ["j-master-0"]);
    assert_eq!(world.message(), "PyTorchJob j is successfully completed.");
    let services: Vec<&str> = world
        .observed
        .others
        .iter()
        .map(|other| other.name.as_str())
        .collect();
    assert_eq!(services, ["j-master-0"]);
    assert_eq!(
        world.job["status"]["replicaStatuses"]["Worker"]["active"],
        json!(null)
    );
}

#[test]
fn an_elastic_job_ends_with_its_first_worker() {
    let mut world = World::new(&pytorch(
        "Worker:2",
        "  elasticPolicy: {minReplicas: 1, maxReplicas: 2}\n",
    ));
    world.settle();
    world.run_all();
    world.end("j-worker-1", "pytorch", 0);
    world.settle();
    assert_eq!(world.conditions(), "Created Succeeded");
}

#[test]
fn a_deadline_counts_from_the_stored_start() {
    let mut world = World::new(&tensorflow(
        "Worker:2",
        "  runPolicy: {activeDeadlineSeconds: 60, cleanPodPolicy: All}\n",
    ));
    world.settle();
    assert_eq!(world.plan().wake_at.unwrap().to_string(), "2026-01-01T00:01:00Z");
    world.run_all();
    world.wait(59);
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    world.wait(1);
    world.settle();
    assert_eq!(world.conditions(), "Created -Running Failed");
    assert_eq!(
        world.message(),
        "Job j has failed because it was active longer than specified deadline"
    );
    assert!(world.names().is_empty());
}

#[test]
fn a_finished_job_goes_when_its_time_to_live_is_over() {
    let mut world = World::new(&tensorflow(
        "Worker:2",
        "  runPolicy: {ttlSecondsAfterFinished: 30}\n",
    ));
    world.settle();
    world.end("j-worker-0", "tensorflow", 0);
    world.settle();
    assert_eq!(world.plan().wake_at.unwrap().to_string(), "2026-01-01T00:00:30Z");
    assert!(!world.plan().delete_job);
    world.wait(3600);
    assert!(world.plan().delete_job);
}

#[test]
fn a_job_without_time_to_live_goes_when_its_end_is_written_down_however_it_ended() {
    for code in [0, 1] {
        let mut world = World::new(&tensorflow(
            "Worker:1:Never",
            "  runPolicy: {ttlSecondsAfterFinished: 0}\n",
        ));
        world.settle();
        world.end("j-worker-0", "tensorflow", code);
        assert!(!world.reconcile().delete_job, "its end is told first");
        assert!(world.plan().delete_job);
    }
}

#[test]
fn a_job_that_another_operator_has_ended_lives_from_then_on() {
    let mut world = World::new(&tensorflow(
        "Worker:1",
        "  runPolicy: {ttlSecondsAfterFinished: 30}\n",
    ));
    // training-operator 1.9.4 sets no time of completion for some ends.
    world.job["status"] = json!({"conditions": [
        {"type": "Failed", "status": "True", "reason": "TFJobFailed", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]});
    world.wait(29);
    assert_eq!(world.plan().wake_at.unwrap().to_string(), "2026-01-01T00:00:30Z");
    world.wait(1);
    assert!(world.plan().delete_job);
}

#[test]
fn a_suspended_job_has_no_pods_and_starts_anew_when_resumed() {
    let mut world = World::new(&pytorch("Master:1 Worker:1", "  runPolicy: {suspend: true}\n"));
    world.settle();
    assert!(world.names().is_empty());
    assert_eq!(world.conditions(), "Created Suspended");
    assert!(world.job["status"]["startTime"].is_null());

    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    world.wait(10);
    world.settle();
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created -Suspended Running");
    assert_eq!(world.job["status"]["startTime"], "2026-01-01T00:00:10Z");

    world.job["spec"]["runPolicy"]["suspend"] = json!(true);
    world.settle();
    assert!(world.names().is_empty() && world.observed.others.is_empty());
    assert_eq!(world.conditions(), "Created -Running Suspended");
    assert_eq!(world.message(), "PyTorchJob j is suspended.");
}

#[test]
fn somebody_elses_job_is_left_alone() {
    let world = World::new(&super::jax(
        "Worker:2",
        "  runPolicy: {managedBy: kueue.x-k8s.io/multikueue}\n",
    ));
    assert_eq!(world.plan(), crate::Plan::default());
}

#[test]
fn fewer_replicas_mean_fewer_pods() {
    let mut world = World::new(&pytorch(
        "Worker:3",
        "  elasticPolicy: {minReplicas: 1, maxReplicas: 3}\n",
    ));
    world.settle();
    world.run_all();
    world.job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = json!(1);
    world.settle();
    assert_eq!(world.names(), ["j-worker-0"]);
    let others: Vec<&str> = world
        .observed
        .others
        .iter()
        .map(|other| other.name.as_str())
        .collect();
    assert_eq!(others, ["j-worker-0"], "nor the Services of those that are gone");
}

#[test]
fn a_job_says_what_it_waits_for() {
    let mut world = World::new(&tensorflow("Worker:2", ""));
    world.settle();
    world.change("j-worker-1", |pod| {
        pod.unscheduled = Some("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.".to_owned());
    });
    world.settle();
    assert_eq!(
        world.message(),
        "TFJob j is created. worker-1: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    );
    world.change("j-worker-0", |pod| {
        pod.waiting = Some((
            "ImagePullBackOff".to_owned(),
            "Back-off pulling image \"i\"".to_owned(),
        ));
    });
    world.settle();
    assert_eq!(
        world.message(),
        "TFJob j is created. worker-0: ImagePullBackOff: Back-off pulling image \"i\""
    );
    world.observed.refusals.push(crate::Refusal {
        name: "j-worker-1".to_owned(),
        message: "exceeded quota: compute, requested: pods=1, used: pods=4, limited: pods=4".to_owned(),
    });
    world.settle();
    assert!(world.message().contains("worker-1: exceeded quota: compute"));
}

#[test]
fn a_foreign_object_in_the_way_keeps_all_from_being_made() {
    let mut world = World::new(&tensorflow("Worker:2", ""));
    world.observed.others.push(crate::Existing {
        kind: "Service".to_owned(),
        name: "j-worker-1".to_owned(),
        ..crate::Existing::default()
    });
    world.reconcile();
    assert!(world.names().is_empty());
    let wanted = "Resource \"j-worker-1\" of Kind \"Service\" already exists and is not managed by TFJob";
    assert_eq!(world.message(), format!("TFJob j is created. {wanted}"));
    assert_eq!(world.events[0].reason, "ErrResourceExists");
}

#[test]
fn old_layouts_are_read_and_told() {
    let mut world = World::new(&pytorch(
        "Master:1",
        "  activeDeadlineSeconds: 60\n  cleanPodPolicy: All\n",
    ));
    world.reconcile();
    assert_eq!(world.events[0].reason, "OldLayout");
    assert!(world.plan().wake_at.is_some());
}

#[test]
fn the_same_status_is_not_written_again() {
    let mut world = World::new(&tensorflow("Worker:2", ""));
    world.settle();
    world.wait(600);
    assert_eq!(world.plan().status, None);
}

#[test]
fn a_job_that_waits_and_is_made_smaller_no_longer_waits_for_those_who_are_gone() {
    let mut world = World::new(&pytorch("Worker:3", ""));
    world.settings.gang = crate::Gang::Embedded;
    world.settle();
    for pod in &mut world.observed.pods {
        pod.unscheduled = Some("0/1 nodes are available".to_owned());
    }
    world.job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = json!(2);
    world.job["metadata"]["generation"] = json!(2);
    world.settle();
    let sizes: Vec<_> = world.observed.pods.iter().map(|pod| pod.group_size).collect();
    assert_eq!(sizes, [Some(2), Some(2)]);
}

#[test]
fn a_service_that_somebody_deleted_is_made_again_for_the_replica_that_needs_it() {
    let mut world = World::new(&pytorch("Master:1 Worker:1", ""));
    world.settle();
    world.run_all();
    world.settle();
    world.observed.others.retain(|other| other.name != "j-master-0");
    let made: Vec<String> = world
        .reconcile()
        .make
        .iter()
        .map(|child| format!("{}/{}", child.kind(), child.name()))
        .collect();
    assert_eq!(made, ["Service/j-master-0"]);
    assert!(world.plan().make.is_empty());
}
