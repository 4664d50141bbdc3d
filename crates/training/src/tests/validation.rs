use super::{job, pytorch, tensorflow};
use crate::{check, simulation::World};

#[track_caller]
fn check_errors(yaml: &str, expected: &[&str]) {
    let object = World::new(yaml).job;
    let errors: Vec<String> = check(&object).iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected);
}

#[test]
fn good_jobs_have_nothing_wrong() {
    check_errors(&tensorflow("Chief:1 Worker:2 PS:1 Evaluator:1", ""), &[]);
    check_errors(
        &pytorch("Master:1 Worker:2", "  runPolicy: {cleanPodPolicy: All}\n"),
        &[],
    );
    check_errors(&pytorch("master:1 WORKER:2", ""), &[]);
}

#[test]
fn the_framework_container_must_be_there() {
    let yaml = tensorflow("Worker:2", "").replace("name: tensorflow", "name: torch");
    check_errors(
        &yaml,
        &[
            "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must have at least one container with name tensorflow",
        ],
    );
}

#[test]
fn there_is_at_most_one_master() {
    check_errors(
        &pytorch("Master:2", ""),
        &["spec.pytorchReplicaSpecs: Forbidden: Master replicas must be 1"],
    );
    check_errors(
        &tensorflow("Master:1 Chief:1", ""),
        &["spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"],
    );
}

#[test]
fn a_name_that_leaves_no_room_for_its_pods_is_refused_up_front() {
    let long = "a".repeat(60);
    let yaml = tensorflow("Worker:20", "").replace("{name: j}", &format!("{{name: {long}}}"));
    let object = World::new(&yaml).job;
    let errors = check(&object);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].field, "metadata.name");
    let said = "must be shorter: the names of its pods, `<name>-<role>-<number>`, have at most 63 characters";
    assert_eq!(errors[0].detail, said);
    // One that was stored before the definition said so is told the same.
    let mut stored = object;
    stored["status"] = serde_json::json!({"conditions": []});
    assert_eq!(check(&stored)[0].detail, said);
}

#[test]
fn unknown_words_are_told_with_those_that_are_known() {
    check_errors(
        &pytorch("Master:1 Helper:1", ""),
        &[
            "spec.pytorchReplicaSpecs[Helper]: Unsupported value: \"Helper\": supported values: \"Master\", \"Worker\"",
        ],
    );
    check_errors(
        &tensorflow("Worker:1:Sometimes", ""),
        &[
            "spec.tfReplicaSpecs[Worker].restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\", \"ExitCode\"",
        ],
    );
}

