//! Our own program in the user's containers: the volume it lies in, the container that brings it,
//! and the container that waits with it.

use serde_json::{Value, json};

use crate::{Delivery, Settings, template};

pub(super) const VOLUME: &str = "trainyard-tools";
pub(super) const FOLDER: &str = "/opt/trainyard";
pub(super) const PROGRAM: &str = "/opt/trainyard/trainyard";

/// Makes the program available to init containers that come after, and to the containers named by
/// their place.
pub(super) fn deliver(template: &mut Value, settings: &Settings, containers: &[usize]) {
    let volumes = template::list(&mut template["spec"], "volumes");
    match &settings.delivery {
        Delivery::HostPath(path) => {
            volumes.push(json!({"name": VOLUME, "hostPath": {"path": path, "type": "File"}}));
        }
        Delivery::Image(image) => {
            volumes.push(json!({"name": VOLUME, "emptyDir": {}}));
            let copy = json!({
                "name": "trainyard-delivery",
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["/trainyard", "__deliver", PROGRAM],
                "resources": small(),
                "volumeMounts": [{"name": VOLUME, "mountPath": FOLDER}],
            });
            let copy = as_the_first(template, copy);
            template::list(&mut template["spec"], "initContainers").push(copy);
        }
    }
    for place in containers {
        if let Some(container) = template["spec"]["containers"].get_mut(*place) {
            template::list(container, "volumeMounts").push(mount(settings));
        }
    }
}

/// A container in the user's own image that runs until what it waits for is there. It comes after
/// the user's init containers.
pub(super) fn wait(template: &mut Value, arguments: &[&str], mounts: &[Value]) {
    let mut command = vec![PROGRAM];
    command.extend(arguments);
    let is_copied = template["spec"]["volumes"].as_array().is_some_and(|volumes| {
        volumes
            .iter()
            .any(|volume| volume["name"] == VOLUME && volume["emptyDir"].is_object())
    });
    let path = if is_copied { FOLDER } else { PROGRAM };
    let mut all = vec![json!({"name": VOLUME, "mountPath": path, "readOnly": true})];
    all.extend_from_slice(mounts);
    let wait = json!({
        "name": "trainyard-wait",
        "image": template["spec"]["containers"][0]["image"],
        "command": command,
        "resources": small(),
        "volumeMounts": all,
    });
    let wait = as_the_first(template, wait);
    template::list(&mut template["spec"], "initContainers").push(wait);
}

fn mount(settings: &Settings) -> Value {
    let path = match settings.delivery {
        Delivery::HostPath(_) => PROGRAM,
        Delivery::Image(_) => FOLDER,
    };
    json!({"name": VOLUME, "mountPath": path, "readOnly": true})
}

/// A pod that may run its first container may run ours: same user, same rights.
fn as_the_first(template: &Value, mut container: Value) -> Value {
    let first = &template["spec"]["containers"][0];
    for field in ["securityContext", "imagePullPolicy"] {
        if container[field].is_null() && !first[field].is_null() {
            container[field] = first[field].clone();
        }
    }
    container
}

fn small() -> Value {
    json!({
        "requests": {"cpu": "50m", "memory": "32Mi"},
        "limits": {"cpu": "500m", "memory": "128Mi"},
    })
}
