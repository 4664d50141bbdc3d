use serde_json::json;

use crate::{Existing, Gang, Phase, Pod, simulation::World};

pub(super) fn distributed() -> String {
    let replica = |role: &str, count: u32| {
        format!(
            "  - {{replicas: {count}, mxReplicaType: {role}, template: {{spec: {{restartPolicy: OnFailure, containers: [{{name: mxnet, image: i}}]}}}}}}\n"
        )
    };
    format!(
        "apiVersion: mxnet.mlkube.io/v1beta1\nkind: MxJob\nmetadata: {{name: j}}\nspec:\n  jobMode: dist\n  RuntimeId: 1kkf\n  replicaSpecs:\n{}{}{}",
        replica("SCHEDULER", 1),
        replica("SERVER", 2),
        replica("WORKER", 3)
    )
}

#[test]
fn each_replica_is_a_batch_job_and_the_scheduler_decides() {
    let mut world = World::new(&distributed());
    world.settle();
    let names: Vec<&str> = world.observed.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names.len(), 6);
    assert_eq!((names[0], names[5]), ("j-scheduler-1kkf-0", "j-worker-1kkf-2"));
    assert_eq!(world.job["status"]["phase"], "Running");
    world.observed.jobs[0].is_complete = true;
    world.settle();
    assert_eq!(
        (&world.job["status"]["phase"], &world.job["status"]["state"]),
        (&"Done".into(), &"Succeeded".into())
    );
}

#[test]
fn a_suspended_job_has_no_batch_jobs_and_begins_again_when_it_is_resumed() {
    let mut world = World::new(&distributed());
    world.settle();
    world.job["spec"]["runPolicy"] = json!({"suspend": true});
    world.settle();
    let status = &world.job["status"];
    assert_eq!(
        (&status["phase"], &status["controlPaused"], &status["progress"]),
        (&"Suspended".into(), &true.into(), &"0/6".into())
    );
    assert!(world.observed.jobs.is_empty());
    world.job["spec"]["runPolicy"]["suspend"] = false.into();
    world.settle();
    assert_eq!(world.job["status"]["phase"], "Running");
    assert_eq!(world.job["status"]["controlPaused"], false);
    assert_eq!(world.observed.jobs.len(), 6);
}

#[test]
fn a_resumed_job_waits_for_what_was_stopped_and_believes_none_of_it() {
    let mut world = World::new(&distributed());
    world.settle();
    let mut stopped = world.observed.jobs.clone();
    world.job["spec"]["runPolicy"] = json!({"suspend": true});
    world.settle();
    for batch in &mut stopped {
        batch.is_being_deleted = true;
        batch.is_complete = true;
    }
    world.observed.jobs = stopped;
    world.job["spec"]["runPolicy"]["suspend"] = false.into();
    let plan = world.plan();
    assert!(plan.make.is_empty() && plan.delete.is_empty(), "{plan:?}");
    assert!(plan.status.is_none_or(|status| status["phase"] == "Suspended"));
    world.observed.jobs.clear();
    world.settle();
    assert_eq!(world.job["status"]["phase"], "Running");
}

#[test]
fn a_job_that_has_ended_is_not_suspended_any_more() {
    let mut world = World::new(&distributed());
    world.settle();
    world.observed.jobs[0].is_complete = true;
    world.job["spec"]["runPolicy"] = json!({"suspend": true});
    world.settle();
    assert_eq!(world.job["status"]["state"], "Succeeded");
}

#[test]
fn a_finished_job_stays_finished() {
    let mut world = World::new(&distributed());
    world.settle();
    world.observed.jobs[0].is_complete = true;
    world.settle();
    world.observed.jobs.clear();
    assert_eq!(world.plan(), crate::Plan::default());
}

