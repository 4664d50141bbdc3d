//! Fields that pods do not have: told, and no reason to refuse a job.

use super::{mxnet, pytorch};
use crate::{check, simulation::World, warnings};

#[test]
fn a_misspelt_field_of_a_template_is_told_with_its_path() {
    let yaml = pytorch("master:1 Worker:2", "")
        .replacen("image: i", "image: i, resource: {limits: {cpu: 1}}", 1)
        .replacen("template: {spec", "template: {metadata: {label: {a: b}}, spec", 1);
    let mut world = World::new(&yaml);
    assert!(check(&world.job).is_empty());
    let path = "spec.pytorchReplicaSpecs[master].template";
    let expected = [
        format!("unknown field `{path}.metadata.label`: pods are made without it"),
        format!("unknown field `{path}.spec.containers[0].resource`: pods are made without it"),
    ];
    assert_eq!(warnings(&world.job), expected);
    world.settle();
    world.settle();
    let told = world.events.iter().filter(|event| event.reason == "UnknownField");
    assert!(told.map(|event| &event.message).eq(&expected));
    assert_eq!(world.names().len(), 3);
    let created = format!(
        "PyTorchJob j is created; {}. 0 of 3 pods run",
        expected.join("; ")
    );
    assert_eq!(world.message(), created);
    // It stays there for the job's life.
    world.run_all();
    world.settle();
    assert_eq!(world.conditions(), "Created Running");
    let created = |world: &World| world.job["status"]["conditions"][0]["message"].clone();
    assert_eq!(
        created(&world),
        format!("PyTorchJob j is created; {}.", expected.join("; "))
    );
    // What is put right is not told any more.
    let role = &mut world.job["spec"]["pytorchReplicaSpecs"]["master"];
    role["template"]["spec"]["containers"][0]
        .as_object_mut()
        .unwrap()
        .remove("resource");
    world.changed();
    world.settle();
    assert_eq!(
        created(&world),
        format!("PyTorchJob j is created; {}.", expected[0])
    );
}

#[test]
fn what_is_well_known_is_not_told() {
    let yaml = pytorch("Master:1", "").replace(
        "image: i",
        "image: i, resources: {limits: {example.com/gpu: 1}}, env: [{name: A, valueFrom: {fieldRef: {fieldPath: a}}}]",
    );
    let yaml = yaml.replace(
        "{spec: {",
        "{metadata: {labels: {any: thing}, annotations: {a/b: c}}, spec: {nodeSelector: {a: b}, volumes: [{name: v, csi: {driver: d, volumeAttributes: {x: y}}}], ",
    );
    assert_eq!(warnings(&World::new(&yaml).job), [""; 0]);
}

#[test]
fn a_list_of_slips_has_an_end() {
    let slips: String = (0..40).map(|i| format!("a{i}: 1, ")).collect();
    let yaml = pytorch("Master:1", "").replace("{spec: {", &format!("{{spec: {{{slips}"));
    assert_eq!(warnings(&World::new(&yaml).job).len(), 20);
}

#[test]
fn of_an_mx_job_they_are_told_too() {
    let yaml = mxnet::distributed().replacen("image: i", "image: i, command_: [a]", 1);
    let mut world = World::new(&yaml);
    world.settle();
    world.settle();
    let told: Vec<&str> = world.events.iter().map(|event| event.message.as_str()).collect();
    let path = "spec.replicaSpecs[0].template.spec.containers[0].command_";
    assert_eq!(
        told,
        [format!("unknown field `{path}`: pods are made without it")]
    );
    assert_eq!(warnings(&world.job), told);
    assert_eq!(world.job["status"]["reason"], told[0]);
}
