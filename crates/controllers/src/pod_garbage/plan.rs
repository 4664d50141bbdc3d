//! Which pods are garbage. Pure.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::{Node, Pod};

use crate::{nodes, pods::health};

/// More ended pods than this are not kept.
const KEPT: usize = 12_500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    NodeGone,
    NodeOutOfService,
    NeverPlaced,
    TooMany,
}

#[derive(Debug)]
pub(crate) struct Garbage {
    pub pod: Arc<Pod>,
    pub reason: Reason,
}

fn place(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref();
    node.filter(|node| !node.is_empty())
}

/// Nodes that pods are on and that do not exist.
pub(crate) fn absent<'a>(pods: &'a [Arc<Pod>], nodes: &[Arc<Node>]) -> HashSet<&'a str> {
    let known: HashSet<&str> = nodes
        .iter()
        .filter_map(|node| node.metadata.name.as_deref())
        .collect();
    let places = pods.iter().filter_map(|pod| place(pod));
    places.filter(|node| !known.contains(node)).collect()
}

pub(crate) fn plan(pods: &[Arc<Pod>], nodes: &[Arc<Node>], gone: &[String]) -> Vec<Garbage> {
    let by_name: HashMap<&str, &Arc<Node>> = nodes
        .iter()
        .filter_map(|node| Some((node.metadata.name.as_deref()?, node)))
        .collect();
    let reason = |pod: &Pod| match place(pod) {
        None if health::is_terminating(pod) => Some(Reason::NeverPlaced),
        None => None,
        Some(node) if gone.iter().any(|gone| gone == node) => Some(Reason::NodeGone),
        Some(node) => {
            let node = by_name.get(node)?;
            let is_lost = health::is_terminating(pod) && is_out_of_service(node);
            is_lost.then_some(Reason::NodeOutOfService)
        }
    };
    let lost = pods.iter().filter_map(|pod| {
        Some(Garbage {
            reason: reason(pod)?,
            pod: pod.clone(),
        })
    });
    lost.chain(surplus(pods, KEPT)).collect()
}

fn is_out_of_service(node: &Node) -> bool {
    let mut taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    !nodes::is_ready(node) && taints.any(|taint| taint.key == "node.kubernetes.io/out-of-service")
}

/// Ended pods beyond the number that is kept: evicted ones first, then the oldest.
fn surplus(pods: &[Arc<Pod>], kept: usize) -> impl Iterator<Item = Garbage> {
    let ended = pods.iter().filter(|pod| health::is_finished(pod));
    let mut ended: Vec<&Arc<Pod>> = ended.collect();
    let surplus = ended.len().saturating_sub(kept);
    if surplus > 0 {
        ended.sort_by_key(|pod| {
            let status = pod.status.as_ref();
            let is_evicted = status.and_then(|status| status.reason.as_deref()) == Some("Evicted");
            let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!is_evicted, created, &pod.metadata.name)
        });
    }
    ended.into_iter().take(surplus).map(|pod| Garbage {
        pod: pod.clone(),
        reason: Reason::TooMany,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, node: Option<&str>, deleted: bool, phase: &str) -> Arc<Pod> {
        let mut object: Value = json!({
            "metadata": {"name": name}, "spec": {"containers": [], "nodeName": node}, "status": {"phase": phase},
        });
        if deleted {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn node(name: &str) -> Arc<Node> {
        Arc::new(serde_json::from_value(json!({"metadata": {"name": name}})).unwrap())
    }

    #[test]
    fn pods_go_with_their_node_and_when_they_never_had_one() {
        let pods = [
            pod("fine", Some("here"), false, "Running"),
            pod("lost", Some("gone"), false, "Running"),
            pod("deleted", None, true, "Pending"),
            pod("waiting", None, false, "Pending"),
            pod("ending", Some("here"), true, "Running"),
        ];
        let nodes = [node("here")];
        assert_eq!(absent(&pods, &nodes), HashSet::from(["gone"]));
        let garbage = plan(&pods, &nodes, &["gone".to_owned()]);
        let told: Vec<_> = garbage
            .iter()
            .map(|garbage| (garbage.pod.metadata.name.as_deref().unwrap(), garbage.reason))
            .collect();
        assert_eq!(
            told,
            [("lost", Reason::NodeGone), ("deleted", Reason::NeverPlaced)]
        );
    }

    #[test]
    fn too_many_ended_pods_lose_the_oldest() {
        let pods: Vec<_> = ["c", "a", "b"]
            .map(|name| pod(name, Some("here"), false, "Succeeded"))
            .into();
        let names: Vec<_> = surplus(&pods, 2)
            .map(|garbage| garbage.pod.metadata.name.clone())
            .collect();
        assert_eq!(names, [Some("a".to_owned())]);
    }
}
