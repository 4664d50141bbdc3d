//! The pod a DaemonSet makes for a node, and which node a pod was made for. Pure.

use k8s_openapi::api::{
    apps::v1::DaemonSet,
    core::v1::{
        Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec,
        Toleration,
    },
};

use crate::{ownership, pods::make, revisions::DAEMON_HASH};

/// An old label with the number of the template, from before revisions had hashes.
const GENERATION_LABEL: &str = "pod-template-generation";
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// What a node may suffer from without losing its daemons.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
const NETWORK: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// The pod's part of the template with the tolerations every daemon has.
pub(crate) fn spec(set: &DaemonSet) -> PodSpec {
    let template = set.spec.as_ref().and_then(|spec| spec.template.spec.clone());
    let mut spec = template.unwrap_or_default();
    let on_host = spec.host_network == Some(true);
    let tolerations = spec.tolerations.get_or_insert_default();
    for (key, effect) in TOLERATED.into_iter().chain(on_host.then_some(NETWORK)) {
        let toleration = Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            effect: Some(effect.into()),
            ..Toleration::default()
        };
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    spec
}

/// A pod that can go to this node only.
pub(crate) fn make(set: &DaemonSet, spec: &PodSpec, node: &str, hash: &str) -> Pod {
    let template = set.spec.clone().unwrap_or_default().template;
    let mut pod = make::from_template(&template, ownership::reference(set));
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(DAEMON_HASH.into(), hash.into());
    if let Some(generation) = generation(set) {
        labels.insert(GENERATION_LABEL.into(), generation.to_owned());
    }
    let mut spec = spec.clone();
    pin(spec.affinity.get_or_insert_default(), node);
    pod.spec = Some(spec);
    pod
}

fn pin(affinity: &mut Affinity, node: &str) {
    let term = NodeSelectorTerm {
        match_expressions: None,
        match_fields: Some(vec![NodeSelectorRequirement {
            key: "metadata.name".into(),
            operator: "In".into(),
            values: Some(vec![node.to_owned()]),
        }]),
    };
    let nodes: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    nodes.required_during_scheduling_ignored_during_execution = Some(NodeSelector {
        node_selector_terms: vec![term],
    });
}

/// The node the pod is on, or the only one it can go to.
pub(crate) fn target(pod: &Pod) -> Option<&str> {
    let spec = pod.spec.as_ref()?;
    if let Some(node) = spec.node_name.as_deref() {
        return Some(node);
    }
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    let mut fields = required
        .node_selector_terms
        .iter()
        .flat_map(|term| term.match_fields.iter().flatten());
    let named = fields.find(|field| field.key == "metadata.name" && field.operator == "In")?;
    match named.values.as_deref() {
        Some([node]) => Some(node),
        _ => None,
    }
}

/// Whether the pod is of the present template.
pub(crate) fn is_updated(set: &DaemonSet, pod: &Pod, hash: &str) -> bool {
    let label = |key: &str| Some(pod.metadata.labels.as_ref()?.get(key)?.as_str());
    label(DAEMON_HASH) == Some(hash)
        || generation(set).is_some_and(|generation| label(GENERATION_LABEL) == Some(generation))
}

fn generation(set: &DaemonSet) -> Option<&str> {
    let generation = set.metadata.annotations.as_ref()?.get(GENERATION_ANNOTATION)?;
    generation.parse::<i64>().ok().map(|_| generation.as_str())
}