#[test]
fn a_program_that_says_why_it_ends_fails_the_job() {
    let mut world = World::new(&distributed());
    world.settle();
    let uid = world.observed.jobs[5].uid.clone();
    let mut pod = Pod {
        controller: Some(uid),
        ..Pod::default()
    };
    crate::simulation::end(&mut pod, "mxnet", 1);
    pod.phase = Phase::Running;
    world.observed.pods.push(pod);
    world.settle();
    assert_eq!(
        world.job["status"]["phase"], "Running",
        "no last words: it may be tried again"
    );
    world.observed.pods[0].exits[0].message = "no such file".to_owned();
    world.settle();
    assert_eq!(world.job["status"]["state"], "Failed");
    assert_eq!(
        world.job["status"]["reason"],
        "worker-1kkf-2 exit 1: no such file"
    );
}

#[test]
fn a_job_without_a_scheduler_is_refused_with_the_reason() {
    let yaml = distributed().replace(
        "replicas: 1, mxReplicaType: SCHEDULER",
        "replicas: 0, mxReplicaType: SCHEDULER",
    );
    let mut world = World::new(&yaml);
    world.reconcile();
    assert_eq!(world.job["status"]["phase"], "Failed");
    assert_eq!(
        world.job["status"]["reason"],
        "invalid job spec: spec.replicaSpecs: Required value: a dist job must have SCHEDULER replicas"
    );
    assert!(world.observed.jobs.is_empty());
}

#[test]
fn the_spelling_of_the_readme_is_accepted() {
    let yaml = "apiVersion: mlkube.io/v1beta1\nkind: MxJob\nmetadata: {name: smoke}\nspec:\n  replica_specs:\n  - {replicas: 1, mxReplicaType: MASTER, template: {spec: {restartPolicy: OnFailure, containers: [{name: tensorflow, image: i}]}}}\n";
    let mut world = World::new(yaml);
    world.settle();
    assert_eq!(world.observed.jobs.len(), 1);
    assert!(world.observed.jobs[0].name.starts_with("smoke-worker-"));
}

#[test]
fn a_job_whose_children_are_refused_says_so() {
    let mut world = World::new(&distributed());
    world.observed.refusals.push(crate::Refusal {
        name: "j-worker-1kkf-2".to_owned(),
        message: "exceeded quota: compute, requested: count/jobs.batch=1, used: count/jobs.batch=5, limited: count/jobs.batch=5".to_owned(),
    });
    world.reconcile();
    assert_eq!(world.job["status"]["phase"], "Creating");
    assert!(
        world.job["status"]["reason"]
            .as_str()
            .unwrap()
            .starts_with("j-worker-1kkf-2: exceeded quota: compute"),
        "{}",
        world.job["status"]
    );
}

#[test]
fn progress_is_told_of_pods_that_run() {
    let mut world = World::new(&distributed());
    world.settle();
    world.run_batch_jobs();
    world.settle();
    assert_eq!(world.job["status"]["progress"], "0/6");
    let first = world.observed.pods[0].name.clone();
    world.run(&first);
    world.settle();
    assert_eq!(world.job["status"]["progress"], "1/6");
    world.run_all();
    world.settle();
    assert_eq!(world.job["status"]["progress"], "6/6");
    assert_eq!(world.job["status"]["phase"], "Running");
}

#[track_caller]
fn refuses(yaml: &str, expected: &[&str]) {
    let errors: Vec<String> = crate::check(&World::new(yaml).job)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, expected);
}

#[test]
fn a_restart_policy_is_one_that_batch_jobs_accept() {
    let policies = |policy: &str| distributed().replacen("restartPolicy: OnFailure, ", policy, 1);
    refuses(
        &policies("restartPolicy: Always, "),
        &[
            "spec.replicaSpecs[0].template.spec.restartPolicy: Unsupported value: \"Always\": supported values: \"OnFailure\", \"Never\"",
        ],
    );
    for good in ["", "restartPolicy: '', ", "restartPolicy: Never, "] {
        refuses(&policies(good), &[]);
    }
}

