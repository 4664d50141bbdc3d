//! Launchers that are batch Jobs: stopped, placed elsewhere, and made to go on; there are never two, and what they
//! have used of the restarts stays used.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    mpi::{job, launcher},
    stories,
};
use crate::{
    BatchJob, Phase, Pod,
    simulation::{World, end},
};

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

#[test]
fn what_becomes_of_a_launcher_that_is_being_deleted_is_no_verdict() {
    let failed = |deleted: Value| {
        let condition = json!({
            "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
            "lastTransitionTime": "2026-01-01T00:00:05Z",
        });
        let meta = json!({"name": "j-launcher", "deletionTimestamp": deleted});
        BatchJob::read(&json!({"metadata": meta, "status": {"conditions": [condition]}})).failure
    };
    assert!(failed(Value::Null).is_some());
    assert!(failed(json!("2026-01-01T00:00:06Z")).is_some());
    assert!(failed(json!("2026-01-01T00:00:05Z")).is_none());
}

#[test]
fn only_of_launchers_that_stand_still_it_is_remembered_what_they_run() {
    let template = |kind: &str, suspend: bool| {
        let owner = json!({"kind": kind, "uid": "u", "controller": true});
        let spec = json!({"suspend": suspend, "template": {"spec": {}}});
        BatchJob::read(&json!({"metadata": {"ownerReferences": [owner]}, "spec": spec})).template
    };
    assert_eq!(template("MPIJob", true), "{\"spec\":{}}");
    assert_eq!(template("MPIJob", false), "");
    assert_eq!(template("CronJob", true), "");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The operator looks, and dies after so many steps.
    Look(usize),
    /// Pods begin to run, those that were asked to stop are gone, and batch Jobs are looked after.
    Pass,
    /// The launcher that runs fails.
    Fail,
    Suspend(bool),
    Place(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..9usize).prop_map(Step::Look),
        4 => Just(Step::Look(usize::MAX)),
        6 => Just(Step::Pass),
        2 => Just(Step::Fail),
        2 => any::<bool>().prop_map(Step::Suspend),
        2 => (0..3u8).prop_map(Step::Place),
    ]
}

/// A job that is stopped, placed elsewhere and let go on, in any order.
struct Story {
    world: World,
    failures: usize,
}

impl Story {
    fn run(&mut self, step: Step) {
        let world = &mut self.world;
        match step {
            Step::Look(stop) => {
                let plan = world.plan();
                world.apply(&plan, stop);
            }
            Step::Pass => {
                world.bury();
                world.run_batch_jobs();
                world.run_all();
            }
            Step::Fail => self.failures += usize::from(self.end(1)),
            Step::Suspend(suspend) => {
                world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
                world.changed();
            }
            Step::Place(zone) => {
                place(world, json!({"zone": zone.to_string()}));
                world.changed();
            }
        }
    }

    /// Whether there was a launcher to end.
    fn end(&mut self, code: i32) -> bool {
        let runs = |pod: &&mut Pod| {
            pod.name.starts_with("j-launcher-") && pod.phase == Phase::Running && !pod.is_deleted()
        };
        let Some(pod) = self.world.observed.pods.iter_mut().find(runs) else {
            return false;
        };
        end(pod, "l", code);
        self.world.run_batch_jobs();
        true
    }

    fn has_ended(&self) -> bool {
        !self.world.job["status"]["completionTime"].is_null()
    }

    /// Everybody does what is left to do, well.
    fn conclude(&mut self) {
        self.run(Step::Suspend(false));
        for _ in 0..20 {
            for _ in 0..3 {
                self.run(Step::Look(usize::MAX));
                self.run(Step::Pass);
            }
            if self.has_ended() {
                return;
            }
            self.end(0);
        }
    }
}

proptest! {
    #![proptest_config(stories(96))]

    /// The simulation refuses a second launcher, and changes that a Job cannot take.
    #[test]
    fn launchers_fail_as_often_as_they_may_however_they_are_stopped_and_placed(
        limit in 0..4usize,
        steps in prop::collection::vec(step(), 0..100),
    ) {
        let policy = format!("  runPolicy: {{backoffLimit: {limit}, suspend: false}}\n");
        let mut story = Story { world: World::new(&job("v2beta1", &policy, "")), failures: 0 };
        for step in steps {
            story.run(step);
        }
        story.conclude();
        prop_assert!(story.failures <= limit + 1, "{} failures where {limit} are allowed", story.failures);
        let expected = if story.failures > limit { "Failed" } else { "Succeeded" };
        let conditions = story.world.conditions();
        prop_assert!(conditions.ends_with(expected), "{conditions} after {} failures of {limit}", story.failures);
    }
}
