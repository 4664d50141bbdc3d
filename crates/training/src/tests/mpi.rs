use serde_json::{Value, json};

use crate::{BatchJob, Gang, simulation::World};

pub(super) fn job(version: &str, rest: &str, worker: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/{version}\nkind: MPIJob\nmetadata: {{name: j}}\nspec:\n{rest}  mpiReplicaSpecs:\n    \
         Launcher: {{replicas: 1, template: {{spec: {{containers: [{{name: l, image: i, command: [mpirun]}}]}}}}}}\n    \
         Worker: {{replicas: 2, template: {{spec: {{containers: [{{name: w, image: i{worker}}}]}}}}}}\n"
    )
}

pub(super) fn launcher(world: &mut World) -> &mut BatchJob {
    &mut world.observed.jobs[0]
}

fn files(world: &mut World) -> &mut Value {
    let mut others = world.observed.others.iter_mut();
    &mut others.find(|other| other.kind == "ConfigMap").unwrap().content
}

#[test]
fn a_v1_job_is_one_launcher_pod_and_its_workers() {
    let mut world = World::new(&job("v1", "", ""));
    world.settle();
    assert_eq!(world.names(), ["j-launcher", "j-worker-0", "j-worker-1"]);
    world.run("j-launcher");
    world.settle();
    assert_eq!(world.conditions(), "Created");
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    let config = world
        .observed
        .others
        .iter()
        .find(|other| other.kind == "ConfigMap")
        .unwrap();
    assert_eq!(
        config.content["discover_hosts.sh"],
        "#!/bin/sh\necho j-worker-0:1\necho j-worker-1:1"
    );
    world.end("j-launcher", "l", 0);
    world.settle();
    assert_eq!(world.message(), "MPIJob j is successfully completed.");
}

#[test]
fn the_files_of_a_job_are_those_it_has_now() {
    let mut world = World::new(&job("v1", "", ""));
    world.settle();
    world.run_all();
    world.settle();
    let wanted = files(&mut world).clone();
    files(&mut world)["old.sh"] = json!("left by another version");
    world.settle();
    assert_eq!(files(&mut world), &wanted);
    world.job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = json!(1);
    world.settle();
    assert_eq!(files(&mut world)["hostfile"], "j-worker-0 slots=1\n");
    assert_eq!(
        files(&mut world)["discover_hosts.sh"],
        "#!/bin/sh\necho j-worker-0:1"
    );
    let role = world
        .observed
        .others
        .iter()
        .find(|other| other.kind == "Role")
        .unwrap();
    assert_eq!(role.content[1]["resourceNames"], json!(["j-worker-0"]));
}

#[test]
fn a_launcher_without_workers_may_run_commands_nowhere() {
    let mut world = World::new(&job("v1", "", ""));
    world.settle();
    world.job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = json!(0);
    world.settle();
    let mut others = world.observed.others.iter();
    let role = others.find(|other| other.kind == "Role").unwrap();
    assert!(
        !role.content.to_string().contains("pods/exec"),
        "{}",
        role.content
    );
}

#[test]
fn a_v2beta1_launcher_is_a_batch_job_and_its_end_is_the_jobs() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {cleanPodPolicy: Running}\n", ""));
    world.settle();
    assert_eq!(world.names(), ["j-worker-0", "j-worker-1"]);
    assert_eq!(launcher(&mut world).name, "j-launcher");
    world.run_all();
    launcher(&mut world).is_complete = true;
    world.settle();
    assert_eq!(world.message(), "MPIJob team/j successfully completed.");
    assert!(world.names().is_empty());
}

#[test]
fn a_v2beta1_launcher_that_gives_up_says_why() {
    let mut world = World::new(&job("v2beta1", "", ""));
    world.settle();
    launcher(&mut world).failure = Some((
        "BackoffLimitExceeded".to_owned(),
        "Job has reached the specified backoff limit".to_owned(),
    ));
    world.settle();
    assert_eq!(world.message(), "Job has reached the specified backoff limit");
    assert_eq!(
        world.job["status"]["conditions"][1]["reason"],
        "BackoffLimitExceeded"
    );
}

