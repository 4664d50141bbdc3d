use jiff::SignedDuration;
use serde_json::json;

use super::{jax, pytorch, tensorflow};
use crate::simulation::{World, end};

#[test]
fn a_signal_is_worth_another_try_and_is_counted_before_it_is_acted_on() {
    let mut world = World::new(&tensorflow(
        "Worker:2:ExitCode",
        "  runPolicy: {backoffLimit: 5}\n",
    ));
    world.settle();
    world.run_all();
    world.settle();
    let first = world.pod("j-worker-1").unwrap().uid.clone();
    world.end("j-worker-1", "tensorflow", 137);
    let plan = world.reconcile();
    assert!(plan.delete.is_empty() && plan.make.is_empty());
    assert_eq!(world.conditions(), "Created Restarting");
    assert_eq!(
        world.message(),
        "TFJob j is restarting because 1 Worker replica(s) failed. restart 1 of 5: worker-1 exit 137, OOMKilled"
    );
    world.settle();
    assert_ne!(world.pod("j-worker-1").unwrap().uid, first);
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    assert_eq!(world.job["status"]["restarts"]["count"], 1);
}

#[test]
fn a_permanent_exit_code_fails_the_job_and_says_why() {
    let mut world = World::new(&jax("Worker:2:ExitCode", ""));
    world.settle();
    world.run_all();
    world.end("j-worker-1", "jax", 1);
    world.change("j-worker-1", |pod| {
        pod.exits[0].message = "Traceback\nValueError: no data\n".to_owned();
    });
    world.settle();
    assert_eq!(world.conditions(), "Created Failed");
    assert_eq!(
        world.message(),
        "job \"j\" is failing because \"Worker\" replica(s) failed. worker-1 exit 1: ValueError: no data"
    );
    assert!(!world.job["status"]["completionTime"].is_null());
}

#[test]
fn never_means_never() {
    let mut world = World::new(&tensorflow("Worker:2", ""));
    world.settle();
    world.run_all();
    world.end("j-worker-1", "tensorflow", 137);
    world.settle();
    assert_eq!(
        world.message(),
        "TFJob team/j has failed because 1 Worker replica(s) failed. worker-1 exit 137, OOMKilled"
    );
}

#[test]
fn restarts_wait_longer_and_longer_and_the_wait_is_stored() {
    let mut world = World::new(&jax("Worker:1:ExitCode", ""));
    world.settle();
    let mut waits = Vec::new();
    for _ in 0..7 {
        world.run_all();
        world.end("j-worker-0", "jax", 143);
        world.settle();
        let wake_at = world.plan().wake_at;
        waits.push(wake_at.map_or(0, |at| at.duration_since(world.now).as_secs()));
        world.now = wake_at.unwrap_or(world.now);
        world.settle();
    }
    assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300]);
}

#[test]
fn one_budget_counts_every_cause() {
    let mut world = World::new(&pytorch("Master:1 Worker:2", "  runPolicy: {backoffLimit: 2}\n"));
    world.settle();
    world.run_all();
    world.change("j-worker-0", |pod| pod.restarts = 1);
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    world.change("j-worker-1", |pod| {
        pod.phase = crate::Phase::Failed;
        pod.reason = "Evicted".to_owned();
        pod.message = "The node was low on resource: memory.".to_owned();
    });
    world.settle();
    let told = &world.events.last().unwrap().message;
    assert!(told.ends_with("restart 2 of 2: worker-1 Evicted: The node was low on resource: memory."));
    world.run_all();
    world.settle();
    world.change("j-worker-0", |pod| pod.restarts = 2);
    world.settle();
    assert_eq!(
        world.message(),
        "Job j has failed because it has reached the specified backoff limit: worker-0 failed"
    );
}

#[test]
fn a_pod_of_a_lost_node_is_replaced_and_at_last_removed_by_force() {
    let mut world = World::new(&jax("Worker:2:OnFailure", ""));
    world.settle();
    world.run_all();
    let now = world.now;
    world.change("j-worker-0", |pod| {
        pod.deleted = Some(now);
        pod.is_disrupted = true;
    });
    world.reconcile();
    let plan = world.plan();
    assert!(plan.delete.is_empty());
    world.now = plan.wake_at.unwrap();
    let plan = world.plan();
    assert!(plan.delete[0].force && plan.delete[0].name == "j-worker-0");
}

#[test]
fn a_gang_is_restarted_together_and_only_once_for_one_cause() {
    let mut yaml = pytorch("Master:1 Worker:3", "  runPolicy: {backoffLimit: 5}\n");
    yaml = yaml.replace(
        "{name: j}",
        "{name: j, annotations: {trainyard.dev/gang-restart: \"true\"}}",
    );
    let mut world = World::new(&yaml);
    world.settle();
    world.run_all();
    world.settle();
    let before: Vec<String> = world.observed.pods.iter().map(|pod| pod.uid.clone()).collect();
    world.end("j-worker-2", "pytorch", 137);
    world.reconcile();
    assert!(
        world
            .message()
            .ends_with("restart 1 of 5: worker-2 exit 137, OOMKilled")
    );
    let plan = world.reconcile();
    assert_eq!((plan.delete.len(), plan.make.len()), (4, 0));
    world.bury();
    world.settle();
    assert_eq!(world.names().len(), 4);
    assert!(
        world
            .observed
            .pods
            .iter()
            .all(|pod| !before.contains(&pod.uid) && pod.gang == 1)
    );
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    assert_eq!(world.job["status"]["restarts"]["count"], 1);
}

