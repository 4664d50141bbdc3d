//! Templates that do something themselves: containers, sets of them, and objects of the cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, graphs::find_cycle};
use crate::{model::Template, tags};

impl Check<'_> {
    pub(super) fn container(&mut self, container: &Value, field: &str) {
        if container["image"].as_str().is_none_or(str::is_empty) {
            self.problem(
                format!("{field}.image"),
                "a container needs an image; `host` is this machine itself",
            );
        }
        let mut paths = BTreeSet::new();
        for (index, mount) in container["volumeMounts"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            if let Some(path) = mount["mountPath"].as_str()
                && !paths.insert((path, mount["subPath"].as_str()))
            {
                self.problem(
                    format!("{field}.volumeMounts[{index}].mountPath"),
                    format!("'{path}' is mounted twice"),
                );
            }
        }
    }

    pub(super) fn container_set(&mut self, template: &Template, field: &str) {
        let set = template.container_set.clone().unwrap_or_default();
        let field = format!("{field}.containerSet");
        if set.containers.is_empty() {
            self.problem(format!("{field}.containers"), "at least one container is needed");
        }
        let names: Vec<&str> = set
            .containers
            .iter()
            .map(|container| container.get("name").and_then(Value::as_str).unwrap_or_default())
            .collect();
        for (index, container) in set.containers.iter().enumerate() {
            let at = format!("{field}.containers[{index}]");
            self.container(&Value::Object(container.clone()), &at);
            if names[index].is_empty() || names[..index].contains(&names[index]) {
                self.problem(
                    format!("{at}.name"),
                    "containers of a set need names of their own",
                );
            }
            if container
                .get("command")
                .and_then(Value::as_array)
                .is_none_or(Vec::is_empty)
            {
                self.problem(
                    format!("{at}.command"),
                    "containers of a set need a command, as they are started one after the other",
                );
            }
            let dependencies = container.get("dependencies").and_then(Value::as_array);
            for dependency in dependencies.into_iter().flatten().filter_map(Value::as_str) {
                if !names.contains(&dependency) {
                    self.problem(
                        format!("{at}.dependencies"),
                        format!("there is no container '{dependency}'"),
                    );
                }
            }
        }
        let edges = |name: &str| {
            let container = set
                .containers
                .iter()
                .find(|container| container.get("name").and_then(Value::as_str) == Some(name));
            let dependencies =
                container.and_then(|container| container.get("dependencies")?.as_array().cloned());
            let texts = dependencies.unwrap_or_default();
            texts
                .iter()
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        if let Some(cycle) = find_cycle(&names, &edges) {
            self.problem(
                format!("{field}.containers"),
                format!("containers wait for each other: {cycle}"),
            );
        }
    }

    pub(super) fn resource(&mut self, template: &Template, field: &str) {
        let Some(resource) = &template.resource else {
            return;
        };
        let actions = ["get", "create", "apply", "delete", "replace", "patch"];
        if !actions.contains(&resource.action.as_str()) && !tags::has_tags(&resource.action) {
            self.problem(
                format!("{field}.action"),
                format!(
                    "action must be one of: {}; '{}' is none of them",
                    actions.join(", "),
                    resource.action
                ),
            );
        }
        if !resource.manifest_from.is_null() {
            self.problem(
                format!("{field}.manifestFrom"),
                "manifestFrom is not supported; write the manifest itself",
            );
        } else if resource.manifest.is_empty() && resource.flags.is_empty() {
            self.problem(
                format!("{field}.manifest"),
                "either flags or manifest must be given",
            );
        }
        if !resource.manifest.is_empty() && !tags::has_tags(&resource.manifest) {
            let parsed = manifests::yaml::parse(resource.manifest.as_bytes());
            match parsed {
                Err(error) => self.problem(format!("{field}.manifest"), format!("it is no YAML: {error}")),
                Ok(parsed)
                    if resource.action != "patch"
                        && resource.action != "delete"
                        && resource.flags.is_empty()
                        && parsed.value["kind"].is_null() =>
                {
                    self.problem(format!("{field}.manifest"), "the manifest has no kind");
                }
                Ok(_) => {}
            }
        }
    }
}
