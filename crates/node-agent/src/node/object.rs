//! The Node object. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{
        ContainerImage, DaemonEndpoint, Node, NodeAddress, NodeCondition, NodeDaemonEndpoints, NodeSpec,
        NodeStatus, NodeSystemInfo,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{ObjectMeta, Time},
    },
};
use reconcile::deaths::{self, Failing};

use super::{NETWORK_IS_STARTING, PART_FAILING, facts::last_space};
use crate::{
    agent::Agent,
    gpus::{Advertisement, Pool, RESOURCE},
    networking::NOT_STARTED,
};

/// The release whose behaviour we follow; clients decide by it.
const KUBELET_VERSION: &str = "v1.34.4";
/// There is no such server; the API asks the agent in the same process.
const KUBELET_PORT: i32 = 10_250;
/// As many as a range of pod addresses has places for, less some for the node itself.
const PODS: &str = "250";
/// The status lists no more.
const MOST_IMAGES: usize = 50;
const POD_RANGE: &str = "10.244.0.0/24";

/// A machine's name as names of nodes must be: lower case letters, digits, dashes and dots.
pub(super) fn sanitized(name: &str) -> String {
    let allowed = |character: char| match character.to_ascii_lowercase() {
        character @ ('a'..='z' | '0'..='9' | '-' | '.') => character,
        _ => '-',
    };
    let name: String = name.chars().map(allowed).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() {
        "node".to_owned()
    } else {
        name.to_owned()
    }
}

pub(super) fn node(agent: &Agent, known: Option<&Node>, now: Timestamp) -> Node {
    let name = &agent.settings.node_name;
    let architecture = architecture();
    let labels = [
        ("kubernetes.io/hostname", name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture),
        ("beta.kubernetes.io/os", "linux"),
        ("beta.kubernetes.io/arch", architecture),
        ("node-role.kubernetes.io/control-plane", ""),
        ("trainyard.dev/tier", agent.tier.tier.name()),
    ];
    let to_map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect()
    };
    let mut labels = to_map(&labels);
    labels.extend(agent.settings.labels.clone());
    labels.extend(agent.gpus.iter().flat_map(|pool| pool.advertisement().labels));
    Node {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels),
            annotations: Some(to_map(&[("node.alpha.kubernetes.io/ttl", "0")])),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            pod_cidr: Some(POD_RANGE.to_owned()),
            pod_cidrs: Some(vec![POD_RANGE.to_owned()]),
            ..NodeSpec::default()
        }),
        status: Some(status(agent, known, now)),
    }
}

fn status(agent: &Agent, known: Option<&Node>, now: Timestamp) -> NodeStatus {
    let gpus = agent.gpus.as_ref().map(Pool::advertisement).unwrap_or_default();
    let address = |kind: &str, address: String| NodeAddress {
        type_: kind.to_owned(),
        address,
    };
    NodeStatus {
        capacity: Some(resources(agent, &gpus, gpus.capacity)),
        allocatable: Some(resources(agent, &gpus, gpus.allocatable)),
        addresses: Some(vec![
            address("InternalIP", agent.address().to_string()),
            address("Hostname", agent.settings.node_name.clone()),
        ]),
        conditions: Some(conditions(agent, known, now)),
        daemon_endpoints: Some(NodeDaemonEndpoints {
            kubelet_endpoint: Some(DaemonEndpoint { port: KUBELET_PORT }),
        }),
        images: Some(images(agent)),
        node_info: Some(NodeSystemInfo {
            architecture: architecture().to_owned(),
            boot_id: agent.facts.boot_id.clone(),
            container_runtime_version: format!("trainyard://{}", env!("CARGO_PKG_VERSION")),
            kernel_version: agent.facts.kernel.clone(),
            kube_proxy_version: String::new(),
            kubelet_version: KUBELET_VERSION.to_owned(),
            machine_id: agent.facts.machine_id.clone(),
            operating_system: "linux".to_owned(),
            os_image: agent.facts.system.clone(),
            system_uuid: agent.facts.machine_id.clone(),
            ..NodeSystemInfo::default()
        }),
        ..NodeStatus::default()
    }
}

