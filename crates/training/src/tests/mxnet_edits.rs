//! MxJobs whose specification was fine when they began, and is wrong now.

use serde_json::json;

use super::mxnet::distributed;
use crate::simulation::World;

fn running() -> World {
    let mut world = World::new(&distributed());
    world.settle();
    world.run_batch_jobs();
    world.run_all();
    world.settle();
    world
}

fn edit(world: &mut World, policy: &str) {
    let worker = &mut world.job["spec"]["replicaSpecs"][2];
    worker["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!(policy);
    world.changed();
}

fn warnings(world: &World) -> Vec<&str> {
    let warnings = world.events.iter().filter(|event| event.severity == "Warning");
    warnings.map(|event| event.message.as_str()).collect()
}

#[test]
fn what_runs_is_looked_after_and_the_finding_is_told_once() {
    let mut world = running();
    edit(&mut world, "Sometimes");
    world.settle();
    world.settle();
    let status = &world.job["status"];
    assert_eq!(
        (&status["phase"], &status["state"]),
        (&json!("Running"), &json!(null))
    );
    assert_eq!(status["progress"], "6/6");
    assert_eq!(status["observedGeneration"], 2);
    let reason = status["reason"].as_str().unwrap();
    let path = "invalid job spec: spec.replicaSpecs[2].template.spec.containers[0].imagePullPolicy: ";
    assert!(reason.starts_with(path), "{reason}");
    assert_eq!(warnings(&world), [reason]);
    world.observed.jobs[0].is_complete = true;
    world.settle();
    let status = &world.job["status"];
    assert_eq!(
        (&status["phase"], &status["state"], &status["reason"]),
        (&json!("Done"), &json!("Succeeded"), &json!(""))
    );
}

#[test]
fn nothing_is_made_until_it_is_mended() {
    let mut world = running();
    edit(&mut world, "Sometimes");
    world.settle();
    world.observed.jobs.pop();
    world.settle();
    assert_eq!(world.observed.jobs.len(), 5);
    assert_eq!(world.job["status"]["phase"], "Running");
    edit(&mut world, "Always");
    world.settle();
    assert_eq!(world.observed.jobs.len(), 6);
    assert_eq!(world.job["status"]["reason"], "");
    world.observed.jobs[0].is_complete = true;
    world.settle();
    assert_eq!(world.job["status"]["state"], "Succeeded");
}

#[test]
fn its_children_are_found_whatever_was_written_over_their_names() {
    for (field, value) in [
        ("RuntimeId", json!("Not_A_Name")),
        ("replicaSpecs", json!([])),
        ("replicaSpecs", json!("none")),
        ("jobMode", json!("spread")),
    ] {
        let mut world = running();
        world.job["spec"][field] = value;
        world.changed();
        world.settle();
        let status = &world.job["status"];
        assert_eq!(
            (&status["phase"], &status["progress"]),
            (&json!("Running"), &json!("6/6"))
        );
        assert_eq!(warnings(&world).len(), 1);
        world.observed.jobs[5].failure = Some(("DeadlineExceeded".to_owned(), "too late".to_owned()));
        world.settle();
        assert_eq!(world.job["status"]["state"], "Failed", "{field}");
        assert_eq!(
            world.job["status"]["reason"],
            "worker-1kkf-2 DeadlineExceeded: too late"
        );
    }
}

#[test]
fn a_job_whose_status_was_not_written_has_begun_with_its_first_child() {
    let mut world = World::new(&distributed());
    world.settle();
    world.job["status"] = json!(null);
    edit(&mut world, "Sometimes");
    world.settle();
    assert_eq!(world.job["status"]["phase"], "Running");
}

#[test]
fn a_job_of_which_nothing_is_left_stays_in_its_phase() {
    let mut world = running();
    world.observed.jobs.clear();
    edit(&mut world, "Sometimes");
    world.settle();
    assert_eq!(world.job["status"]["phase"], "Running");
    assert!(world.observed.jobs.is_empty());
}

#[test]
fn a_job_that_never_began_has_failed_and_stays_so() {
    let mut world = World::new(&distributed());
    edit(&mut world, "Sometimes");
    world.settle();
    assert_eq!(world.job["status"]["phase"], "Failed");
    assert!(world.observed.jobs.is_empty());
    edit(&mut world, "Always");
    assert_eq!(world.plan(), crate::Plan::default());
}
