//! Pods that are asked to stop: what their programs make of it says nothing of their work.

use serde_json::json;

use super::{pytorch, tensorflow};
use crate::{
    Phase, Pod,
    simulation::{World, end, stop},
};

fn running(yaml: &str) -> World {
    let mut world = World::new(yaml);
    world.settle();
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    world
}

fn suspend(world: &mut World, suspend: bool) {
    world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
    world.changed();
}

#[test]
fn whoever_deletes_a_pod_wants_another_however_its_program_takes_it() {
    for (role, code) in [("master", 0), ("master", 143), ("worker", 1)] {
        let mut world = running(&pytorch(
            "Master:1:Never Worker:1:Never",
            "  runPolicy: {backoffLimit: 0}\n",
        ));
        let name = format!("j-{role}-0");
        let first = world.pod(&name).unwrap().uid.clone();
        let now = world.now;
        world.change(&name, |pod| stop(pod, now));
        world.reconcile();
        world.end(&name, "pytorch", code);
        world.reconcile();
        world.bury();
        world.settle();
        world.run_all();
        world.settle();
        assert!(world.conditions().ends_with("Running"), "{}", world.conditions());
        assert_ne!(world.pod(&name).unwrap().uid, first);
        assert!(world.job["status"]["restarts"].is_null());
    }
}

#[test]
fn what_a_pod_had_done_before_it_was_deleted_counts() {
    let mut world = running(&pytorch("Master:1", ""));
    world.end("j-master-0", "pytorch", 0);
    let now = world.now;
    // Somebody else keeps it until they have looked at it.
    world.change("j-master-0", |pod| stop(pod, now));
    world.reconcile();
    assert!(
        world.conditions().ends_with("Succeeded"),
        "{}",
        world.conditions()
    );
}

#[test]
fn a_job_that_is_resumed_while_its_pods_still_stop_is_not_judged_by_them() {
    for code in [0, 143] {
        let rest = "  runPolicy: {suspend: false, backoffLimit: 0}\n";
        let mut world = running(&pytorch("Master:1 Worker:2", rest));
        suspend(&mut world, true);
        world.reconcile();
        suspend(&mut world, false);
        world.reconcile();
        for name in ["j-master-0", "j-worker-0", "j-worker-1"] {
            world.end(name, "pytorch", code);
            world.reconcile();
        }
        world.bury();
        world.settle();
        world.run_all();
        world.settle();
        assert_eq!(world.conditions(), "Created -Suspended Running");
        assert!(world.job["status"]["restarts"].is_null());
    }
}

#[test]
fn nor_if_their_nodes_go_meanwhile() {
    let rest = "  runPolicy: {suspend: false, backoffLimit: 0}\n";
    let mut world = running(&pytorch("Master:1:Never Worker:2:Never", rest));
    suspend(&mut world, true);
    world.reconcile();
    world.change("j-worker-1", |pod| {
        (pod.is_disrupted, pod.phase) = (true, Phase::Failed);
    });
    suspend(&mut world, false);
    world.reconcile();
    world.reconcile();
    world.bury();
    world.settle();
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created -Suspended Running");
    assert!(world.job["status"]["restarts"].is_null());
}

#[test]
fn what_has_come_to_pass_before_a_suspension_is_not_forgotten() {
    let rest = "  runPolicy: {suspend: false, backoffLimit: 3}\n";
    let mut world = running(&tensorflow("Worker:2:ExitCode", rest));
    world.end("j-worker-1", "tensorflow", 137);
    suspend(&mut world, true);
    world.settle();
    assert_eq!(world.job["status"]["restarts"]["count"], 1);
    assert!(
        world.conditions().ends_with(" Suspended"),
        "{}",
        world.conditions()
    );

    let mut world = running(&pytorch("Master:1", rest));
    world.end("j-master-0", "pytorch", 0);
    suspend(&mut world, true);
    world.settle();
    assert!(
        world.conditions().ends_with("Succeeded"),
        "{}",
        world.conditions()
    );
}

#[test]
fn one_that_is_evicted_may_try_again_whatever_code_it_ends_with() {
    for code in [0, 1] {
        let mut world = running(&tensorflow(
            "Worker:2:ExitCode",
            "  runPolicy: {backoffLimit: 3}\n",
        ));
        world.change("j-worker-1", |pod| {
            end(pod, "tensorflow", 1);
            pod.exits[0].code = code;
            (pod.is_disrupted, pod.reason) = (true, "Evicted".to_owned());
        });
        world.reconcile();
        assert_eq!(world.conditions(), "Created Restarting");
        // Drained: it is asked to stop, and does.
        let mut world = running(&tensorflow(
            "Worker:2:ExitCode",
            "  runPolicy: {backoffLimit: 3}\n",
        ));
        let now = world.now;
        world.change("j-worker-0", |pod| {
            pod.is_disrupted = true;
            stop(pod, now);
            end(pod, "tensorflow", code);
        });
        world.reconcile();
        assert_eq!(world.conditions(), "Created Restarting");
        assert!(
            world.message().contains("restart 1 of 3: worker-0"),
            "{}",
            world.message()
        );
    }
}

