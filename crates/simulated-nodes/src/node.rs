//! The object of a simulated node. Pure.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Pod},
};
use serde_json::{Value, json};

/// The label that tells a simulated node from a real one.
pub const SIMULATED: &str = "trainyard.dev/simulated";

const PREFIX: &str = "simulated-";

pub(crate) fn name(number: usize) -> String {
    format!("{PREFIX}{number:04}")
}

/// The number of the simulated node a pod is on.
pub(crate) fn of(pod: &Pod) -> Option<usize> {
    let place = pod.spec.as_ref()?.node_name.as_deref()?;
    place.strip_prefix(PREFIX)?.parse().ok()
}

/// Addresses that lead nowhere: 198.18.0.0/15 is set aside for measurements.
pub(crate) fn address(number: usize) -> String {
    format!("198.18.{}.{}", number / 256 % 256, number % 256)
}

/// Each node has 256 addresses for its pods, of a range that pods of this machine do not use.
pub(crate) fn pod_range(number: usize) -> String {
    format!("10.{}.{}.0/24", 192 + number / 256 % 64, number % 256)
}

pub(crate) fn make(number: usize, capacity: &BTreeMap<String, String>, now: Timestamp) -> Node {
    let name = name(number);
    let gpus = capacity.get("nvidia.com/gpu").filter(|gpus| *gpus != "0");
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture(),
        SIMULATED: "true",
    });
    if gpus.is_some() {
        labels["nvidia.com/gpu.present"] = "true".into();
    }
    let object = json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"podCIDR": pod_range(number), "podCIDRs": [pod_range(number)]},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": conditions(now),
            "addresses": [
                {"type": "InternalIP", "address": address(number)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": architecture(),
                "operatingSystem": "linux",
                "osImage": "simulated",
                "kernelVersion": "simulated",
                "kubeletVersion": "v1.34.4",
                "kubeProxyVersion": "",
                "containerRuntimeVersion": "simulated://",
                "machineID": "", "systemUUID": "", "bootID": "",
            },
        },
    });
    serde_json::from_value(object).unwrap_or_default()
}

fn conditions(now: Timestamp) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    json!([
        condition(
            "MemoryPressure",
            "False",
            "Simulated",
            "a simulated node has sufficient memory"
        ),
        condition(
            "DiskPressure",
            "False",
            "Simulated",
            "a simulated node has no disk pressure"
        ),
        condition(
            "PIDPressure",
            "False",
            "Simulated",
            "a simulated node has sufficient PIDs"
        ),
        condition("Ready", "True", "Simulated", "a simulated node is always ready"),
    ])
}

/// The name Kubernetes has for this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

pub(crate) fn lease(name: &str, heartbeat: Duration, now: Timestamp) -> Lease {
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {
            "holderIdentity": name,
            // Three may be missed.
            "leaseDurationSeconds": heartbeat.as_secs() * 3,
            "renewTime": format!("{now:.6}"),
        },
    });
    serde_json::from_value(object).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_well_formed_and_says_that_it_is_simulated() {
        let capacity = BTreeMap::from([("cpu".to_owned(), "32".to_owned())]);
        let node = make(300, &capacity, Timestamp::UNIX_EPOCH);
        assert_eq!(node.metadata.name.as_deref(), Some("simulated-0300"));
        assert_eq!(node.metadata.labels.unwrap()[SIMULATED], "true");
        assert_eq!(node.spec.unwrap().pod_cidr.as_deref(), Some("10.193.44.0/24"));
        assert_eq!(node.status.unwrap().conditions.unwrap().len(), 4);
    }

    #[test]
    fn a_lease_promises_three_heartbeats() {
        let lease = lease("a", Duration::from_secs(10), Timestamp::UNIX_EPOCH);
        let spec = lease.spec.unwrap();
        assert_eq!(spec.lease_duration_seconds, Some(30));
        assert!(spec.renew_time.is_some());
    }
}