#[test]
fn a_launcher_can_wait_for_its_workers() {
    let mut world = World::new(&job(
        "v2beta1",
        "  launcherCreationPolicy: WaitForWorkersReady\n",
        "",
    ));
    world.settle();
    assert!(world.observed.jobs.is_empty());
    assert!(world.job["status"]["replicaStatuses"]["Launcher"].is_null());
    world.run_all();
    world.settle();
    assert_eq!(world.observed.jobs.len(), 1);
}

#[test]
fn a_launcher_that_came_after_its_workers_stops_with_its_job_and_waits_for_them_again() {
    let policies = "  launcherCreationPolicy: WaitForWorkersReady\n  runPolicy: {suspend: false}\n";
    let mut world = World::new(&job("v2beta1", policies, ""));
    world.settle();
    world.run_all();
    world.settle();
    assert!(!launcher(&mut world).is_suspended);
    world.job["spec"]["runPolicy"]["suspend"] = json!(true);
    world.settle();
    assert!(launcher(&mut world).is_suspended);
    assert!(world.names().is_empty());
    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    world.settle();
    assert!(launcher(&mut world).is_suspended);
    world.run_all();
    world.settle();
    assert!(!launcher(&mut world).is_suspended);
}

#[test]
fn a_suspended_v2beta1_job_has_everything_but_pods() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {suspend: true}\n", ""));
    world.settle();
    assert!(world.names().is_empty());
    assert!(launcher(&mut world).is_suspended);
    let mut kinds: Vec<&str> = world
        .observed
        .others
        .iter()
        .map(|other| other.kind.as_str())
        .collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            "ConfigMap",
            "Role",
            "RoleBinding",
            "Secret",
            "Service",
            "ServiceAccount"
        ]
    );
    world.job["spec"]["runPolicy"]["suspend"] = json!(false);
    world.settle();
    assert!(!launcher(&mut world).is_suspended);
    assert_eq!(world.names().len(), 2);
}

#[test]
fn an_account_of_the_users_own_is_used_and_none_is_made() {
    let own = job("v1", "", "").replacen(
        "{spec: {containers",
        "{spec: {serviceAccountName: mine, containers",
        1,
    );
    let mut world = World::new(&own);
    world.settle();
    let others = &world.observed.others;
    assert!(others.iter().any(|other| other.kind == "RoleBinding"));
    assert!(others.iter().all(|other| other.kind != "ServiceAccount"));
}

#[test]
fn a_suspended_job_asks_no_gang_scheduler_for_room() {
    let scheduler = String::new();
    for gang in [Gang::Volcano, Gang::SchedulerPlugins { scheduler }] {
        let mut world = World::new(&job("v2beta1", "  runPolicy: {suspend: true}\n", ""));
        world.settings.gang = gang;
        world.settle();
        let groups = |world: &World| {
            let others = world.observed.others.iter();
            others.filter(|other| other.kind == "PodGroup").count()
        };
        assert_eq!(groups(&world), 0);
        world.job["spec"]["runPolicy"]["suspend"] = json!(false);
        world.settle();
        assert_eq!(groups(&world), 1);
        world.job["spec"]["runPolicy"]["suspend"] = json!(true);
        world.settle();
        assert_eq!(groups(&world), 0);
    }
}

#[test]
fn a_suspended_job_leaves_a_launcher_of_another_alone() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {suspend: true}\n", ""));
    let theirs = BatchJob {
        name: "j-launcher".to_owned(),
        uid: "theirs".to_owned(),
        ..BatchJob::default()
    };
    world.observed.jobs.push(theirs.clone());
    world.settle();
    assert_eq!(world.observed.jobs, [theirs]);
    assert!(world.observed.others.is_empty());
    let reasons: Vec<&str> = world.events.iter().map(|event| event.reason.as_str()).collect();
    assert!(reasons.contains(&"ErrResourceExists"), "{reasons:?}");
}

#[test]
fn a_launcher_stops_whatever_is_in_the_way_of_the_rest() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {suspend: false}\n", ""));
    world.settle();
    let mut others = world.observed.others.iter_mut();
    others.find(|other| other.kind == "Secret").unwrap().controller = None;
    world.job["spec"]["runPolicy"]["suspend"] = json!(true);
    world.settle();
    assert!(launcher(&mut world).is_suspended);
}

