//! Whether the node takes a pod. The scheduler knows as much, but a pod may be bound by somebody else,
//! and the node may have changed since. Pure.

mod plain;
mod sysctls;

#[cfg(test)]
mod tests;

use containers::tier::Tier;
use k8s_openapi::api::core::v1::{Node, Pod};
use reconcile::{
    amounts::Amounts,
    demands::{ports, requests},
    node_selectors, taints,
};

use crate::lifecycle::roles;

/// Why not, as the pod's status says it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Rejection {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// What is looked at first among the resources; the rest come by name.
const FIRST_RESOURCES: [&str; 4] = ["pods", "cpu", "memory", "ephemeral-storage"];

/// What decides about a pod besides itself.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) node: &'a Node,
    /// The pods the node has.
    pub(crate) others: &'a [&'a Pod],
    pub(crate) tier: Tier,
    /// Every image stands for this machine's own file system.
    pub(crate) host_images: bool,
}

/// Why the node cannot take the pod, if it cannot.
pub(crate) fn rejection(pod: &Pod, ground: Ground<'_>) -> Option<Rejection> {
    let Ground {
        node,
        others,
        tier,
        host_images,
    } = ground;
    let is_plain = tier == Tier::Process;
    operating_system(pod)
        .or_else(|| is_plain.then(|| plain::rejection(pod, host_images)).flatten())
        .or_else(|| sysctls::rejection(roles::spec(pod)))
        .or_else(|| resources(pod, others, node))
        .or_else(|| affinity(pod, node))
        .or_else(|| host_ports(pod, others))
        .or_else(|| taint(pod, node))
}

impl Rejection {
    fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    /// In the words of the scheduler's filter of this name.
    fn predicate(name: &str, why: &str) -> Self {
        Self::new(name, format!("Predicate {name} failed: {why}"))
    }
}

fn operating_system(pod: &Pod) -> Option<Rejection> {
    let label = pod
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get("kubernetes.io/os"));
    if label.is_some_and(|system| system != "linux") {
        return Some(Rejection::new(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        ));
    }
    let wanted = roles::spec(pod).os.as_ref();
    wanted.filter(|wanted| wanted.name != "linux").map(|_| {
        Rejection::new(
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
        )
    })
}

fn resources(pod: &Pod, others: &[&Pod], node: &Node) -> Option<Rejection> {
    let status = node.status.as_ref();
    let capacity = Amounts::read(status.and_then(|status| status.allocatable.as_ref()));
    let mut wanted = requests(roles::spec(pod));
    // What the node has never heard of is somebody else's to give.
    wanted.retain(|name| capacity.contains(name) || !name.contains('/'));
    let mut used = Amounts::default();
    for other in others {
        used.add(&requests(roles::spec(other)));
    }
    let lacks = |name: &&str| {
        let amount = wanted.get(name);
        amount > 0 && amount > capacity.get(name) - used.get(name)
    };
    let others = wanted.iter().map(|(name, _)| name);
    let name = FIRST_RESOURCES.into_iter().chain(others).find(lacks)?;
    Some(Rejection::new(
        &format!("OutOf{name}"),
        format!(
            "Node didn't have enough resource: {name}, requested: {}, used: {}, capacity: {}",
            wanted.get(name),
            used.get(name),
            capacity.get(name)
        ),
    ))
}

fn affinity(pod: &Pod, node: &Node) -> Option<Rejection> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let is_wanted = node_selectors::admits(roles::spec(pod), name, &labels);
    (!is_wanted).then(|| {
        Rejection::predicate(
            "NodeAffinity",
            "node(s) didn't match Pod's node affinity/selector",
        )
    })
}

fn host_ports(pod: &Pod, others: &[&Pod]) -> Option<Rejection> {
    let taken: Vec<_> = others
        .iter()
        .flat_map(|other| ports(roles::spec(other)))
        .collect();
    let wanted = ports(roles::spec(pod));
    let is_taken = wanted
        .iter()
        .any(|port| taken.iter().any(|other| port.collides(other)));
    is_taken.then(|| {
        Rejection::predicate(
            "NodePorts",
            "node(s) didn't have free ports for the requested pod ports",
        )
    })
}

fn taint(pod: &Pod, node: &Node) -> Option<Rejection> {
    let tolerations = roles::spec(pod).tolerations.as_ref();
    let spec = node.spec.as_ref();
    let mut taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let keeps_out = taints.any(|taint| taint.effect == "NoExecute" && !taints::tolerates(tolerations, taint));
    keeps_out.then(|| {
        Rejection::predicate(
            "TaintToleration",
            "node(s) had taints that the pod didn't tolerate",
        )
    })
}
