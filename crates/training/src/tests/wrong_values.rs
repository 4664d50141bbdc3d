//! Values that no kind can mean: each is told with its path, and nothing is made.

use serde_json::json;

use super::{job, pytorch, tensorflow};
use crate::{check, simulation::World};

/// What is wrong with a job, which is then a condition with nothing made.
#[track_caller]
fn refuses(yaml: &str, expected: &str) {
    let mut world = World::new(yaml);
    let errors: Vec<String> = check(&world.job).iter().map(ToString::to_string).collect();
    // Behind it may stand that rules were not looked at for its sake.
    assert_eq!(errors.first().map(String::as_str), Some(expected), "{yaml}");
    world.settle();
    assert!(world.names().is_empty() && world.observed.jobs.is_empty() && world.observed.others.is_empty());
    let told = world.message() + world.job["status"]["reason"].as_str().unwrap_or_default();
    assert!(told.contains(expected), "{told}");
}

#[track_caller]
fn accepts(yaml: &str) {
    let errors: Vec<String> = check(&World::new(yaml).job)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, [""; 0], "{yaml}");
}

fn mpi(version: &str, rest: &str) -> String {
    job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher Worker", rest)
        .replace("org/v1", &format!("org/{version}"))
}

/// A job whose launcher reaches its workers by SSH.
fn by_ssh(path: &str) -> String {
    mpi("v2beta1", &format!("  sshAuthMountPath: {path}\n"))
        .replace("image: i", "image: i, command: [/usr/sbin/sshd]")
}

fn mxnet(mode: &str, roles: &[&str]) -> String {
    let replicas: String = roles
        .iter()
        .map(|role| {
            format!("  - {{{role}, template: {{spec: {{containers: [{{name: mxnet, image: i}}]}}}}}}\n")
        })
        .collect();
    format!(
        "apiVersion: mxnet.mlkube.io/v1beta1\nkind: MxJob\nmetadata: {{name: j}}\nspec:\n  jobMode: {mode}\n  replicaSpecs:\n{replicas}"
    )
}

#[test]
fn a_clean_pod_policy_is_one_of_three_wherever_it_stands() {
    let unsupported = |path: &str, value: &str| {
        format!("{path}: Unsupported value: \"{value}\": supported values: \"All\", \"Running\", \"None\"")
    };
    for version in ["v1alpha2", "v1", "v2beta1"] {
        refuses(
            &mpi(version, "  cleanPodPolicy: running\n"),
            &unsupported("spec.cleanPodPolicy", "running"),
        );
        accepts(&mpi(version, "  cleanPodPolicy: Running\n"));
    }
    refuses(
        &pytorch("Master", "  cleanPodPolicy: all\n"),
        &unsupported("spec.cleanPodPolicy", "all"),
    );
    refuses(
        &tensorflow("Worker", "  runPolicy: {cleanPodPolicy: Most}\n"),
        &unsupported("spec.runPolicy.cleanPodPolicy", "Most"),
    );
}

#[test]
fn the_words_of_mpi_jobs_are_those_that_are_known() {
    refuses(
        &mpi("v2beta1", "  mpiImplementation: Mpich\n"),
        "spec.mpiImplementation: Unsupported value: \"Mpich\": supported values: \"OpenMPI\", \"Intel\", \"MPICH\"",
    );
    refuses(
        &mpi("v1alpha2", "  mpiDistribution: MVAPICH\n"),
        "spec.mpiDistribution: Unsupported value: \"MVAPICH\": supported values: \"OpenMPI\", \"IntelMPI\", \"MPICH\", \"Intel\"",
    );
    refuses(
        &mpi("v1alpha2", "  MPIDistribution: intel\n"),
        "spec.MPIDistribution: Unsupported value: \"intel\": supported values: \"OpenMPI\", \"IntelMPI\", \"MPICH\", \"Intel\"",
    );
    refuses(
        &mpi("v2beta1", "  launcherCreationPolicy: WaitForWorkers\n"),
        "spec.launcherCreationPolicy: Unsupported value: \"WaitForWorkers\": supported values: \"AtStartup\", \"WaitForWorkersReady\", \"\"",
    );
    for good in [
        "mpiImplementation: MPICH",
        "launcherCreationPolicy: WaitForWorkersReady",
        "launcherCreationPolicy: ''",
        "sshAuthMountPath: /home/mpi/.ssh",
    ] {
        accepts(&mpi("v2beta1", &format!("  {good}\n")));
    }
    accepts(&mpi("v1alpha2", "  MPIDistribution: IntelMPI\n"));
}