fn images(agent: &Agent) -> Vec<ContainerImage> {
    let mut images: Vec<(Vec<String>, u64)> = agent.images.list().into_iter().collect();
    // The largest first, as the scheduler looks at them.
    images.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let images = images.into_iter().take(MOST_IMAGES);
    images
        .map(|(names, size)| ContainerImage {
            names: Some(names),
            size_bytes: i64::try_from(size).ok(),
        })
        .collect()
}

fn resources(agent: &Agent, gpus: &Advertisement, usable: usize) -> BTreeMap<String, Quantity> {
    let all = agent.facts.resources();
    let gpus = (gpus.capacity > 0).then(|| (RESOURCE, usable.to_string()));
    [
        ("cpu", all.cpu),
        ("memory", all.memory),
        ("ephemeral-storage", all.ephemeral_storage),
        ("hugepages-1Gi", "0".to_owned()),
        ("hugepages-2Mi", "0".to_owned()),
        ("pods", PODS.to_owned()),
    ]
    .into_iter()
    .chain(gpus)
    .map(|(name, amount)| (name.to_owned(), Quantity(amount)))
    .collect()
}

fn conditions(agent: &Agent, known: Option<&Node>, now: Timestamp) -> Vec<NodeCondition> {
    let network = agent.networking.get();
    let no_network = match network {
        Err(problem) if agent.networking.is_possible() => Some(problem),
        _ => None,
    };
    let tier = agent.tier.tier.name();
    let reasons = agent.tier.reasons.join("; ");
    let isolation = if reasons.is_empty() {
        format!("trainyard runs pods in the `{tier}` tier")
    } else {
        format!("trainyard runs pods in the `{tier}` tier: {reasons}")
    };
    let ready = match &no_network {
        None => ("True", "KubeletReady", isolation),
        Some(problem) => (
            "False",
            "KubeletNotReady",
            format!(
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:{problem}"
            ),
        ),
    };
    let network = match no_network {
        None => ("False", "NetworkIsUp", "pods have a network".to_owned()),
        Some(problem) if problem == NOT_STARTED => ("True", NETWORK_IS_STARTING, problem),
        Some(problem) => ("True", "NetworkIsDown", problem),
    };
    let all = [
        (
            "MemoryPressure",
            (
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available".to_owned(),
            ),
        ),
        (
            "DiskPressure",
            match last_space(&agent.settings.data_dir) {
                None => (
                    "False",
                    "KubeletHasNoDiskPressure",
                    "kubelet has no disk pressure".to_owned(),
                ),
                Some(free) => (
                    "True",
                    "KubeletHasDiskPressure",
                    format!(
                        "the disk of `{}` is full: {free} bytes are free",
                        agent.settings.data_dir.display()
                    ),
                ),
            },
        ),
        (
            "PIDPressure",
            (
                "False",
                "KubeletHasSufficientPID",
                "kubelet has sufficient PID available".to_owned(),
            ),
        ),
        ("NetworkUnavailable", network),
        (PART_FAILING, failing(&deaths::subscribe().borrow().failing(now))),
        ("Ready", ready),
    ];
    all.into_iter()
        .map(|(kind, (status, reason, message))| NodeCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_heartbeat_time: Some(Time(now)),
            last_transition_time: since(known, kind, status).or(Some(Time(now))),
        })
        .collect()
}

/// The condition of the parts of the cluster.
fn failing(parts: &[Failing]) -> (&'static str, &'static str, String) {
    let told = parts.iter().map(|part| {
        let Failing {
            part,
            count,
            last_words,
        } = part;
        format!("{part} died {count} times in the last 10 minutes, the last time with: {last_words}")
    });
    match told.collect::<Vec<_>>().as_slice() {
        [] => (
            "False",
            "ClusterPartsRun",
            "every part of the cluster runs".to_owned(),
        ),
        told => ("True", "ClusterPartDiesAgainAndAgain", told.join("; ")),
    }
}

/// When a condition came to be as it is.
fn since(known: Option<&Node>, kind: &str, status: &str) -> Option<Time> {
    let conditions = known?.status.as_ref()?.conditions.as_ref()?;
    let same = conditions
        .iter()
        .find(|condition| condition.type_ == kind && condition.status == status)?;
    same.last_transition_time.clone()
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::sanitized;

    #[test]
    fn any_machine_has_a_name_that_nodes_may_have() {
        assert_eq!(sanitized("Work_Station.local"), "work-station.local");
        assert_eq!(sanitized("--"), "node");
    }
}