#[test]
fn a_runtime_id_that_is_no_part_of_a_name_is_told_where_it_stands() {
    refuses(
        &distributed().replace("RuntimeId: 1kkf", "RuntimeId: A_b"),
        &[
            "spec.RuntimeId: Invalid value: \"A_b\": will not able to create job and service with invalid DNS label \"j-scheduler-A_b-0\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    let named = crate::check(&World::new(&distributed().replace("{name: j}", "{name: 3d}")).job);
    assert_eq!(named[0].field, "metadata.name");
    assert_eq!(named.len(), 1, "{named:?}");
}

#[test]
fn paths_are_in_the_spelling_of_the_user() {
    let yaml = "apiVersion: mlkube.io/v1beta1\nkind: MxJob\nmetadata: {name: smoke}\nspec:\n  replica_specs:\n  - {mxReplicaType: WORKER, template: {spec: {containers: [{name: a, image: i, imagePullPolicy: Often}]}}}\n";
    let errors = crate::check(&World::new(yaml).job);
    assert_eq!(
        errors[0].field,
        "spec.replica_specs[0].template.spec.containers[0].imagePullPolicy"
    );
}

fn among_gangs(yaml: &str) -> World {
    let mut world = World::new(yaml);
    world.settings.gang = Gang::Volcano;
    world
}

fn groups(world: &World) -> Vec<&Existing> {
    let others = world.observed.others.iter();
    others.filter(|other| other.kind == "PodGroup").collect()
}

fn let_in(world: &mut World) {
    world.settle();
    let mut others = world.observed.others.iter_mut();
    let group = others.find(|other| other.kind == "PodGroup").unwrap();
    group.phase = Some("Inqueue".to_owned());
    world.settle();
}

#[test]
fn its_pods_are_placed_together_and_its_place_is_given_back() {
    let asks = "image: i, resources: {limits: {nvidia.com/gpu: 1}}";
    let mut world = among_gangs(&distributed().replace("image: i", asks));
    let made = world.plan().make;
    assert_eq!((made[0].kind(), made[0].name()), ("PodGroup", "j-1kkf"));
    assert_eq!(
        made[0].object["spec"],
        json!({"minMember": 6, "minResources": {"nvidia.com/gpu": "6"}, "queue": "default"})
    );
    world.settle();
    assert!(world.observed.jobs.is_empty());
    assert_eq!(
        (&world.job["status"]["phase"], &world.job["status"]["reason"]),
        (
            &json!("Creating"),
            &json!("6 pods wait for Volcano to let PodGroup j-1kkf in")
        )
    );
    let_in(&mut world);
    assert_eq!(world.job["status"]["reason"], "");
    let last = world.template(world.observed.jobs.last().unwrap());
    assert_eq!(last["spec"]["schedulerName"], "volcano");
    let annotations = &last["metadata"]["annotations"];
    assert_eq!(annotations["scheduling.k8s.io/group-name"], "j-1kkf");
    assert_eq!(annotations["volcano.sh/task-spec"], "worker");
    assert_eq!((groups(&world).len(), world.observed.jobs.len()), (1, 6));
    world.job["spec"]["replicaSpecs"][2]["replicas"] = json!(4);
    world.changed();
    let made = world.plan().make;
    assert_eq!(
        made[0].object["spec"],
        json!({"minMember": 7, "minResources": {"nvidia.com/gpu": "7"}})
    );
    world.settle();
    world.observed.jobs[0].is_complete = true;
    world.settle();
    assert_eq!(world.job["status"]["state"], "Succeeded");
    assert_eq!(groups(&world).len(), 1, "what still runs needs its place");
    for batch in &mut world.observed.jobs {
        batch.succeeded = 1;
    }
    world.settle();
    assert!(groups(&world).is_empty());
}

#[test]
fn a_group_that_somebody_has_removed_is_made_again() {
    let mut world = among_gangs(&distributed());
    let_in(&mut world);
    let is_other = |other: &Existing| other.kind != "PodGroup";
    world.observed.others.retain(is_other);
    world.observed.jobs.pop();
    world.settle();
    assert_eq!((groups(&world).len(), world.observed.jobs.len()), (1, 5));
    let reason = "1 pods wait for Volcano to let PodGroup j-1kkf in";
    assert_eq!(world.job["status"]["reason"], reason);
    let_in(&mut world);
    let last = world.observed.jobs.last().unwrap();
    assert_eq!(
        (world.observed.jobs.len(), last.group(&world.settings.gang)),
        (6, Some("j-1kkf"))
    );
}

#[test]
fn a_group_of_another_name_than_it_has_now_is_given_back_when_nobody_is_of_it() {
    let mut world = among_gangs(&distributed());
    world.settle();
    world.job["spec"]["RuntimeId"] = json!("2kkf");
    world.changed();
    world.settle();
    let names: Vec<&str> = groups(&world).iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["j-2kkf"]);
    let_in(&mut world);
    assert_eq!(world.observed.jobs.len(), 6);
    world.job["spec"]["RuntimeId"] = json!("3kkf");
    world.changed();
    world.settle();
    assert_eq!(groups(&world).len(), 2, "pods are of the old one");
}

#[test]
fn a_job_goes_on_alone_where_its_scheduler_is_replaced() {
    let mut world = among_gangs(&distributed());
    let_in(&mut world);
    world.settings.gang = Gang::SchedulerPlugins {
        scheduler: "coscheduler".to_owned(),
    };
    world.observed.others.retain(|other| other.kind != "PodGroup");
    world.observed.jobs.pop();
    world.settle();
    let last = world.observed.jobs.last().unwrap();
    assert_eq!((world.observed.jobs.len(), &last.groups), (6, &None));
    assert!(groups(&world).is_empty());
}

#[test]
fn another_scheduler_with_groups_gets_less_of_them() {
    let mut world = World::new(&distributed());
    world.settings.gang = Gang::SchedulerPlugins {
        scheduler: "coscheduler".to_owned(),
    };
    let made = world.plan().make;
    assert_eq!(made[0].object["apiVersion"], "scheduling.x-k8s.io/v1alpha1");
    assert_eq!(made[0].object["spec"], json!({"minMember": 6}));
    world.settle();
    let last = world.observed.jobs.last().unwrap();
    assert_eq!(
        (world.observed.jobs.len(), last.group(&world.settings.gang)),
        (6, Some("j-1kkf"))
    );
    assert_eq!(world.template(last)["spec"]["schedulerName"], "coscheduler");
}

#[test]
fn a_group_of_another_is_in_the_way_of_those_that_need_one() {
    let theirs = Existing {
        kind: "PodGroup".to_owned(),
        name: "j-1kkf".to_owned(),
        controller: Some("theirs".to_owned()),
        ..Existing::default()
    };
    let mut world = among_gangs(&distributed());
    world.observed.others.push(theirs.clone());
    world.settle();
    assert!(world.observed.jobs.is_empty());
    let reason = world.job["status"]["reason"].as_str().unwrap();
    assert!(reason.contains("already exists"), "{reason}");
    let mut world = World::new(&distributed());
    world.settle();
    world.settings.gang = Gang::Volcano;
    world.observed.others.push(theirs);
    world.observed.jobs.pop();
    world.settle();
    assert_eq!(world.observed.jobs.len(), 6);
}

#[test]
fn a_job_that_has_begun_without_a_group_goes_on_without() {
    let mut world = World::new(&distributed());
    world.settle();
    world.settings.gang = Gang::Volcano;
    world.observed.jobs.pop();
    let made = world.plan().make;
    assert_eq!(made.len(), 1, "{made:#?}");
    assert!(made[0].object["spec"]["template"]["spec"]["schedulerName"].is_null());
}

#[test]
fn one_alone_needs_no_group() {
    let yaml = "apiVersion: mxnet.mlkube.io/v1beta1\nkind: MxJob\nmetadata: {name: j}\nspec:\n  jobMode: local\n  RuntimeId: 1kkf\n  replicaSpecs:\n  - {mxReplicaType: WORKER, template: {spec: {containers: [{name: mxnet, image: i}]}}}\n";
    let made = among_gangs(yaml).plan().make;
    assert_eq!(made.len(), 1, "{made:#?}");
    assert!(made[0].object["spec"]["template"]["spec"]["schedulerName"].is_null());
}
