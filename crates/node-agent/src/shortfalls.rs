//! What a pod asks for and runs without, because this machine cannot give it. Pure.

use k8s_openapi::api::core::v1::{Container, Pod};

use crate::lifecycle::roles;

/// The reason of the event that tells of it.
pub(crate) const REASON: &str = "PodFeatureUnsupported";

/// What depends on the rights of whoever runs the cluster.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each can be had without the others")]
pub(crate) struct Abilities {
    /// Processes can be in groups of the pod's choice.
    pub(crate) has_groups: bool,
    /// Files can be given to them.
    pub(crate) gives_files: bool,
    /// Control groups can be written.
    pub(crate) has_limits: bool,
    /// Pods have users of their own, which are nobody outside.
    pub(crate) has_own_users: bool,
}

/// Everything the pod misses, by the names of the fields, in one text.
pub(crate) fn shortfalls(pod: &Pod, abilities: Abilities) -> Option<String> {
    let mut texts = Vec::new();
    if !abilities.has_groups {
        let why = "the user of this node has no subordinate groups (/etc/subgid), so its pods have one group";
        texts.extend(without_effect(group_fields(pod), why));
        texts.extend(one_user(pod));
    } else if !abilities.gives_files && has_volume_group(pod) {
        let text = "spec.securityContext.fsGroup is a group of the pod's processes, but not of its volumes: \
                    only root gives files to groups";
        texts.push(text.to_owned());
    }
    if !abilities.has_own_users && roles::spec(pod).host_users == Some(false) {
        let why = "the root of this node runs pods without user namespaces";
        texts.extend(without_effect(vec!["spec.hostUsers".to_owned()], why));
    }
    let why = "what is mounted later, inside or outside, is seen on its own side only";
    texts.extend(without_effect(propagation_fields(pod), why));
    texts.extend(unreachable(pod));
    if !abilities.has_limits {
        let why = "the user of this node may not write control groups";
        texts.extend(without_effect(limit_fields(pod), why));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// What pods on the host's network have no way to.
fn unreachable(pod: &Pod) -> Option<String> {
    let spec = roles::spec(pod);
    let wants_names = spec.dns_policy.as_deref() == Some("ClusterFirstWithHostNet");
    (spec.host_network == Some(true)).then(|| {
        let names = if wants_names {
            ", and spec.dnsPolicy has no effect"
        } else {
            ""
        };
        format!(
            "spec.hostNetwork keeps the pod from the cluster's network: the addresses of services and of other \
             pods are not reached from the host's{names}; the API server is"
        )
    })
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

/// Users have names of their own, but behind all of them is one.
fn one_user(pod: &Pod) -> Option<String> {
    let of_pod = roles::spec(pod)
        .security_context
        .as_ref()
        .and_then(|context| context.run_as_user)
        .map(|_| "spec.securityContext.runAsUser".to_owned());
    let of_containers = containers(pod).filter_map(|(path, container)| {
        container.security_context.as_ref()?.run_as_user?;
        Some(format!("{path}.securityContext.runAsUser"))
    });
    let fields: Vec<String> = of_pod.into_iter().chain(of_containers).collect();
    (!fields.is_empty()).then(|| {
        format!(
            "{} keeps nobody from files of other users: the user of this node has no subordinate users \
             (/etc/subuid), so all users of its pods are one",
            fields.join(", ")
        )
    })
}

fn propagation_fields(pod: &Pod) -> Vec<String> {
    let mounts = containers(pod).flat_map(|(path, container)| {
        let mounts = container.volume_mounts.iter().flatten();
        mounts.map(move |mount| (path.clone(), mount))
    });
    let propagated = mounts.filter(|(_, mount)| {
        let asked = mount.mount_propagation.as_deref();
        matches!(asked, Some("HostToContainer" | "Bidirectional"))
    });
    propagated
        .map(|(path, mount)| format!("{path}.volumeMounts{{{}}}.mountPropagation", mount.name))
        .collect()
}

/// The containers of the pod with their paths in it.
fn containers(pod: &Pod) -> impl Iterator<Item = (String, &Container)> {
    let lists = [
        ("initContainers", roles::init(pod)),
        ("containers", roles::work(pod)),
    ];
    lists.into_iter().flat_map(|(list, containers)| {
        let path = move |container: &Container| format!("spec.{list}{{{}}}", container.name);
        containers
            .iter()
            .map(move |container| (path(container), container))
    })
}

fn limit_fields(pod: &Pod) -> Vec<String> {
    containers(pod)
        .flat_map(|(path, container)| {
            let limits = enforced_limits(container);
            limits.map(move |limit| format!("{path}.resources.limits.{limit}"))
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
            has_own_users: true,
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

    const ALL: Abilities = Abilities {
        has_groups: true,
        gives_files: true,
        has_limits: true,
        has_own_users: true,
    };

    #[test]
    fn a_pod_on_the_hosts_network_is_told_what_it_does_not_reach() {
        let told = |policy: &str| {
            let spec = json!({"containers": [], "hostNetwork": true, "dnsPolicy": policy});
            shortfalls(&serde_json::from_value(json!({"spec": spec})).unwrap(), ALL).unwrap()
        };
        let without_names = told("ClusterFirst");
        assert!(!without_names.contains("dnsPolicy"), "{without_names}");
        let with_names = told("ClusterFirstWithHostNet");
        assert!(
            with_names.contains("spec.dnsPolicy has no effect"),
            "{with_names}"
        );
    }

    #[test]
    fn mounts_that_would_spread_and_users_that_would_be_apart_are_told_of() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "hostUsers": false,
            "containers": [{
                "name": "main",
                "securityContext": {"runAsUser": 1000},
                "volumeMounts": [
                    {"name": "plain", "mountPath": "/a", "mountPropagation": "None"},
                    {"name": "spread", "mountPath": "/b", "mountPropagation": "Bidirectional"},
                ],
            }],
        }}))
        .unwrap();
        let propagation = "spec.containers{main}.volumeMounts{spread}.mountPropagation has no effect: \
                           what is mounted later, inside or outside, is seen on its own side only";
        assert_eq!(shortfalls(&pod, ALL).unwrap(), propagation);
        let root = Abilities {
            has_own_users: false,
            ..ALL
        };
        assert_eq!(
            shortfalls(&pod, root).unwrap(),
            format!(
                "spec.hostUsers has no effect: the root of this node runs pods without user namespaces; {propagation}"
            )
        );
        let one = Abilities {
            has_groups: false,
            ..ALL
        };
        let text = shortfalls(&pod, one).unwrap();
        assert!(
            text.starts_with("spec.containers{main}.securityContext.runAsUser keeps nobody"),
            "{text}"
        );
    }

    #[test]
    fn what_the_machine_can_give_needs_no_word() {
        let all = ALL;
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
