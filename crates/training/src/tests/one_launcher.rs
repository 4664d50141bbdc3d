//! Launchers that batch Jobs make: one at a time, within the budget of their job, and of one version.

use serde_json::json;

use super::mpi::{job, launcher};
use crate::{
    Phase,
    simulation::{World, end, is_alive, is_launched},
};

/// A gang of the version, whose workers may be restarted, with three restarts for all.
fn gang(version: &str, rest: &str) -> World {
    let rest = format!("  runPolicy: {{backoffLimit: 3, suspend: false}}\n{rest}");
    let yaml = job(version, &rest, "")
        .replace(
            "{name: j}",
            "{name: j, annotations: {trainyard.dev/gang-restart: \"true\"}}",
        )
        .replace(
            "Worker: {replicas: 2",
            "Worker: {replicas: 2, restartPolicy: OnFailure",
        );
    let mut world = World::new(&yaml);
    world.settle();
    go_on(&mut world);
    world
}

/// The batch Job makes its pod, and all run.
fn go_on(world: &mut World) {
    world.run_batch_jobs();
    world.run_all();
    world.settle();
}

/// The program of the launcher that runs ends.
fn end_launcher(world: &mut World, code: i32) {
    let mut pods = world.observed.pods.iter_mut();
    let running = pods.find(|pod| is_launched(pod) && is_alive(pod)).unwrap();
    end(running, "l", code);
    world.run_batch_jobs();
    world.settle();
}

fn evict(world: &mut World, name: &str) {
    world.change(name, |pod| {
        pod.phase = Phase::Failed;
        pod.reason = "Evicted".to_owned();
    });
}

#[test]
fn a_gang_restart_forgets_no_failure_of_the_launcher() {
    for version in ["v2beta1", "v1alpha2"] {
        let mut world = gang(version, "");
        for _ in 0..2 {
            end_launcher(&mut world, 1);
            go_on(&mut world);
        }
        assert!(world.message().contains("restart 2 of 3"), "{}", world.message());
        evict(&mut world, "j-worker-1");
        world.settle();
        go_on(&mut world);
        assert!(world.message().contains("restart 3 of 3"), "{}", world.message());
        assert_eq!(world.conditions(), "Created Running");
        // The next is one too many, whoever would make it.
        end_launcher(&mut world, 1);
        assert_eq!(
            world.observed.jobs[0].failure.as_ref().unwrap().0,
            "BackoffLimitExceeded"
        );
        assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
    }
}

#[test]
fn a_suspended_job_forgets_no_restart() {
    for version in ["v1alpha2", "v1", "v2beta1"] {
        let rest = "  runPolicy: {backoffLimit: 3, suspend: false}\n";
        let yaml = job(version, rest, "").replace(
            "Worker: {replicas: 2",
            "Worker: {replicas: 2, restartPolicy: OnFailure",
        );
        let mut world = World::new(&yaml);
        world.settle();
        go_on(&mut world);
        world.change("j-worker-0", |pod| pod.restarts = 1);
        if version != "v1" {
            end_launcher(&mut world, 1);
            go_on(&mut world);
        }
        let wanted = if version == "v1" {
            "restart 1 of 3"
        } else {
            "restart 2 of 3"
        };
        world.settle();
        assert!(world.message().contains(wanted), "{}", world.message());
        world.job["spec"]["runPolicy"]["suspend"] = json!(true);
        world.settle();
        world.run_batch_jobs();
        world.bury();
        world.settle();
        assert!(
            world.observed.pods.iter().all(|pod| !is_alive(pod)),
            "{:?}",
            world.names()
        );
        world.job["spec"]["runPolicy"]["suspend"] = json!(false);
        world.settle();
        go_on(&mut world);
        assert_eq!(world.conditions(), "Created -Suspended Running");
        assert!(world.message().contains(wanted), "{version}: {}", world.message());
    }
}

#[test]
fn a_launcher_that_has_ended_is_not_missed_before_its_job_has_said_so() {
    for version in ["v2beta1", "v1alpha2"] {
        for code in [0, 1] {
            let mut world = World::new(&job(version, "  runPolicy: {backoffLimit: 3}\n", ""));
            world.settle();
            go_on(&mut world);
            let mut pods = world.observed.pods.iter_mut();
            end(pods.find(|pod| is_launched(pod)).unwrap(), "l", code);
            world.settle();
            assert_eq!(world.conditions(), "Created Running");
            world.run_batch_jobs();
            world.settle();
            if code == 0 {
                assert_eq!(world.conditions(), "Created -Running Succeeded");
            } else {
                assert_eq!(world.conditions(), "Created Restarting");
                assert!(world.message().contains("restart 1 of 3"), "{}", world.message());
                let is_told = |event: &crate::Event| event.message.contains("restart 1 of 3");
                assert!(world.events.iter().any(is_told), "{:?}", world.events);
            }
        }
    }
}

