//! Words that scripts and dashboards look for.

use super::job;
use crate::{Gang, render, simulation::World};

fn mpi(version: &str) -> String {
    job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher Worker:2", "")
        .replace("org/v1", &format!("org/{version}"))
}

#[test]
fn a_v1alpha2_job_fails_in_the_words_of_its_time() {
    let reason = |version: &str| {
        let mut world = World::new(&mpi(version));
        world.settle();
        let why = (
            "BackoffLimitExceeded".to_owned(),
            "Job has reached the specified backoff limit".to_owned(),
        );
        world.observed.jobs[0].failure = Some(why);
        world.settle();
        let conditions = world.job["status"]["conditions"].as_array().unwrap();
        let last = conditions.last().unwrap();
        format!(
            "{} {}",
            last["reason"].as_str().unwrap_or_default(),
            world.message()
        )
    };
    assert_eq!(
        reason("v1alpha2"),
        "MPIJobFailed MPIJob team/j has failed: Job has reached the specified backoff limit"
    );
    assert_eq!(
        reason("v2beta1"),
        "BackoffLimitExceeded Job has reached the specified backoff limit"
    );
}

#[test]
fn the_group_of_a_v2beta1_job_has_the_priority_of_its_pods() {
    let class = |yaml: &str| {
        let mut world = World::new(yaml);
        world.settings.gang = Gang::Volcano;
        let children = render(&world.job, &world.settings).unwrap();
        let group = children.iter().find(|child| child["kind"] == "PodGroup").unwrap();
        group["spec"]["priorityClassName"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let prior = mpi("v2beta1").replace("{spec: {", "{spec: {priorityClassName: high, ");
    assert_eq!(class(&prior), "high");
    assert_eq!(class(&prior.replace("v2beta1", "v1")), "");
    let policy = "spec:\n  runPolicy: {schedulingPolicy: {priorityClass: low}}\n";
    assert_eq!(class(&prior.replacen("spec:\n", policy, 1)), "low");
}

#[test]
fn the_group_of_a_job_asks_for_what_as_many_of_its_pods_need() {
    let needs = |resources: &str, policy: &str| {
        let policy = format!("spec:\n  runPolicy: {{schedulingPolicy: {{{policy}}}}}\n");
        let yaml = mpi("v2beta1").replacen("spec:\n", &policy, 1);
        let mut world = World::new(&yaml);
        let resources: serde_json::Value = serde_json::from_str(resources).unwrap();
        let worker = &mut world.job["spec"]["mpiReplicaSpecs"]["Worker"];
        worker["replicas"] = serde_json::json!(3);
        worker["template"]["spec"]["containers"][0]["resources"] = resources;
        world.settings.gang = Gang::Volcano;
        let children = render(&world.job, &world.settings).unwrap();
        let group = children.iter().find(|child| child["kind"] == "PodGroup").unwrap();
        group["spec"]["minResources"].to_string()
    };
    let both = r#"{"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": 2, "nvidia.com/gpu": 1}}"#;
    assert_eq!(
        needs(both, ""),
        r#"{"cpu":"1500m","memory":"3Gi","nvidia.com/gpu":"3"}"#
    );
    // The launcher is one of them.
    assert_eq!(
        needs(both, "minAvailable: 2"),
        r#"{"cpu":"500m","memory":"1Gi","nvidia.com/gpu":"1"}"#
    );
    assert_eq!(needs(both, "minResources: {cpu: \"9\"}"), r#"{"cpu":"9"}"#);
    assert_eq!(needs("{}", ""), "{}");
}
