//! Launchers that are batch Jobs: stopped, placed elsewhere, and made to go on; there are never two, and what they
//! have used of the restarts stays used.

use serde_json::{Value, json};

use super::mpi::{job, launcher};
use crate::{Phase, Pod, simulation::World};

/// A launcher that has run and failed once, of a job that stands still.
fn stopped() -> World {
    let mut world = World::new(&job(
        "v2beta1",
        "  runPolicy: {backoffLimit: 3, suspend: false}\n",
        "",
    ));
    world.settle();
    world.run_batch_jobs();
    world.run_all();
    let name = world.names()[2].to_owned();
    world.end(&name, "l", 1);
    world.run_batch_jobs();
    world.settle();
    suspend(&mut world, true);
    world.run_batch_jobs();
    world.settle();
    world
}

fn suspend(world: &mut World, suspend: bool) {
    world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
    world.settle();
}

/// Where the launcher is to go, as Kueue says it.
fn place(world: &mut World, nodes: Value) {
    let launcher = &mut world.job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"];
    launcher["spec"]["nodeSelector"] = nodes;
}

fn placed(world: &World) -> &Value {
    &world.template(&world.observed.jobs[0])["spec"]["nodeSelector"]
}

#[test]
fn a_launcher_that_never_ran_keeps_nothing_of_where_it_was_to_go() {
    let yaml = job("v2beta1", "  runPolicy: {suspend: true}\n", "");
    let mut world = World::new(&yaml);
    place(&mut world, json!({"pool": "old", "zone": "a"}));
    world.settle();
    assert_eq!(placed(&world), &json!({"pool": "old", "zone": "a"}));
    let before = launcher(&mut world).uid.clone();
    place(&mut world, json!({"zone": "b"}));
    suspend(&mut world, false);
    assert_eq!(placed(&world), &json!({"zone": "b"}));
    assert_eq!(launcher(&mut world).uid, before);
    assert!(!launcher(&mut world).is_suspended);
    assert!(world.job["status"]["restarts"].is_null());
}

#[test]
fn a_launcher_that_has_run_goes_elsewhere_as_another_with_the_restarts_that_are_left() {
    let mut world = stopped();
    let before = launcher(&mut world).uid.clone();
    place(&mut world, json!({"zone": "b"}));
    suspend(&mut world, false);
    assert_ne!(launcher(&mut world).uid, before);
    assert!(!launcher(&mut world).is_suspended);
    assert_eq!(placed(&world), &json!({"zone": "b"}));
    assert_eq!(world.limit(&world.observed.jobs[0]), 2);
    let restarts = &world.job["status"]["restarts"];
    assert_eq!(
        (&restarts["count"], &restarts["replaced"]),
        (&json!(1), &Value::Null)
    );
    let cause = restarts["cause"].as_str().unwrap_or_default();
    assert!(
        cause.starts_with("launcher-") && cause.ends_with(" exit 1"),
        "{cause}"
    );
    for _ in 0..3 {
        world.run_batch_jobs();
        world.run_all();
        world.settle();
        let name = world.names().last().unwrap().to_string();
        world.end(&name, "l", 1);
    }
    world.run_batch_jobs();
    world.settle();
    assert_eq!(world.conditions(), "Created -Suspended -Running Failed");
}

#[test]
fn a_launcher_that_has_run_and_is_as_wanted_goes_on() {
    let mut world = stopped();
    let before = launcher(&mut world).uid.clone();
    suspend(&mut world, false);
    assert_eq!(launcher(&mut world).uid, before);
    assert!(!launcher(&mut world).is_suspended);
    assert!(world.job["status"]["restarts"].is_null());
}

#[test]
fn a_launcher_goes_on_when_what_runs_of_it_from_before_has_ended() {
    let mut world = stopped();
    // Its pod takes its time.
    let uid = launcher(&mut world).uid.clone();
    world.observed.pods.push(Pod {
        name: "j-launcher-slow".to_owned(),
        uid: "slow".to_owned(),
        controller: Some(uid),
        phase: Phase::Running,
        deleted: Some(world.now),
        ..Pod::default()
    });
    place(&mut world, json!({"zone": "b"}));
    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    for _ in 0..3 {
        let plan = world.reconcile();
        let touches = |kind: &str| kind == "Job";
        assert!(!plan.make.iter().any(|child| touches(child.kind())), "{plan:#?}");
        assert!(
            !plan.delete.iter().any(|delete| touches(delete.kind)),
            "{plan:#?}"
        );
    }
    world.bury();
    world.settle();
    world.run_batch_jobs();
    assert_eq!(placed(&world), &json!({"zone": "b"}));
}

#[test]
fn a_job_that_is_stopped_while_its_launcher_is_replaced_has_one_when_it_goes_on() {
    let mut world = stopped();
    place(&mut world, json!({"zone": "b"}));
    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    for looks in 1..4 {
        for _ in 0..looks {
            world.reconcile();
        }
        suspend(&mut world, true);
        world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    }
    world.settle();
    assert_eq!(placed(&world), &json!({"zone": "b"}));
    assert_eq!(world.job["status"]["restarts"]["count"], 1);
    assert_eq!(world.observed.jobs.len(), 1);
}

#[test]
fn what_a_launcher_has_used_counts_when_its_gang_is_restarted() {
    let yaml = job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", "")
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
    world.run_all();
    launcher(&mut world).failed = 2;
    world.change("j-worker-1", |pod| pod.phase = Phase::Failed);
    world.settle();
    assert_eq!(world.job["status"]["restarts"]["count"], 3);
    assert_eq!(launcher(&mut world).failed, 0);
    assert_eq!(world.limit(&world.observed.jobs[0]), 0);
}