#[test]
fn evicted_workers_end_a_job_that_does_not_restart_them() {
    let mut world = World::new(&job("v2beta1", "", ""));
    world.settle();
    world.run_all();
    world.change("j-worker-1", |pod| {
        pod.phase = crate::Phase::Failed;
        pod.reason = "Evicted".to_owned();
    });
    world.settle();
    assert_eq!(world.message(), "1/2 workers are evicted");
    assert!(!world.job["status"]["completionTime"].is_null());
}

#[test]
fn an_image_with_sshd_keeps_talking_by_ssh() {
    let mut world = World::new(&job("v2beta1", "", ", command: [/usr/sbin/sshd, -De]"));
    let plan = world.reconcile();
    let made: Vec<&str> = plan.make.iter().map(crate::Child::kind).collect();
    assert_eq!(made, ["Service", "ConfigMap", "Secret", "Job", "Pod", "Pod"]);
    let text = plan.make[3].object.to_string();
    assert!(!text.contains("trainyard") && text.contains("OMPI_MCA_plm_rsh_args"));
}

#[test]
fn a_gang_has_its_launcher_restarted_with_it() {
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
    let before = launcher(&mut world).uid.clone();
    world.change("j-worker-1", |pod| {
        pod.phase = crate::Phase::Failed;
        pod.reason = "Evicted".to_owned();
    });
    world.settle();
    assert_ne!(launcher(&mut world).uid, before);
    assert_eq!((launcher(&mut world).gang, world.names().len()), (1, 2));
    assert_eq!(world.job["status"]["restarts"]["cause"], "worker-1 Evicted");
}

#[test]
fn a_launcher_that_its_batch_job_tries_again_says_why_it_failed() {
    let mut world = World::new(&job("v2beta1", "  runPolicy: {backoffLimit: 3}\n", ""));
    world.settle();
    world.run_batch_jobs();
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    let name = world.names()[2].to_owned();
    world.end(&name, "l", 1);
    world.run_batch_jobs();
    world.settle();
    assert_eq!(world.conditions(), "Created Restarting");
    let wanted = format!(
        "MPIJob j is restarting because 1 Launcher replica(s) failed. restart 1 of 3: {} exit 1; now 2 of 3 pods run",
        &name[2..]
    );
    assert_eq!(world.message(), wanted);
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    assert!(
        world
            .message()
            .starts_with("MPIJob team/j is running. restart 1 of 3: launcher-")
    );
}

#[test]
fn hydra_is_told_of_its_hosts_in_its_own_words() {
    for (version, field) in [("v1alpha2", "mpiDistribution"), ("v2beta1", "mpiImplementation")] {
        let mut world = World::new(&job(version, &format!("  {field}: MPICH\n"), ""));
        world.settle();
        let mut others = world.observed.others.iter();
        let config = others.find(|other| other.kind == "ConfigMap").unwrap();
        let hostfile = config.content["hostfile"].as_str().unwrap();
        assert!(hostfile.lines().all(|line| line.ends_with(":1")), "{hostfile}");
    }
}

#[test]
fn a_launcher_that_is_limited_to_a_gpu_computes_too() {
    let hostfile = |resources: &str| {
        let yaml = job("v1", "", "");
        let yaml = yaml.replacen("image: i", &format!("image: i, resources: {resources}"), 1);
        let world = World::new(&yaml);
        let children = crate::render(&world.job, &world.settings).unwrap();
        let map = children
            .iter()
            .find(|child| child["kind"] == "ConfigMap")
            .unwrap();
        map["data"]["hostfile"].as_str().unwrap().to_owned()
    };
    for name in [
        "nvidia.com/gpu",
        "aliyun.com/gpu-mem",
        "nvidia.com/gpu.shared",
        "gpu.intel.com/i915",
    ] {
        let hosts = hostfile(&format!("{{limits: {{{name}: 1}}}}"));
        assert!(hosts.starts_with("j-launcher "), "{name}: {hosts}");
    }
    for resources in [
        "{requests: {cpu: 1}, limits: {cpu: 1}}",
        "{limits: {amd.com/xpu: 1}}",
    ] {
        let hosts = hostfile(resources);
        assert!(hosts.starts_with("j-worker-0 "), "{resources}: {hosts}");
    }
}
