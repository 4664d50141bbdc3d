//! Manifests that know the labels of older operators go on working, and their users are told.

use serde_json::Value;

use super::{job, pytorch};
use crate::{render, simulation::World};

/// The labels of each pod of a job.
fn labels(world: &World) -> Vec<Value> {
    let children = render(&world.job, &world.settings).unwrap();
    let pods = children.into_iter().filter(|child| child["kind"] == "Pod");
    pods.map(|pod| pod["metadata"]["labels"].clone()).collect()
}

fn warnings(world: &mut World) -> Vec<String> {
    world.reconcile();
    let of_labels = world.events.iter().filter(|event| event.reason == "OldLabels");
    of_labels.map(|event| event.message.clone()).collect()
}

const SPREAD: &str = "{spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {pytorch-job-name: j}, matchExpressions: [{key: pytorch-replica-type, operator: In, values: [worker]}]}}]}}, ";

#[test]
fn a_selector_by_the_labels_of_an_older_operator_finds_the_pods() {
    let mut world = World::new(&pytorch("Master:1 Worker:2", "").replace("{spec: {", SPREAD));
    let pods = labels(&world);
    let of = |pod: usize, key: &str| pods[pod][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(of(0, "pytorch-job-name"), "j");
    assert_eq!(of(0, "pytorch-replica-type"), "master");
    assert_eq!(of(2, "pytorch-replica-type"), "worker");
    assert!(
        pods[0]["pytorch-replica-index"].is_null(),
        "what nobody asks for is not there"
    );
    assert_eq!(
        warnings(&mut world),
        [
            "`pytorch-job-name` is a label of an older operator, which the pods get too; it is `training.kubeflow.org/job-name` now",
            "`pytorch-replica-type` is a label of an older operator, which the pods get too; it is `training.kubeflow.org/replica-type` now",
        ]
    );
}

#[test]
fn a_label_of_an_older_operator_in_a_template_says_what_it_always_said() {
    let yaml = job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher Worker:2", "").replace(
        "template: {spec",
        "template: {metadata: {labels: {mpi-job-name: old, mpi-job-role: none, job-name: mine}}, spec",
    );
    let mut world = World::new(&yaml);
    let pods = labels(&world);
    assert_eq!(
        (&pods[0]["mpi-job-name"], &pods[0]["mpi-job-role"]),
        (&"j".into(), &"launcher".into())
    );
    assert_eq!(pods[1]["mpi-job-role"], "worker");
    assert_eq!(pods[1]["job-name"], "mine", "a common word is the user's own");
    assert_eq!(warnings(&mut world).len(), 2);
}

#[test]
fn a_job_that_knows_only_the_labels_of_today_has_no_others() {
    let mut world = World::new(&pytorch("Master:1 Worker:2", ""));
    let pods = labels(&world);
    assert!(pods.iter().all(|labels| {
        let labels = labels.as_object().into_iter().flatten();
        labels
            .into_iter()
            .all(|(name, _)| name.starts_with("training.kubeflow.org/"))
    }));
    assert!(warnings(&mut world).is_empty());
}

#[test]
fn fields_that_a_version_of_an_mpi_job_does_not_have_are_told() {
    let told = |version: &str| {
        let rest = "  cleanPodPolicy: All\n  backoffLimit: 2\n";
        let yaml = job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher Worker", rest);
        let mut world = World::new(&yaml.replace("org/v1", &format!("org/{version}")));
        world.reconcile();
        let old = world.events.iter().find(|event| event.reason == "OldLayout");
        old.map(|event| event.message.clone()).unwrap_or_default()
    };
    assert_eq!(told("v1alpha2"), "");
    assert_eq!(
        told("v1"),
        "`spec.backoffLimit` is an old layout and read as part of `spec.runPolicy`"
    );
    assert_eq!(
        told("v2beta1"),
        "`spec.cleanPodPolicy`, `spec.backoffLimit` is an old layout and read as part of `spec.runPolicy`"
    );
}

#[test]
fn the_name_of_an_older_operator_is_what_it_was() {
    let selector = "{spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {controller-name: pytorch-operator}}}], ";
    let mut world = World::new(&pytorch("Master:1 Worker:1", "").replace("{spec: {", selector));
    assert_eq!(labels(&world)[1]["controller-name"], "pytorch-operator");
    assert_eq!(
        warnings(&mut world),
        [
            "`controller-name` is a label of an older operator, which the pods get too; it is `training.kubeflow.org/operator-name` now"
        ]
    );
}
