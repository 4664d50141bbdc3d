//! What becomes of a node, from its conditions and its silence. Pure.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, Taint};

use crate::status::time;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Which condition, when it is what, becomes which taint.
const AILMENTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
];

/// What a silent node leaves open.
const POSTED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

pub(crate) struct Observed<'a> {
    pub node: &'a Node,
    pub is_silent: bool,
    /// Where no node is well, the fault is more likely ours: then nobody is driven out.
    pub is_anyone_well: bool,
    pub now: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Plan {
    /// Conditions to set.
    pub conditions: Vec<NodeCondition>,
    /// The node's taints, if they have to change.
    pub taints: Option<Vec<Taint>>,
    /// The node is not heard of.
    pub is_lost: bool,
}

pub(crate) fn condition<'a>(node: &'a Node, kind: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind)
}

pub(crate) fn is_ready(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|ready| ready.status == "True")
}

pub(crate) fn plan(observed: &Observed<'_>) -> Plan {
    Plan {
        conditions: unknown(observed),
        taints: taints(observed),
        is_lost: observed.is_silent,
    }
}

fn unknown(observed: &Observed<'_>) -> Vec<NodeCondition> {
    if !observed.is_silent {
        return Vec::new();
    }
    let since = Some(time(observed.now));
    let unknown = |kind: &&str| match condition(observed.node, kind) {
        Some(before) if before.status == "Unknown" => None,
        Some(before) => Some(NodeCondition {
            status: "Unknown".into(),
            reason: Some("NodeStatusUnknown".into()),
            message: Some("Kubelet stopped posting node status.".into()),
            last_transition_time: since.clone(),
            ..before.clone()
        }),
        None => Some(NodeCondition {
            type_: (*kind).to_owned(),
            status: "Unknown".into(),
            reason: Some("NodeStatusNeverUpdated".into()),
            message: Some("Kubelet never posted node status.".into()),
            last_heartbeat_time: observed.node.metadata.creation_timestamp.clone(),
            last_transition_time: since.clone(),
        }),
    };
    POSTED.iter().filter_map(unknown).collect()
}

/// The taints a node should have, if they are not those it has. Taints of others are left alone.
fn taints(observed: &Observed<'_>) -> Option<Vec<Taint>> {
    let node = observed.node;
    let present = node.spec.as_ref().and_then(|spec| spec.taints.clone());
    let present = present.unwrap_or_default();
    let wanted = wanted(observed);
    let is_ours = |taint: &Taint| match taint.effect.as_str() {
        "NoSchedule" => taint.key == UNSCHEDULABLE || AILMENTS.iter().any(|(_, _, key)| taint.key == *key),
        "NoExecute" => taint.key == NOT_READY || taint.key == UNREACHABLE,
        _ => false,
    };
    let is_wanted = |taint: &Taint| wanted.contains(&(taint.key.as_str(), taint.effect.as_str()));
    let mut taints: Vec<Taint> = present
        .iter()
        .filter(|taint| !is_ours(taint) || is_wanted(taint))
        .cloned()
        .collect();
    for (key, effect) in &wanted {
        if !taints
            .iter()
            .any(|taint| taint.key == *key && taint.effect == *effect)
        {
            taints.push(Taint {
                key: (*key).to_owned(),
                effect: (*effect).to_owned(),
                time_added: Some(time(observed.now)),
                value: None,
            });
        }
    }
    (taints != present).then_some(taints)
}

fn wanted(observed: &Observed<'_>) -> Vec<(&'static str, &'static str)> {
    let node = observed.node;
    let ails = |kind: &str, status: &str| condition(node, kind).is_some_and(|found| found.status == status);
    let mut wanted: Vec<_> = AILMENTS
        .into_iter()
        .filter(|(kind, status, _)| ails(kind, status))
        .map(|(_, _, key)| (key, "NoSchedule"))
        .collect();
    // One that never said it is ready waits with this taint from its registration.
    if condition(node, "Ready").is_none() && has_taint(node, NOT_READY, "NoSchedule") {
        wanted.push((NOT_READY, "NoSchedule"));
    }
    if node
        .spec
        .as_ref()
        .is_some_and(|spec| spec.unschedulable == Some(true))
    {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    if observed.is_anyone_well {
        let driving = [("False", NOT_READY), ("Unknown", UNREACHABLE)];
        let driving = driving.into_iter().filter(|(status, _)| ails("Ready", status));
        wanted.extend(driving.map(|(_, key)| (key, "NoExecute")));
    }
    wanted
}

fn has_taint(node: &Node, key: &str, effect: &str) -> bool {
    let mut taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.any(|taint| taint.key == key && taint.effect == effect)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(ready: &str, spec: Value) -> Node {
        let conditions = json!([{"type": "Ready", "status": ready}]);
        let object = json!({"metadata": {"name": "n"}, "spec": spec, "status": {"conditions": conditions}});
        serde_json::from_value(object).unwrap()
    }

    fn look(node: &Node, is_silent: bool, is_anyone_well: bool) -> Plan {
        plan(&Observed {
            node,
            is_silent,
            is_anyone_well,
            now: Timestamp::UNIX_EPOCH,
        })
    }

    fn told(taints: Option<Vec<Taint>>) -> Vec<String> {
        let taints = taints.into_iter().flatten();
        taints
            .map(|taint| format!("{}:{}", taint.key, taint.effect))
            .collect()
    }

    #[test]
    fn a_node_that_is_not_heard_of_is_marked_unknown() {
        let plan = look(&node("True", json!({})), true, true);
        let told: Vec<_> = plan
            .conditions
            .iter()
            .map(|condition| (condition.type_.as_str(), condition.reason.as_deref().unwrap()))
            .collect();
        assert_eq!(told[0], ("Ready", "NodeStatusUnknown"));
        assert_eq!(told[1], ("MemoryPressure", "NodeStatusNeverUpdated"));
    }

    #[test]
    fn an_unknown_node_keeps_pods_away_and_drives_them_out_if_others_are_well() {
        let lost = node("Unknown", json!({}));
        assert_eq!(
            told(look(&lost, true, true).taints),
            [
                "node.kubernetes.io/unreachable:NoSchedule",
                "node.kubernetes.io/unreachable:NoExecute"
            ]
        );
        assert_eq!(
            told(look(&lost, true, false).taints),
            ["node.kubernetes.io/unreachable:NoSchedule"]
        );
    }

    #[test]
    fn a_node_that_is_well_loses_our_taints_and_keeps_others() {
        let taints = json!({"taints": [
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
            {"key": "mine", "effect": "NoExecute"},
        ]});
        assert_eq!(
            told(look(&node("True", taints), false, true).taints),
            ["mine:NoExecute"]
        );
    }

    #[test]
    fn a_cordon_becomes_a_taint() {
        let cordoned = node("True", json!({"unschedulable": true}));
        assert_eq!(
            told(look(&cordoned, false, true).taints),
            ["node.kubernetes.io/unschedulable:NoSchedule"]
        );
    }
}
