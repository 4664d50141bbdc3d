//! What a pod asks for and runs without, because this machine cannot give it. Pure.

use k8s_openapi::api::core::v1::{Container, Pod};

use crate::lifecycle::roles;

/// The reason of the event that tells of it.
pub(crate) const REASON: &str = "PodFeatureUnsupported";

/// What depends on the rights of whoever runs the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    /// Processes can be in groups of the pod's choice.
    pub(crate) has_groups: bool,
    /// Files can be given to them.
    pub(crate) gives_files: bool,
    /// Control groups can be written.
    pub(crate) has_limits: bool,
}

/// Everything the pod misses, by the names of the fields, in one text.
pub(crate) fn shortfalls(pod: &Pod, abilities: Abilities) -> Option<String> {
    let mut texts = Vec::new();
    if !abilities.has_groups {
        let why = "the user of this node has no subordinate groups (/etc/subgid), so its pods have one group";
        texts.extend(without_effect(group_fields(pod), why));
    } else if !abilities.gives_files && has_volume_group(pod) {
        let text = "spec.securityContext.fsGroup is a group of the pod's processes, but not of its volumes: \
                    only root gives files to groups";
        texts.push(text.to_owned());
    }
    if !abilities.has_limits {
        let why = "the user of this node may not write control groups";
        texts.extend(without_effect(limit_fields(pod), why));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn without_effect(fields: Vec<String>, why: &str) -> Option<String> {
    let verb = if fields.len() == 1 { "has" } else { "have" };
    (!fields.is_empty()).then(|| format!("{} {verb} no effect: {why}", fields.join(", ")))
}

fn group_fields(pod: &Pod) -> Vec<String> {
    let Some(context) = roles::spec(pod).security_context.as_ref() else {
        return Vec::new();
    };
    let is_in_groups = context
        .supplemental_groups
        .as_ref()
        .is_some_and(|groups| !groups.is_empty());
    let fields = [
        (has_volume_group(pod), "fsGroup"),
        (is_in_groups, "supplementalGroups"),
    ];
    let asked = fields.into_iter().filter(|(is_asked, _)| *is_asked);
    asked
        .map(|(_, name)| format!("spec.securityContext.{name}"))
        .collect()
}

fn has_volume_group(pod: &Pod) -> bool {
    let context = roles::spec(pod).security_context.as_ref();
    context.is_some_and(|context| context.fs_group.is_some())
}

fn limit_fields(pod: &Pod) -> Vec<String> {
    let lists = [
        ("initContainers", roles::init(pod)),
        ("containers", roles::work(pod)),
    ];
    let containers = lists
        .into_iter()
        .flat_map(|(list, containers)| containers.iter().map(move |container| (list, container)));
    containers
        .flat_map(|(list, container)| {
            let limits = enforced_limits(container);
            limits.map(move |limit| format!("spec.{list}{{{}}}.resources.limits.{limit}", container.name))
        })
        .collect()
}

/// Those that control groups would enforce.
fn enforced_limits(container: &Container) -> impl Iterator<Item = &'static str> {
    let limits = container
        .resources
        .as_ref()
        .and_then(|resources| resources.limits.as_ref());
    ["cpu", "memory"]
        .into_iter()
        .filter(move |name| limits.is_some_and(|limits| limits.contains_key(*name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({"spec": {
            "securityContext": {"fsGroup": 3456, "supplementalGroups": [4567]},
            "containers": [
                {"name": "main", "resources": {"limits": {"memory": "50Mi", "nvidia.com/gpu": "1"}}},
                {"name": "free"},
            ],
        }}))
        .unwrap()
    }

    #[test]
    fn each_field_without_effect_is_named_with_the_reason() {
        let none = Abilities {
            has_groups: false,
            gives_files: false,
            has_limits: false,
        };
        assert_eq!(
            shortfalls(&pod(), none).unwrap(),
            "spec.securityContext.fsGroup, spec.securityContext.supplementalGroups have no effect: \
             the user of this node has no subordinate groups (/etc/subgid), so its pods have one group; \
             spec.containers{main}.resources.limits.memory has no effect: \
             the user of this node may not write control groups"
        );
        assert_eq!(shortfalls(&Pod::default(), none), None);
    }

    #[test]
    fn what_the_machine_can_give_needs_no_word() {
        let all = Abilities {
            has_groups: true,
            gives_files: true,
            has_limits: true,
        };
        assert_eq!(shortfalls(&pod(), all), None);
        let subordinate = Abilities {
            gives_files: false,
            ..all
        };
        let text = shortfalls(&pod(), subordinate).unwrap();
        assert!(
            text.starts_with("spec.securityContext.fsGroup is a group of the pod's processes"),
            "{text}"
        );
    }
}
