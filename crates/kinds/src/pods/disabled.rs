//! Fields behind feature gates that are off in this version. They vanish without a word, unless the
//! object already has them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::is_sidecar;
use crate::read::{get, has, list, list_mut, text};

const CONTAINER_LISTS: &[&str] = &["containers", "initContainers", "ephemeralContainers"];

/// Drops fields of a spec that are not switched on; `old` is null for a new object.
pub(super) fn drop(spec: &mut Value, old: &Value) {
    for key in ["clusterTrustBundle", "podCertificate"] {
        if !projections(old).any(|source| has(source, key)) {
            drop_projection(spec, key);
        }
    }
    if !has_restart_rules(old) {
        drop_restart_rules(spec);
    }
    if !has(old, "hostnameOverride") {
        remove(spec, "hostnameOverride");
    }
    for_each_container(spec, |container| {
        drop_file_keys(container);
        drop_stop_signal(container);
    });
    if !list(old, "volumes").iter().any(|volume| has(volume, "image")) {
        drop_image_volumes(spec);
    }
}

/// Drops fields of a status that are not switched on.
pub(super) fn drop_status(status: &mut Value, old: &Value) {
    if !has(old, "extendedResourceClaimStatus") {
        remove(status, "extendedResourceClaimStatus");
    }
    for key in [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ] {
        let keeps = list(old, key)
            .iter()
            .any(|container| has(container, "allocatedResourcesStatus"));
        if !keeps {
            for container in list_mut(status, key) {
                remove(container, "allocatedResourcesStatus");
            }
        }
    }
}

fn remove(object: &mut Value, key: &str) -> Option<Value> {
    object.as_object_mut().and_then(|fields| fields.remove(key))
}

fn for_each_container(spec: &mut Value, mut change: impl FnMut(&mut Value)) {
    for key in CONTAINER_LISTS {
        list_mut(spec, key).iter_mut().for_each(&mut change);
    }
}

fn projections(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec, "volumes")
        .iter()
        .flat_map(|volume| list(get(volume, "projected"), "sources"))
}

fn drop_projection(spec: &mut Value, key: &str) {
    for volume in list_mut(spec, "volumes") {
        if let Some(projected) = volume.get_mut("projected") {
            for source in list_mut(projected, "sources") {
                remove(source, key);
            }
        }
    }
}

fn has_restart_rules(spec: &Value) -> bool {
    list(spec, "containers")
        .iter()
        .any(|container| has(container, "restartPolicy"))
        || list(spec, "initContainers").iter().any(|container| {
            (has(container, "restartPolicy") && !is_sidecar(container))
                || !list(container, "restartPolicyRules").is_empty()
        })
}

fn drop_restart_rules(spec: &mut Value) {
    for key in CONTAINER_LISTS {
        for container in list_mut(spec, key) {
            remove(container, "restartPolicyRules");
            if *key != "initContainers" || !is_sidecar(container) {
                remove(container, "restartPolicy");
            }
        }
    }
}

fn drop_file_keys(container: &mut Value) {
    for variable in list_mut(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            remove(source, "fileKeyRef");
        }
    }
}

fn drop_stop_signal(container: &mut Value) {
    let Some(lifecycle) = container.get_mut("lifecycle") else {
        return;
    };
    let dropped = remove(lifecycle, "stopSignal").is_some();
    if dropped && lifecycle.as_object().is_some_and(Map::is_empty) {
        remove(container, "lifecycle");
    }
}

fn drop_image_volumes(spec: &mut Value) {
    let dropped: HashSet<String> = list(spec, "volumes")
        .iter()
        .filter(|volume| has(volume, "image"))
        .map(|volume| text(volume, "name").to_owned())
        .collect();
    if dropped.is_empty() {
        return;
    }
    if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
        volumes.retain(|volume| !has(volume, "image"));
    }
    for_each_container(spec, |container| {
        if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts") {
            mounts.retain(|mount| !dropped.contains(text(mount, "name")));
        }
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn disabled_fields_vanish_with_what_refers_to_them() {
        let mut spec = json!({
            "hostnameOverride": "other",
            "volumes": [{"name": "model", "image": {"reference": "a"}}, {"name": "b", "emptyDir": {}}],
            "containers": [{
                "name": "a",
                "restartPolicy": "Always",
                "lifecycle": {"stopSignal": "SIGTERM"},
                "volumeMounts": [{"name": "model", "mountPath": "/m"}, {"name": "b", "mountPath": "/b"}],
            }],
            "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i", "restartPolicy": "Never"}],
        });
        drop(&mut spec, &Value::Null);
        assert_eq!(
            spec,
            json!({
                "volumes": [{"name": "b", "emptyDir": {}}],
                "containers": [{"name": "a", "volumeMounts": [{"name": "b", "mountPath": "/b"}]}],
                "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}],
            })
        );
    }
}
