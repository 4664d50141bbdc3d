//! What the operator adds to pods where the user has something: refused before anything is made.

use super::{job, mxnet, tensorflow};
use crate::{Accelerators, Settings, check, check_with, render, simulation::World};

const FILE: &str = "accelerators: {example.com/gpu: {volumes: [{name: lib, mountPath: /usr/local/gpu, hostPath: /opt/gpu}], envVars: [{name: GPU_HOME, value: /usr/local/gpu}]}}";
const ASKS: &str = "image: i, resources: {limits: {example.com/gpu: 1}}";

fn settings() -> Settings {
    Settings {
        accelerators: Accelerators::parse(FILE).unwrap(),
        ..Settings::default()
    }
}

fn errors(yaml: &str, settings: &Settings) -> Vec<String> {
    let errors = check_with(&World::new(yaml).job, settings);
    errors.iter().map(ToString::to_string).collect()
}

fn mpi(version: &str, rest: &str) -> String {
    job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher Worker", rest)
        .replace("org/v1", &format!("org/{version}"))
}

#[test]
fn a_volume_of_an_accelerators_name_is_the_accelerators() {
    let with = |volume: &str| {
        let yaml = tensorflow("Worker", "").replace("image: i", ASKS);
        yaml.replace("{spec: {", &format!("{{spec: {{volumes: [{volume}], "))
    };
    let said = "Invalid value: \"lib\": is the name of the volume that example.com/gpu brings, which is /opt/gpu of the node";
    assert_eq!(
        errors(&with("{name: lib, emptyDir: {}}"), &settings()),
        [format!(
            "spec.tfReplicaSpecs[Worker].template.spec.volumes[0].name: {said}"
        )]
    );
    assert_eq!(
        errors(&with("{name: lib, hostPath: {path: /opt/gpu}}"), &settings()),
        [""; 0]
    );
    assert!(check(&World::new(&with("{name: lib, emptyDir: {}}")).job).is_empty());
    let yaml = mxnet::distributed().replacen("image: i", ASKS, 1).replacen(
        "{spec: {",
        "{spec: {volumes: [{name: lib, emptyDir: {}}], ",
        1,
    );
    let expected = format!("spec.replicaSpecs[0].template.spec.volumes[0].name: {said}");
    assert_eq!(errors(&yaml, &settings()), [expected.as_str()]);
    let mut world = World::new(&yaml);
    world.settings = settings();
    world.settle();
    assert!(world.observed.jobs.is_empty());
    assert!(
        world.job["status"]["reason"]
            .as_str()
            .unwrap()
            .ends_with(&expected)
    );
}

#[test]
fn a_place_where_an_accelerator_is_mounted_is_taken() {
    let mounted = |yaml: String| {
        let mount = format!("{ASKS}, volumeMounts: [{{name: mine, mountPath: /usr/local/gpu}}]");
        yaml.replacen("image: i", &mount, 1).replacen(
            "{spec: {",
            "{spec: {volumes: [{name: mine, emptyDir: {}}], ",
            1,
        )
    };
    for (yaml, path) in [
        (tensorflow("Worker", ""), "spec.tfReplicaSpecs[Worker]"),
        (mxnet::distributed(), "spec.replicaSpecs[0]"),
    ] {
        let yaml = mounted(yaml);
        let refused = errors(&yaml, &settings());
        assert_eq!(
            refused,
            [format!(
                "{path}.template.spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/usr/local/gpu\": must be unique"
            )]
        );
        assert!(render(&World::new(&yaml).job, &settings()).is_err());
        assert!(render(&World::new(&yaml).job, &Settings::default()).is_ok());
    }
}

#[test]
fn accelerators_of_an_mpi_job_are_for_its_main_container() {
    let yaml = mpi("v1", "  mainContainer: compute\n").replace(
        "containers: [",
        &format!("containers: [{{name: log, {ASKS}}}, {{name: compute, {ASKS}}}, "),
    );
    let children = render(&World::new(&yaml).job, &settings()).unwrap();
    let pods: Vec<_> = children.iter().filter(|child| child["kind"] == "Pod").collect();
    assert_eq!(pods.len(), 2);
    for pod in pods {
        let names = |container: usize| {
            let mounts = pod["spec"]["containers"][container]["volumeMounts"].as_array();
            let mounts = mounts.into_iter().flatten();
            mounts
                .map(|mount| mount["name"].as_str().unwrap())
                .collect::<Vec<_>>()
        };
        assert!(!names(0).contains(&"lib"), "{pod}");
        assert_eq!(names(1), ["lib"], "{pod}");
    }
    let unnamed = yaml.replace("  mainContainer: compute\n", "");
    let children = render(&World::new(&unnamed).job, &settings()).unwrap();
    let worker = children.last().unwrap();
    let mounts = worker["spec"]["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap();
    assert!(mounts.iter().any(|mount| mount["name"] == "lib"), "{worker}");
}

#[test]
fn the_volumes_of_the_operator_are_its_own() {
    let named = |version: &str, volume: &str| {
        mpi(version, "").replace(
            "{spec: {",
            &format!(
                "{{spec: {{volumes: [{{name: a, emptyDir: {{}}}}, {{name: {volume}, emptyDir: {{}}}}], "
            ),
        )
    };
    for volume in ["trainyard-tools", "mpi-job-config"] {
        let said = format!("Invalid value: \"{volume}\": is the name of a volume of the operator's own");
        let path = |role: &str| format!("spec.mpiReplicaSpecs[{role}].template.spec.volumes[1].name: {said}");
        assert_eq!(
            errors(&named("v1", volume), &Settings::default()),
            [path("Launcher"), path("Worker")]
        );
    }
    let elsewhere = tensorflow("Worker", "").replace(
        "{spec: {",
        "{spec: {volumes: [{name: trainyard-tools, emptyDir: {}}], ",
    );
    assert_eq!(
        errors(&elsewhere, &Settings::default()),
        [""; 0],
        "where it has none, any name is the user's"
    );
}

#[test]
fn nothing_is_made_of_a_job_that_is_in_the_way_of_an_accelerator() {
    let yaml = tensorflow("Worker", "").replace("image: i", ASKS);
    let volume = "{spec: {volumes: [{name: lib, emptyDir: {}}], ";
    let mut world = World::new(&yaml.replace("{spec: {", volume));
    world.settings = settings();
    world.settle();
    assert_eq!(world.conditions(), "Failed");
    assert!(world.message().contains("volumes[0].name"), "{}", world.message());
    assert!(world.names().is_empty() && world.observed.others.is_empty());

    let mut world = World::new(&yaml);
    world.settings = settings();
    world.settle();
    world.job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["volumes"] =
        serde_json::json!([{"name": "lib", "emptyDir": {}}]);
    world.changed();
    world.settle();
    assert_eq!(world.conditions(), "-Failed Created");
}
