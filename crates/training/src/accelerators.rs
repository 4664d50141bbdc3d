//! The accelerators of the controller's configuration file: what a container gets that asks for a
//! resource, as volumes of the node and variables.

mod file;

use std::collections::BTreeMap;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::template;

pub use file::AcceleratorsError;

/// By the name of the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accelerators {
    pub accelerators: BTreeMap<String, Accelerator>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accelerator {
    pub volumes: Vec<AcceleratorVolume>,
    pub env_vars: Vec<Variable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceleratorVolume {
    pub name: String,
    pub host_path: String,
    pub mount_path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
}

impl Accelerators {
    /// Reads the configuration file. Nothing in it may be left unread: a volume that a misspelt field leaves
    /// out would be missed by the job and not by its owner.
    pub fn parse(yaml: &str) -> Result<Self, AcceleratorsError> {
        file::read(yaml)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.accelerators.is_empty()
    }

    /// What the user has in the place of something that the named container would get: a volume of that name is the
    /// accelerator's or none at all.
    pub(crate) fn check(&self, template: &Value, container: &str, path: &Path, errors: &mut Vec<FieldError>) {
        let Some(container) = template::container(template, container) else {
            return;
        };
        let volumes = template["spec"]["volumes"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let path = path.child("spec").child("volumes");
        for (resource, accelerator) in &self.accelerators {
            if !asks_for(container, resource) {
                continue;
            }
            for volume in &accelerator.volumes {
                let same = volumes.iter().position(|written| written["name"] == *volume.name);
                if let Some(i) = same.filter(|i| volumes[*i]["hostPath"]["path"] != *volume.host_path) {
                    let detail = format!(
                        "is the name of the volume that {resource} brings, which is {} of the node",
                        volume.host_path
                    );
                    let path = path.index(i).child("name");
                    errors.push(FieldError::invalid(&path, &json!(volume.name), detail));
                }
            }
        }
    }

    /// Adds what the named container asks for, once, however often it says so.
    pub(crate) fn equip(&self, template: &mut Value, container: &str) {
        for (resource, accelerator) in &self.accelerators {
            let Some(found) = template::container_mut(template, container) else {
                return;
            };
            if !asks_for(found, resource) {
                continue;
            }
            for volume in &accelerator.volumes {
                let mounts = template::list(found, "volumeMounts");
                if mounts.iter().all(|mount| mount["name"] != *volume.name) {
                    mounts.push(json!({"name": volume.name, "mountPath": volume.mount_path}));
                }
            }
            let variables = accelerator.env_vars.iter();
            template::append_env(found, variables.map(|it| (it.name.clone(), it.value.clone())));
            let volumes = template::list(&mut template["spec"], "volumes");
            for volume in &accelerator.volumes {
                if volumes.iter().all(|existing| existing["name"] != *volume.name) {
                    volumes.push(json!({"name": volume.name, "hostPath": {"path": volume.host_path}}));
                }
            }
        }
    }
}

fn asks_for(container: &Value, resource: &str) -> bool {
    let mut lists = ["limits", "requests"].iter();
    lists.any(|list| !container["resources"][list][resource].is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "accelerators:\n  example.com/gpu:\n    volumes:\n    - {name: lib, mountPath: /usr/local/gpu, hostPath: /opt/gpu}\n    envVars:\n    - {name: GPU_HOME, value: /usr/local/gpu}\n";

    #[test]
    fn what_a_container_asks_for_it_gets_once() {
        let accelerators = Accelerators::parse(FILE).unwrap();
        let mut template = json!({"spec": {"containers": [
            {"name": "other", "resources": {"limits": {"example.com/gpu": 1}}},
            {"name": "mxnet", "env": [{"name": "A", "value": "1"}],
             "resources": {"limits": {"example.com/gpu": 1}, "requests": {"example.com/gpu": 1}}},
        ]}});
        accelerators.equip(&mut template, "mxnet");
        assert_eq!(
            template["spec"]["containers"][1]["env"],
            json!([{"name": "A", "value": "1"}, {"name": "GPU_HOME", "value": "/usr/local/gpu"}])
        );
        assert_eq!(
            template["spec"]["volumes"],
            json!([{"name": "lib", "hostPath": {"path": "/opt/gpu"}}])
        );
        assert_eq!(template["spec"]["containers"][0]["volumeMounts"], Value::Null);
    }

    #[test]
    fn a_container_that_asks_for_nothing_stays_as_it_is() {
        let accelerators = Accelerators::parse(FILE).unwrap();
        let mut template = json!({"spec": {"containers": [{"name": "mxnet"}]}});
        accelerators.equip(&mut template, "mxnet");
        assert_eq!(template, json!({"spec": {"containers": [{"name": "mxnet"}]}}));
    }
}
