//! Requests and limits for containers that name none.

use serde_json::{Map, Value};

use crate::read::{entries, get, list, list_mut, object_mut, text};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// What a limit range gives to containers.
struct Defaults<'a> {
    requests: Vec<(&'a String, &'a Value)>,
    limits: Vec<(&'a String, &'a Value)>,
}

pub(super) fn give(range: &Value, pod: &mut Value) {
    let defaults = Defaults::read(range);
    let mut given = Vec::new();
    if let Some(spec) = pod.get_mut("spec") {
        for (field, role) in [("containers", "container"), ("initContainers", "init container")] {
            for container in list_mut(spec, field) {
                defaults.give(container, role, &mut given);
            }
        }
    }
    if !given.is_empty() {
        let note = format!("LimitRanger plugin set: {}", given.join("; "));
        object_mut(&mut pod["metadata"], "annotations").insert(ANNOTATION.to_owned(), note.into());
    }
}

impl<'a> Defaults<'a> {
    fn read(range: &'a Value) -> Self {
        let limits = || {
            list(get(range, "spec"), "limits")
                .iter()
                .filter(|limit| text(limit, "type") == "Container")
        };
        Self {
            requests: limits()
                .flat_map(|limit| entries(limit, "defaultRequest"))
                .collect(),
            limits: limits().flat_map(|limit| entries(limit, "default")).collect(),
        }
    }

    fn give(&self, container: &mut Value, role: &str, given: &mut Vec<String>) {
        let name = text(container, "name").to_owned();
        for (field, word, defaults) in [
            ("requests", "request", &self.requests),
            ("limits", "limit", &self.limits),
        ] {
            let missing = missing(container, field, defaults);
            if missing.is_empty() {
                continue;
            }
            let names: Vec<&str> = missing.keys().map(String::as_str).collect();
            given.push(format!("{} {word} for {role} {name}", names.join(", ")));
            object_mut(&mut container["resources"], field).extend(missing);
        }
    }
}

/// The defaults a container has no amounts for; the last one of a name counts.
fn missing(container: &Value, field: &str, defaults: &[(&String, &Value)]) -> Map<String, Value> {
    let amounts = get(get(container, "resources"), field);
    let missing = defaults
        .iter()
        .filter(|(name, _)| amounts.get(name.as_str()).is_none());
    missing
        .map(|(name, value)| ((*name).clone(), (*value).clone()))
        .collect()
}