#[test]
fn a_pod_template_is_checked_as_a_pod_is() {
    let yaml = tensorflow("Worker:1", "").replace("image: i", "image: i, imagePullPolicy: Often");
    check_errors(
        &yaml,
        &[
            "spec.tfReplicaSpecs[Worker].template.spec.containers[0].imagePullPolicy: Unsupported value: \"Often\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ],
    );
}

#[test]
fn a_bad_job_is_shown_as_failed_until_it_is_mended() {
    let good = tensorflow("Worker:1", "");
    let mut world = World::new(&good.replace("name: tensorflow", "name: torch"));
    world.settle();
    assert_eq!(world.conditions(), "Failed");
    assert!(
        world
            .message()
            .starts_with("TFJob failed validation because spec.tfReplicaSpecs[Worker]")
    );
    assert!(world.names().is_empty());
    let status = world.job["status"].clone();
    world.job = World::new(&good).job;
    world.job["status"] = status;
    world.job["metadata"]["generation"] = 2.into();
    world.settle();
    assert_eq!(world.conditions(), "Created");
    assert_eq!(world.names(), ["j-worker-0"]);
}

#[test]
fn a_role_is_there_once_in_whatever_spelling() {
    check_errors(
        &pytorch("Worker:1 worker:1", ""),
        &["spec.pytorchReplicaSpecs[worker]: Duplicate value: \"worker\""],
    );
}

#[test]
fn a_slip_of_the_finger_does_not_fill_a_cluster() {
    let errors = check(&World::new(&pytorch("Worker:2000000000", "")).job);
    assert_eq!(errors[0].field, "spec.pytorchReplicaSpecs.Worker.replicas");
}

#[test]
fn nobody_but_those_who_are_known_manages_a_job() {
    let errors = check(&World::new(&pytorch("Worker:1", "  runPolicy: {managedBy: me}\n")).job);
    assert_eq!(
        errors[0].to_string(),
        "spec.runPolicy.managedBy: Invalid value: \"object\": supported values: kubeflow.org/training-operator, kueue.x-k8s.io/multikueue"
    );
}

/// A job with something wrong, and the field that is said to be wrong.
const BAD: [(&str, &str); 18] = [
    ("TFJob/tfReplicaSpecs/tensorflow/", "spec.tfReplicaSpecs"),
    (
        "TFJob/tfReplicaSpecs/tensorflow/Worker:-1",
        "spec.tfReplicaSpecs.Worker.replicas",
    ),
    (
        "TFJob/tfReplicaSpecs/torch/Worker",
        "spec.tfReplicaSpecs[Worker].template.spec.containers",
    ),
    (
        "TFJob/tfReplicaSpecs/tensorflow/Chief Master",
        "spec.tfReplicaSpecs",
    ),
    (
        "TFJob/tfReplicaSpecs/tensorflow/Worker:1:Maybe",
        "spec.tfReplicaSpecs[Worker].restartPolicy",
    ),
    (
        "PyTorchJob/pytorchReplicaSpecs/pytorch/Master:2",
        "spec.pytorchReplicaSpecs",
    ),
    (
        "PyTorchJob/pytorchReplicaSpecs/pytorch/Helper",
        "spec.pytorchReplicaSpecs[Helper]",
    ),
    (
        "PyTorchJob/pytorchReplicaSpecs/torch/Worker",
        "spec.pytorchReplicaSpecs[Worker].template.spec.containers",
    ),
    (
        "XGBoostJob/xgbReplicaSpecs/xgboost/Worker",
        "spec.xgbReplicaSpecs",
    ),
    (
        "XGBoostJob/xgbReplicaSpecs/xgboost/Master:2",
        "spec.xgbReplicaSpecs",
    ),
    (
        "PaddleJob/paddleReplicaSpecs/torch/Worker",
        "spec.paddleReplicaSpecs[Worker].template.spec.containers",
    ),
    (
        "PaddleJob/paddleReplicaSpecs/paddle/Worker:-1",
        "spec.paddleReplicaSpecs.Worker.replicas",
    ),
    (
        "JAXJob/jaxReplicaSpecs/torch/Worker",
        "spec.jaxReplicaSpecs[Worker].template.spec.containers",
    ),
    (
        "JAXJob/jaxReplicaSpecs/jax/Master",
        "spec.jaxReplicaSpecs[Master]",
    ),
    (
        "MXJob/mxReplicaSpecs/torch/Worker",
        "spec.mxReplicaSpecs[Worker].template.spec.containers",
    ),
    ("MPIJob/mpiReplicaSpecs/mpi/Worker", "spec.mpiReplicaSpecs"),
    (
        "MPIJob/mpiReplicaSpecs/mpi/Launcher:2 Worker",
        "spec.mpiReplicaSpecs",
    ),
    (
        "MPIJob/mpiReplicaSpecs/mpi/Launcher Worker:0",
        "spec.mpiReplicaSpecs[Worker].replicas",
    ),
];

#[test]
fn bad_input_of_every_kind_is_a_condition_that_names_the_field_and_nothing_is_made() {
    let mut wrong = Vec::new();
    for (bad, field) in BAD {
        let mut parts = bad.split('/');
        let mut part = || parts.next().unwrap_or_default();
        let (kind, replicas, container, roles) = (part(), part(), part(), part());
        let mut world = World::new(&job(kind, replicas, container, roles, ""));
        world.settle();
        let wanted = format!("Failed: {kind} failed validation because {field}: ");
        let told = format!("{}: {}", world.conditions(), world.message());
        assert!(
            world.names().is_empty() && world.observed.others.is_empty(),
            "{bad}"
        );
        if !told.starts_with(&wanted) {
            wrong.push(format!("{bad}: {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_policies_are_a_condition_that_names_the_field() {
    for (policy, field) in [
        (
            "runPolicy: {cleanPodPolicy: Some}",
            "spec.runPolicy.cleanPodPolicy",
        ),
        ("runPolicy: {backoffLimit: -1}", "spec.runPolicy.backoffLimit"),
        (
            "runPolicy: {activeDeadlineSeconds: -1}",
            "spec.runPolicy.activeDeadlineSeconds",
        ),
        (
            "runPolicy: {ttlSecondsAfterFinished: -1}",
            "spec.runPolicy.ttlSecondsAfterFinished",
        ),
        (
            "elasticPolicy: {minReplicas: 3, maxReplicas: 2}",
            "spec.elasticPolicy.minReplicas",
        ),
    ] {
        let mut world = World::new(&pytorch("Worker:2", &format!("  {policy}\n")));
        world.settle();
        assert_eq!(world.conditions(), "Failed", "{policy}");
        let wanted = format!("PyTorchJob failed validation because {field}: ");
        assert!(
            world.message().starts_with(&wanted),
            "{policy}: {}",
            world.message()
        );
    }
}
