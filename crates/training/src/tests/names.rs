//! Names of jobs: those their children can have.

use serde_json::Value;

use super::{job, pytorch};
use crate::{check, render, simulation::World};

fn mpi(version: &str, name: &str) -> String {
    let yaml = job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher Worker", "");
    yaml.replace("org/v1", &format!("org/{version}"))
        .replace("{name: j}", &format!("{{name: {name}}}"))
}

fn errors(yaml: &str) -> Vec<String> {
    let errors = check(&World::new(yaml).job);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_job_without_services_may_begin_with_a_number() {
    for version in ["v1", "v1alpha2"] {
        assert_eq!(errors(&mpi(version, "3d-unet-training")), [""; 0], "{version}");
        let dotted = errors(&mpi(version, "unet.training"));
        let said = "metadata.name: Invalid value: \"unet.training\": will not able to create pod with invalid DNS label \"unet.training-worker-0\": must not contain dots";
        assert_eq!(dotted, [said]);
    }
    for yaml in [
        mpi("v2beta1", "3d-unet"),
        pytorch("Master", "").replace("{name: j}", "{name: 3d-unet}"),
    ] {
        let refused = errors(&yaml);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].contains("pod and service"), "{refused:?}");
    }
}

#[test]
fn a_name_that_the_server_makes_is_checked_as_it_will_be() {
    let generated = |prefix: &str| {
        let yaml = pytorch("Master Worker:2", "");
        yaml.replace("{name: j}", &format!("{{generateName: {prefix}}}"))
    };
    let good = World::new(&generated("digits-"));
    assert!(check(&good.job).is_empty());
    let children = render(&good.job, &good.settings).unwrap();
    let named = |child: &&Value| child["metadata"]["name"] == "digits-xxxxx-worker-1";
    assert_eq!(children.iter().filter(named).count(), 2, "a pod and its Service");
    let long = check(&World::new(&generated(&"n".repeat(52))).job);
    assert_eq!(long[0].field, "metadata.generateName");
    assert_eq!(long[0].detail, resources::TOO_LONG);
    let wrong = check(&World::new(&generated("3d-")).job);
    assert_eq!(wrong[0].field, "metadata.generateName");
    let nameless = generated("''");
    assert!(!check(&World::new(&nameless).job).is_empty());
}