#[test]
fn a_launcher_whose_job_somebody_deletes_has_not_failed() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {backoffLimit: 0}\n", ""));
    world.settle();
    go_on(&mut world);
    let uid = world.observed.jobs[0].uid.clone();
    world.observed.jobs[0].is_being_deleted = true;
    world.reconcile();
    // It is stopped, and its Job counts that.
    let now = world.now;
    for pod in world.observed.pods.iter_mut().filter(|pod| is_launched(pod)) {
        end(pod, "l", 143);
        pod.deleted = Some(now);
    }
    assert_eq!(world.observed.jobs[0].uid, uid);
    world.observed.jobs[0].failed = 1;
    world.reconcile();
    world.bury();
    world.settle();
    go_on(&mut world);
    assert!(
        world.conditions().ends_with("Running"),
        "{:#}",
        world.job["status"]
    );
    assert_ne!(world.observed.jobs[0].uid, uid);
}

#[test]
fn a_job_that_was_refused_may_become_one_of_another_version() {
    let yaml = job("v2beta1", "", "").replace("Worker: {replicas: 2", "Worker: {replicas: -2");
    let mut world = World::new(&yaml);
    world.settle();
    assert_eq!(world.conditions(), "Failed");
    assert!(world.job["status"]["mpiVersion"].is_null());
}

/// Somebody deletes the batch Job, whose pods take their time to end.
fn lose_batch_job(world: &mut World) {
    world.observed.jobs.clear();
    let now = world.now;
    let pods = world.observed.pods.iter_mut();
    for pod in pods.filter(|pod| is_launched(pod)) {
        pod.deleted = Some(now);
    }
}

#[test]
fn the_next_launcher_waits_for_the_end_of_one_whose_job_is_gone() {
    for version in ["v2beta1", "v1alpha2"] {
        let mut world = World::new(&job(version, "", ""));
        world.settle();
        go_on(&mut world);
        lose_batch_job(&mut world);
        world.reconcile();
        assert!(world.observed.jobs.is_empty(), "{:?}", world.names());
        world.bury();
        world.settle();
        assert_eq!(world.observed.jobs.len(), 1);
        go_on(&mut world);
        assert_eq!(world.conditions(), "Created Running");
    }
}

#[test]
fn nor_is_the_rest_of_a_gang_made_before() {
    let mut world = gang("v2beta1", "");
    lose_batch_job(&mut world);
    evict(&mut world, "j-worker-1");
    world.reconcile();
    world.reconcile();
    world
        .observed
        .pods
        .retain(|pod| pod.deleted.is_none() || is_launched(pod));
    world.reconcile();
    assert!(
        world.names().iter().all(|name| name.starts_with("j-launcher-")),
        "{:?}",
        world.names()
    );
    world.bury();
    world.settle();
    assert_eq!((world.names().len(), world.observed.jobs.len()), (2, 1));
}

#[test]
fn a_launcher_on_a_lost_node_is_not_waited_for_for_ever() {
    let mut world = World::new(&job("v2beta1", "", ""));
    world.settle();
    go_on(&mut world);
    lose_batch_job(&mut world);
    for pod in world.observed.pods.iter_mut().filter(|pod| is_launched(pod)) {
        pod.is_disrupted = true;
    }
    let plan = world.reconcile();
    assert!(world.observed.jobs.is_empty());
    world.now = plan.wake_at.unwrap();
    world.reconcile();
    assert_eq!(world.observed.jobs.len(), 1);
}