#[test]
fn a_dynamic_worker_may_leave() {
    let mut world = World::new(&tensorflow("Worker:3 PS:1", "  enableDynamicWorker: true\n"));
    world.settle();
    world.run_all();
    world.end("j-worker-2", "tensorflow", 1);
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
}

#[test]
fn a_restart_that_finds_no_place_says_so_behind_its_cause() {
    let mut world = World::new(&jax("Worker:1:ExitCode", ""));
    world.settle();
    world.run_all();
    world.end("j-worker-0", "jax", 137);
    world.settle();
    world.change("j-worker-0", |pod| {
        pod.unscheduled = Some("0/1 nodes are available".to_owned());
    });
    world.settle();
    let wanted = "restart 1: worker-0 exit 137, OOMKilled; now worker-0: 0/1 nodes are available";
    assert!(world.message().ends_with(wanted), "{}", world.message());
}

#[test]
fn a_restart_by_the_kubelet_is_told_as_any_other() {
    let mut world = World::new(&jax("Worker:2:OnFailure", "  runPolicy: {backoffLimit: 5}\n"));
    world.settle();
    world.run_all();
    world.change("j-worker-1", |pod| {
        end(pod, "jax", 137);
        pod.exits[0].is_previous = true;
        (pod.phase, pod.restarts) = (crate::Phase::Running, 1);
    });
    world.settle();
    assert_eq!(
        world.message(),
        "JAXJob team/j is running. restart 1 of 5: worker-1 exit 137, OOMKilled"
    );
}

#[test]
fn a_restart_that_the_kubelet_is_about_to_make_is_not_made_over_the_budget() {
    let mut world = World::new(&pytorch("Master:1", "  runPolicy: {backoffLimit: 1}\n"));
    world.settle();
    world.run_all();
    world.change("j-master-0", |pod| pod.restarts = 1);
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    world.change("j-master-0", |pod| {
        end(pod, "pytorch", 3);
        pod.phase = crate::Phase::Running;
        pod.waiting = Some(("CrashLoopBackOff".to_owned(), "back-off 10s".to_owned()));
    });
    world.settle();
    assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
    assert!(
        world.message().ends_with("backoff limit: master-0 exit 3"),
        "{}",
        world.message()
    );
}

#[test]
fn the_kubelet_does_not_restart_one_of_a_gang_by_itself() {
    let yaml = pytorch("Master:1:Always Worker:2:OnFailure", "").replace(
        "{name: j}",
        "{name: j, annotations: {trainyard.dev/gang-restart: \"true\"}}",
    );
    let plan = World::new(&yaml).plan();
    let pods = plan.make.iter().filter(|child| child.kind() == "Pod");
    assert!(
        pods.clone()
            .all(|pod| pod.object["spec"]["restartPolicy"] == "Never")
    );
    assert_eq!(pods.count(), 3);
}

#[test]
fn a_clock_that_is_set_back_by_a_day_keeps_no_restart_waiting() {
    let mut world = World::new(&jax("Worker:1:ExitCode", ""));
    world.settle();
    for _ in 0..2 {
        world.run_all();
        world.end("j-worker-0", "jax", 137);
        world.settle();
    }
    assert!(world.pod("j-worker-0").is_none(), "the second restart waits");
    world.wait(-86_400);
    for _ in 0..2 {
        world.settle();
        if world.pod("j-worker-0").is_none() {
            world.now = world
                .plan()
                .wake_at
                .unwrap()
                .min(world.now + SignedDuration::from_secs(300));
        }
    }
    assert!(world.pod("j-worker-0").is_some());
}

#[test]
fn a_clock_that_is_set_back_by_a_day_gives_no_job_a_day_more() {
    let mut world = World::new(&jax("Worker:1", "  runPolicy: {activeDeadlineSeconds: 60}\n"));
    world.settle();
    world.run_all();
    world.wait(-86_400);
    world.settle();
    world.wait(61);
    world.settle();
    assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
}

#[test]
fn pods_that_go_with_fewer_replicas_do_not_take_their_restarts_along() {
    let mut world = World::new(&pytorch("Worker:2", "  runPolicy: {backoffLimit: 2}\n"));
    world.settle();
    world.run_all();
    world.change("j-worker-1", |pod| pod.restarts = 2);
    world.settle();
    world.job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = json!(1);
    world.settle();
    assert_eq!(world.names(), ["j-worker-0"]);
    assert!(world.message().contains("restart 2 of 2"), "{}", world.message());
    world.change("j-worker-0", |pod| pod.restarts = 1);
    world.settle();
    assert!(world.conditions().ends_with("Failed"), "{}", world.conditions());
}
