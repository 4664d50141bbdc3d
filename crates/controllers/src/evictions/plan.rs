//! How long a pod may stay on its node. Pure.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use reconcile::taints;

/// For a pod that does not tolerate its node.
const AT_ONCE: Duration = Duration::ZERO;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    Forever,
    For(Duration),
}

/// Taints that drive pods out.
pub(crate) fn driving(node: &Node) -> impl Iterator<Item = &Taint> {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.filter(|taint| taint.effect == "NoExecute")
}

/// A pod must tolerate every taint; the shortest of the times its tolerations give is its time.
pub(crate) fn stay(pod: &Pod, node: &Node) -> Stay {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_ref());
    let mut limit: Option<Duration> = None;
    for taint in driving(node) {
        let mut covering = tolerations.into_iter().flatten();
        let Some(toleration) = covering.find(|toleration| taints::covers(toleration, taint)) else {
            return Stay::For(AT_ONCE);
        };
        if let Some(seconds) = toleration.toleration_seconds {
            let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
            limit = Some(limit.map_or(seconds, |limit| limit.min(seconds)));
        }
    }
    limit.map_or(Stay::Forever, Stay::For)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(tolerations: Value) -> Stay {
        let node = json!({"spec": {"taints": [
            {"key": "a", "effect": "NoExecute"},
            {"key": "b", "effect": "NoExecute"},
            {"key": "c", "effect": "NoSchedule"},
        ]}});
        let pod = json!({"spec": {"containers": [], "tolerations": tolerations}});
        stay(
            &serde_json::from_value(pod).unwrap(),
            &serde_json::from_value(node).unwrap(),
        )
    }

    #[test]
    fn the_shortest_toleration_counts_and_a_missing_one_ends_it_at_once() {
        let tolerate = |key: &str, seconds: Option<i64>| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        assert_eq!(check(json!([tolerate("a", None)])), Stay::For(AT_ONCE));
        assert_eq!(
            check(json!([tolerate("a", None), tolerate("b", None)])),
            Stay::Forever
        );
        assert_eq!(
            check(json!([tolerate("a", Some(30)), tolerate("b", Some(5))])),
            Stay::For(Duration::from_secs(5))
        );
    }
}