#[test]
fn a_batch_job_does_not_wait_for_ever_for_a_launcher_on_a_lost_node() {
    for version in ["v2beta1", "v1alpha2"] {
        let mut world = World::new(&job(version, "  runPolicy: {backoffLimit: 3}\n", ""));
        world.settle();
        go_on(&mut world);
        let now = world.now;
        let mut pods = world.observed.pods.iter_mut();
        let lost = pods.find(|pod| is_launched(pod)).unwrap();
        (lost.deleted, lost.is_disrupted, lost.restarts) = (Some(now), true, 1);
        let uid = lost.uid.clone();
        // What the kubelet has restarted is written down first.
        assert_eq!(world.reconcile().delete, []);
        let plan = world.reconcile();
        assert_eq!(plan.delete, []);
        let given_up = format!("it is given up at {:.0}", plan.wake_at.unwrap());
        assert!(world.message().contains(&given_up), "{}", world.message());
        world.now = plan.wake_at.unwrap();
        let plan = world.plan();
        let [delete] = plan.delete.as_slice() else {
            panic!("{plan:#?}")
        };
        assert_eq!(
            (&delete.uid, delete.force, delete.tell_failed),
            (&uid, true, true)
        );
        // As the API server has it then.
        let mut pods = world.observed.pods.iter_mut();
        pods.find(|pod| pod.uid == uid).unwrap().phase = Phase::Failed;
        // Whoever is cut off between the two goes on with the second.
        let plan = world.plan();
        let [delete] = plan.delete.as_slice() else {
            panic!("{plan:#?}")
        };
        assert_eq!(
            (&delete.uid, delete.force, delete.tell_failed),
            (&uid, true, false)
        );
        world.run_batch_jobs();
        world.bury();
        go_on(&mut world);
        assert!(world.message().contains("restart 2 of 3"), "{}", world.message());
    }
}

#[test]
fn nobody_has_to_be_told_that_a_worker_on_a_lost_node_has_failed() {
    let yaml = job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", "").replace(
        "Worker: {replicas: 2",
        "Worker: {replicas: 2, restartPolicy: OnFailure",
    );
    let mut world = World::new(&yaml);
    world.settle();
    go_on(&mut world);
    let now = world.now;
    world.change("j-worker-1", |pod| {
        (pod.deleted, pod.is_disrupted) = (Some(now), true);
    });
    // It is counted first.
    assert_eq!(world.reconcile().delete, []);
    let plan = world.reconcile();
    assert!(
        world.message().contains("worker-1: its node has not said"),
        "{}",
        world.message()
    );
    world.now = plan.wake_at.unwrap();
    let plan = world.plan();
    let [delete] = plan.delete.as_slice() else {
        panic!("{plan:#?}")
    };
    assert_eq!(
        (delete.name.as_str(), delete.force, delete.tell_failed),
        ("j-worker-1", true, false)
    );
}

#[test]
fn why_a_launcher_on_a_lost_node_was_given_up_is_told_when_it_is_gone() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", ""));
    world.settle();
    go_on(&mut world);
    let now = world.now;
    let mut pods = world.observed.pods.iter_mut();
    let lost = pods.find(|pod| is_launched(pod)).unwrap();
    (lost.deleted, lost.is_disrupted) = (Some(now), true);
    let name = lost.name.trim_start_matches("j-").to_owned();
    world.wait(301);
    world.reconcile();
    world.bury();
    launcher(&mut world).failed = 1;
    go_on(&mut world);
    let wanted = format!("restart 1 of 3: {name} disrupted");
    assert!(world.message().contains(&wanted), "{}", world.message());
}

#[test]
fn what_a_launcher_has_used_stays_used_when_its_job_vanishes() {
    for version in ["v2beta1", "v1alpha2"] {
        for suspend in [false, true] {
            let rest = "  runPolicy: {backoffLimit: 3, suspend: false}\n";
            let mut world = World::new(&job(version, rest, ""));
            world.settle();
            go_on(&mut world);
            for _ in 0..2 {
                end_launcher(&mut world, 1);
                go_on(&mut world);
            }
            world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
            world.settle();
            lose_batch_job(&mut world);
            world.bury();
            // A look that is interrupted before its status is stored changes nothing.
            let plan = world.plan();
            world.apply(&plan, plan.make.len() + plan.delete.len() + 1);
            world.settle();
            assert_eq!(world.job["status"]["restarts"]["count"], 2);
            world.job["spec"]["runPolicy"]["suspend"] = json!(false);
            world.settle();
            go_on(&mut world);
            assert!(world.message().contains("restart 2 of 3"), "{}", world.message());
            assert_eq!(world.limit(&world.observed.jobs[0]), 1);
        }
    }
}

#[test]
fn nor_is_what_the_kubelet_has_restarted_forgotten() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", ""));
    world.settle();
    go_on(&mut world);
    let mut pods = world.observed.pods.iter_mut();
    pods.find(|pod| is_launched(pod)).unwrap().restarts = 2;
    world.settle();
    lose_batch_job(&mut world);
    world.reconcile();
    world.reconcile();
    world.bury();
    world.settle();
    assert_eq!(world.job["status"]["restarts"]["count"], 2);
    assert_eq!(world.limit(&world.observed.jobs[0]), 1);
}