#[test]
fn an_empty_path_of_keys_is_the_usual_one_and_a_bad_one_is_told() {
    let world = World::new(&by_ssh("''"));
    let children = crate::render(&world.job, &world.settings).unwrap();
    let worker = children.iter().find(|child| child["kind"] == "Pod").unwrap();
    let mounts = worker["spec"]["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap();
    assert!(
        mounts.iter().any(|mount| mount["mountPath"] == "/root/.ssh"),
        "{mounts:?}"
    );
    refuses(
        &mpi("v2beta1", "  sshAuthMountPath: 'C:/keys'\n"),
        "spec.sshAuthMountPath: Invalid value: \"C:/keys\": must not contain ':'",
    );
}

#[test]
fn what_the_operator_mounts_does_not_stand_in_the_way_of_what_the_user_mounts() {
    let yaml = by_ssh("/keys").replace(
        "name: mpi, image: i",
        "name: mpi, image: i, volumeMounts: [{name: k, mountPath: /keys}]",
    );
    let yaml = yaml.replace("{spec: {", "{spec: {volumes: [{name: k, emptyDir: {}}], ");
    let errors: Vec<String> = check(&World::new(&yaml).job)
        .iter()
        .map(ToString::to_string)
        .collect();
    let field = "spec.mpiReplicaSpecs[Launcher].template.spec.containers[0].volumeMounts";
    let said = errors.first().map(String::as_str).unwrap_or_default();
    assert!(
        said.starts_with(field) && said.ends_with("\"/keys\": must be unique"),
        "{errors:?}"
    );
}

#[test]
fn a_job_has_somebody_whose_end_is_its_own() {
    refuses(
        &pytorch("Master:1 Worker:0", ""),
        "spec.pytorchReplicaSpecs: Forbidden: Worker replicas must be at least 1",
    );
    refuses(
        &tensorflow("Worker:0", ""),
        "spec.tfReplicaSpecs[Worker].replicas: Forbidden: must be at least 1, as the job ends with it",
    );
    refuses(
        &tensorflow("Chief:0 Worker:2", ""),
        "spec.tfReplicaSpecs[Chief].replicas: Forbidden: must be at least 1, as the job ends with it",
    );
    refuses(
        &tensorflow("PS:1", ""),
        "spec.tfReplicaSpecs: Required value: must have one of Chief, Master, Worker, as the job ends with it",
    );
    refuses(
        &super::jax("Worker:0", ""),
        "spec.jaxReplicaSpecs[Worker].replicas: Forbidden: must be at least 1, as the job ends with it",
    );
    accepts(&tensorflow("Chief:1 Worker:0 PS:0", ""));
}

#[test]
fn the_words_of_frameworks_are_those_that_are_known() {
    refuses(
        &tensorflow("Worker", "  successPolicy: Invalid\n"),
        "spec.successPolicy: Unsupported value: \"Invalid\": supported values: \"\", \"AllWorkers\"",
    );
    accepts(&tensorflow("Worker", "  successPolicy: ''\n"));
    let mxnet = |mode: &str| {
        job(
            "MXJob",
            "mxReplicaSpecs",
            "mxnet",
            "Scheduler Server Worker",
            mode,
        )
    };
    refuses(
        &mxnet("  jobMode: Train\n"),
        "spec.jobMode: Unsupported value: \"Train\": supported values: \"MXTrain\", \"MXTune\"",
    );
    accepts(&mxnet("  jobMode: MXTrain\n"));
    accepts(&mxnet(""));
}

#[test]
fn how_many_processes_is_a_number_or_a_device() {
    let said =
        "must be auto, a type of device (cpu, gpu, xpu, npu, hpu, mlu, musa) or a number from 1 to 10000";
    for bad in ["eight", "-1", "\"-1\"", "\"0\"", "0", "\"4294967295\"", "''"] {
        let yaml = pytorch("Master:1 Worker:1", &format!("  nprocPerNode: {bad}\n"));
        let errors = check(&World::new(&yaml).job);
        assert_eq!(errors.len(), 1, "{bad}: {errors:?}");
        assert_eq!(errors[0].field, "spec.nprocPerNode");
        assert_eq!(errors[0].detail, said, "{bad}");
    }
    for good in ["auto", "cpu", "gpu", "xpu", "npu", "8", "\"8\"", "\"10000\""] {
        accepts(&pytorch(
            "Master:1 Worker:1",
            &format!("  nprocPerNode: {good}\n"),
        ));
    }
}

#[test]
fn an_elastic_policy_is_one_that_torchrun_takes() {
    let elastic = |policy: &str| pytorch("Worker:2", &format!("  elasticPolicy: {{{policy}}}\n"));
    refuses(
        &elastic("rdzvBackend: etcd3"),
        "spec.elasticPolicy.rdzvBackend: Unsupported value: \"etcd3\": supported values: \"c10d\", \"etcd\", \"etcd-v2\", \"static\"",
    );
    for (policy, field) in [
        ("rdzvPort: 70000", "rdzvPort"),
        ("rdzvPort: 0", "rdzvPort"),
        ("minReplicas: 0", "minReplicas"),
        ("maxReplicas: -1", "maxReplicas"),
        ("maxRestarts: -1", "maxRestarts"),
        ("nProcPerNode: 0", "nProcPerNode"),
    ] {
        let errors = check(&World::new(&elastic(policy)).job);
        assert_eq!(errors[0].field, format!("spec.elasticPolicy.{field}"), "{policy}");
    }
    for good in [
        "rdzvBackend: c10d, rdzvPort: 29400",
        "rdzvBackend: etcd-v2",
        "nProcPerNode: 4, maxRestarts: 0",
    ] {
        accepts(&elastic(good));
    }
}

#[test]
fn a_role_of_an_mxnet_job_is_there_once() {
    refuses(
        &mxnet(
            "dist",
            &[
                "mxReplicaType: SCHEDULER",
                "mxReplicaType: SERVER",
                "mxReplicaType: WORKER",
                "mxReplicaType: WORKER",
            ],
        ),
        "spec.replicaSpecs[3].mxReplicaType: Duplicate value: \"WORKER\"",
    );
    let errors = check(
        &World::new(&mxnet(
            "dist",
            &[
                "mxReplicaType: SCHEDULER, PsRootPort: 70000",
                "mxReplicaType: SERVER",
                "mxReplicaType: WORKER",
            ],
        ))
        .job,
    );
    assert_eq!(errors[0].field, "spec.replicaSpecs[0].PsRootPort");
}

#[test]
fn a_stored_job_without_a_mode_is_read_as_ever() {
    let mut world = World::new(&job(
        "MXJob",
        "mxReplicaSpecs",
        "mxnet",
        "Scheduler Server Worker",
        "",
    ));
    world.job["status"] = json!({});
    world.settle();
    assert_eq!(world.names().len(), 3);
}

#[test]
fn the_least_of_an_elastic_paddle_job_is_no_more_than_its_most() {
    let paddle = |policy: &str| {
        let rest = format!("  elasticPolicy: {{{policy}}}\n");
        job("PaddleJob", "paddleReplicaSpecs", "paddle", "Worker:3", &rest)
    };
    refuses(
        &paddle("minReplicas: 3, maxReplicas: 2"),
        "spec.elasticPolicy.minReplicas: Invalid value: 3: must not be greater than maxReplicas",
    );
    let metrics = "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]";
    for (policy, most) in [
        ("minReplicas: 2", 3),
        ("minReplicas: 5", 5),
        ("maxReplicas: 4", 4),
    ] {
        let world = World::new(&paddle(&format!("{policy}, {metrics}")));
        let children = crate::render(&world.job, &world.settings).unwrap();
        let scaler = children
            .iter()
            .find(|child| child["kind"] == "HorizontalPodAutoscaler")
            .unwrap();
        assert_eq!(scaler["spec"]["maxReplicas"], most, "{policy}");
    }
}

#[test]
fn an_empty_restart_policy_is_the_usual_one() {
    let given = |yaml: &str| {
        let world = World::new(yaml);
        let children = crate::render(&world.job, &world.settings).unwrap();
        let specs = children.iter().filter_map(|child| match child["kind"].as_str()? {
            "Pod" => Some(&child["spec"]),
            "Job" => Some(&child["spec"]["template"]["spec"]),
            _ => None,
        });
        let policies = specs.map(|spec| spec["restartPolicy"].as_str().unwrap().to_owned());
        policies.collect::<Vec<_>>()
    };
    let empty = |yaml: String| yaml.replace(", template", ", restartPolicy: '', template");
    for yaml in [
        pytorch("Master Worker", ""),
        tensorflow("Worker", ""),
        mpi("v1", ""),
        mpi("v2beta1", ""),
    ] {
        accepts(&empty(yaml.clone()));
        assert_eq!(given(&empty(yaml.clone())), given(&yaml));
    }
}

#[test]
fn old_versions_have_at_least_one_slot() {
    for version in ["v1", "v1alpha2"] {
        refuses(
            &mpi(version, "  slotsPerWorker: 0\n"),
            "spec.slotsPerWorker: Invalid value: 0: spec.slotsPerWorker in body should be greater than or equal to 1",
        );
    }
    accepts(&mpi("v2beta1", "  slotsPerWorker: 0\n"));
}

#[test]
fn a_scheduling_policy_directly_below_the_specification_is_heeded_and_told() {
    let mut world = World::new(&job(
        "XGBoostJob",
        "xgbReplicaSpecs",
        "xgboost",
        "Master Worker",
        "  schedulingPolicy: {queue: night, minAvailable: 1}\n",
    ));
    assert_eq!(
        crate::warnings(&world.job),
        ["`spec.schedulingPolicy` is an old layout and read as part of `spec.runPolicy`"]
    );
    world.settings.gang = crate::Gang::Volcano;
    let children = crate::render(&world.job, &world.settings).unwrap();
    let group = children.iter().find(|child| child["kind"] == "PodGroup").unwrap();
    assert_eq!(
        (&group["spec"]["queue"], &group["spec"]["minMember"]),
        (&json!("night"), &json!(1))
    );
}
