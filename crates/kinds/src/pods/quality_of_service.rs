//! Quality of service: how far a pod's containers say what they need.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    quantity::Quantity,
    read::{entries, get, has, list},
    resource_list::amount_of,
};

const COMPUTE: &[&str] = &["cpu", "memory"];

/// The class of a pod with this spec: `Guaranteed`, `Burstable` or `BestEffort`.
pub fn qos_class(spec: &Value) -> &'static str {
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut guaranteed = true;
    if has(spec, "resources") {
        let resources = get(spec, "resources");
        add(&mut requests, resources, "requests");
        add(&mut limits, resources, "limits");
        guaranteed = limits.len() == COMPUTE.len() || entries(resources, "limits").next().is_none();
    } else {
        let containers = list(spec, "containers")
            .iter()
            .chain(list(spec, "initContainers"));
        for resources in containers.map(|container| get(container, "resources")) {
            add(&mut requests, resources, "requests");
            guaranteed &= add(&mut limits, resources, "limits") == COMPUTE.len();
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds the compute resources of a list and answers how many of them there were.
fn add<'a>(sum: &mut BTreeMap<&'a str, Quantity>, resources: &'a Value, list: &str) -> usize {
    let mut count = 0;
    for (name, value) in entries(resources, list) {
        let quantity = amount_of(value);
        if COMPUTE.contains(&name.as_str()) && quantity > Quantity::ZERO {
            count += 1;
            sum.entry(name)
                .and_modify(|sum| *sum = sum.plus(quantity))
                .or_insert(quantity);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(resources: &Value, expected: &str) {
        let spec = json!({"containers": [{"name": "a", "resources": resources}]});
        assert_eq!(qos_class(&spec), expected, "for {resources}");
    }

    #[test]
    fn the_class_follows_from_requests_and_limits() {
        check(&json!({}), "BestEffort");
        check(&json!({"requests": {"cpu": "0"}}), "BestEffort");
        check(
            &json!({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}),
            "BestEffort",
        );
        check(&json!({"requests": {"cpu": "1"}}), "Burstable");
        let both = json!({"cpu": "1", "memory": "1Gi"});
        check(&json!({"requests": both, "limits": both}), "Guaranteed");
        check(
            &json!({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": both}),
            "Burstable",
        );
        check(
            &json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}),
            "Burstable",
        );
    }

    #[test]
    fn one_container_without_limits_spoils_the_guarantee() {
        let both = json!({"cpu": "1", "memory": "1Gi"});
        let spec = json!({"containers": [
            {"name": "a", "resources": {"requests": both, "limits": both}},
            {"name": "b"},
        ]});
        assert_eq!(qos_class(&spec), "Burstable");
    }
}