#[test]
fn a_gang_that_loses_a_rank_without_a_failure_starts_anew() {
    let yaml = pytorch(
        "Master:1:OnFailure Worker:2:OnFailure",
        "  runPolicy: {backoffLimit: 1}\n",
    )
    .replace(
        "{name: j",
        "{annotations: {trainyard.dev/gang-restart: \"true\"}, name: j",
    );
    for is_removed in [true, false] {
        let mut world = running(&yaml);
        let before: Vec<String> = world.observed.pods.iter().map(|pod| pod.uid.clone()).collect();
        let now = world.now;
        if is_removed {
            world.observed.pods.retain(|pod| pod.name != "j-worker-1");
        } else {
            world.change("j-worker-1", |pod| stop(pod, now));
        }
        assert_eq!(world.reconcile().make, []);
        let wanted = "is restarting because a rank is missing. restart 1 of 1: worker-1 is gone";
        assert!(world.message().contains(wanted), "{}", world.message());
        world.settle();
        world.run_all();
        world.settle();
        assert!(world.observed.pods.iter().all(|pod| !before.contains(&pod.uid)));
        assert!(world.conditions().ends_with("Running"), "{}", world.conditions());
        // The budget is one for all causes.
        world.observed.pods.retain(|pod| pod.name != "j-worker-0");
        world.reconcile();
        assert!(
            world.message().ends_with("backoff limit: worker-0 is gone"),
            "{}",
            world.message()
        );
    }
}

#[test]
fn ranks_that_have_done_their_work_may_go() {
    let rest = "  runPolicy: {backoffLimit: 0}\n";
    let yaml = pytorch("Master:1 Worker:2", rest).replace(
        "{name: j",
        "{annotations: {trainyard.dev/gang-restart: \"true\"}, name: j",
    );
    let mut world = running(&yaml);
    world.end("j-worker-1", "pytorch", 0);
    world.settle();
    let master = world.pod("j-master-0").unwrap().uid.clone();
    world.observed.pods.retain(|pod| pod.name != "j-worker-1");
    world.settle();
    assert_eq!(world.pod("j-master-0").unwrap().uid, master);
    assert_eq!(world.conditions(), "Created Running");
}

#[test]
fn whoever_wants_all_to_be_restarted_wants_restarts() {
    let gang = |roles: &str| {
        let yaml = tensorflow(roles, "  runPolicy: {backoffLimit: 3}\n");
        yaml.replace(
            "{name: j",
            "{annotations: {trainyard.dev/gang-restart: \"true\"}, name: j",
        )
    };
    let mut world = running(&gang("Worker:2"));
    world.end("j-worker-1", "tensorflow", 1);
    world.reconcile();
    assert!(
        world.message().contains("restart 1 of 3: worker-1 exit 1"),
        "{}",
        world.message()
    );

    // Who says otherwise is told.
    let mut world = World::new(&gang("Worker:2:Never"));
    world.settle();
    let is_told = |event: &crate::Event| event.reason == "NoGangRestart";
    assert!(world.events.iter().any(is_told), "{:?}", world.events);
}

#[test]
fn an_end_is_told_from_a_stop_by_when_it_was() {
    let read = |finished: &str, phase: &str, disrupted: &str| {
        Pod::read(&json!({
            "metadata": {
                "name": "p", "deletionTimestamp": "2026-01-01T00:00:40Z", "deletionGracePeriodSeconds": 30,
            },
            "status": {"phase": phase, "containerStatuses": [
                {"name": "c", "state": {"terminated": {"exitCode": 0, "finishedAt": finished}}},
            ], "conditions": [{"type": "DisruptionTarget", "status": disrupted}]},
        }))
    };
    let pod = |finished: &str| read(finished, "Succeeded", "False");
    assert!(pod("2026-01-01T00:00:09Z").has_succeeded());
    assert!(!pod("2026-01-01T00:00:10Z").has_succeeded());
    assert!(!pod("2026-01-01T00:00:35Z").has_succeeded());
    // The node of a pod whose other container runs is lost.
    assert!(read("2026-01-01T00:00:09Z", "Running", "True").has_failed());
}