#[test]
fn a_launcher_that_is_missing_by_mistake_has_not_vanished() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", ""));
    world.settle();
    go_on(&mut world);
    for _ in 0..2 {
        end_launcher(&mut world, 1);
        go_on(&mut world);
    }
    let roles = &mut world.job["spec"]["mpiReplicaSpecs"];
    let launcher = roles.as_object_mut().unwrap().remove("Launcher").unwrap();
    world.changed();
    world.settle();
    assert!(
        world.conditions().starts_with("-Failed"),
        "{}",
        world.conditions()
    );
    assert_eq!(world.job["status"]["replicaStatuses"]["Launcher"]["failed"], 2);
    world.job["spec"]["mpiReplicaSpecs"]["Launcher"] = launcher;
    world.changed();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    assert!(world.message().contains("restart 2 of 3"), "{}", world.message());
}

#[test]
fn a_launcher_that_is_replaced_is_counted_once() {
    let mut world = gang("v2beta1", "");
    end_launcher(&mut world, 1);
    go_on(&mut world);
    let total = |world: &World| {
        let status = &world.job["status"];
        let number = |value: &serde_json::Value| value.as_i64().unwrap_or_default();
        number(&status["restarts"]["count"]) + number(&status["replicaStatuses"]["Launcher"]["failed"])
    };
    assert_eq!(total(&world), 1);
    evict(&mut world, "j-worker-1");
    for _ in 0..6 {
        world.reconcile();
        assert_eq!(total(&world), 2, "{:#}", world.job["status"]);
        world.bury();
    }
}

#[test]
fn while_the_next_launcher_is_waited_for_nothing_is_said_twice() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", ""));
    world.settle();
    go_on(&mut world);
    end_launcher(&mut world, 1);
    assert_eq!(world.conditions(), "Created Restarting");
    // Programs may end with any words.
    let mut pods = world.observed.pods.iter_mut();
    let failed = pods.find(|pod| pod.phase == Phase::Failed).unwrap();
    failed.exits[0].message = "a peer is lost; now I give up".to_owned();
    world.settle();
    let said = world.events.len();
    world.wait(1);
    assert_eq!(world.reconcile().status, None);
    assert_eq!(world.events.len(), said);
}

#[test]
fn a_launcher_that_is_a_rank_is_restarted_with_its_gang() {
    let mut world = gang("v2beta1", "  runLauncherAsWorker: true\n");
    let before = world.names().join(" ");
    end_launcher(&mut world, 137);
    let cause = world.job["status"]["restarts"]["cause"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        cause.starts_with("launcher-") && cause.ends_with("exit 137, OOMKilled"),
        "{cause}"
    );
    go_on(&mut world);
    assert_eq!(world.conditions(), "Created Running");
    assert!(world.message().contains("restart 1 of 3"), "{}", world.message());
    assert_eq!((launcher(&mut world).gang, world.names().len()), (1, 3));
    assert!(world.observed.pods.iter().all(|pod| pod.gang == 1), "{before}");
    for restart in 2..=3 {
        world.wait(3600);
        end_launcher(&mut world, 1);
        go_on(&mut world);
        let wanted = format!("restart {restart} of 3");
        assert!(world.message().contains(&wanted), "{}", world.message());
    }
    end_launcher(&mut world, 1);
    assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
}

/// A stored job with its writers: who, in which version, when.
fn written(world: &mut World, writers: &[(&str, &str, &str)]) {
    let fields = writers.iter().map(|(manager, version, time)| {
        json!({"manager": manager, "apiVersion": format!("kubeflow.org/{version}"), "time": format!("2026-01-01T00:00:{time}Z")})
    });
    let meta = &mut world.job["metadata"];
    meta["managedFields"] = fields.collect();
    meta["resourceVersion"] = json!("7");
    meta["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
}

#[test]
fn a_job_stays_of_its_version_whoever_writes_it_in_another() {
    for (own, other) in [("v2beta1", "v1"), ("v1", "v2beta1"), ("v1alpha2", "v2beta1")] {
        let mut world = World::new(&job(own, "", ""));
        written(&mut world, &[("kubectl-client-side-apply", own, "00")]);
        // As it is stored, and so told by the server.
        world.job["apiVersion"] = json!("kubeflow.org/v2beta1");
        world.settle();
        go_on(&mut world);
        let (pods, jobs) = (world.names().join(" "), world.observed.jobs.len());
        // Another edits it in the version that it prefers, and the first applies it again.
        let writers = [
            ("kubectl-edit", other, "05"),
            ("kubectl-client-side-apply", own, "09"),
        ];
        written(&mut world, &writers);
        world.job["metadata"]["generation"] = json!(3);
        world.settle();
        assert_eq!(
            (world.names().join(" "), world.observed.jobs.len()),
            (pods, jobs),
            "{own}"
        );
        assert_eq!(world.conditions(), "Created Running");
    }
}
