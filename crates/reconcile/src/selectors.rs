//! Which objects a workload means: label selectors, matched against labels.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

pub type Labels = BTreeMap<String, String>;

/// Whether labels meet every requirement; a selector without any matches everything.
pub fn matches(selector: &LabelSelector, labels: Option<&Labels>) -> bool {
    let empty = Labels::new();
    let labels = labels.unwrap_or(&empty);
    let mut equalities = selector.match_labels.iter().flatten();
    let mut requirements = selector.match_expressions.iter().flatten();
    equalities.all(|(key, value)| labels.get(key) == Some(value))
        && requirements.all(|requirement| meets(requirement, labels))
}

/// Whether a selector has no requirement at all.
pub fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(Labels::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// Equality on every pair, as Services and ReplicationControllers select.
pub fn matches_all(wanted: &Labels, labels: Option<&Labels>) -> bool {
    !wanted.is_empty()
        && labels.is_some_and(|labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
}

fn meets(requirement: &LabelSelectorRequirement, labels: &Labels) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = || {
        let mut values = requirement.values.iter().flatten();
        value.is_some_and(|value| values.any(|listed| listed == value))
    };
    match requirement.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(selector: Value, labels: Value) -> bool {
        let labels: Labels = serde_json::from_value(labels).unwrap();
        matches(&serde_json::from_value(selector).unwrap(), Some(&labels))
    }

    #[test]
    fn every_requirement_must_hold() {
        let selector = json!({
            "matchLabels": {"app": "a"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["x", "y"]}],
        });
        assert!(check(selector.clone(), json!({"app": "a", "tier": "y"})));
        assert!(!check(selector.clone(), json!({"app": "a"})));
        assert!(!check(selector, json!({"app": "b", "tier": "y"})));
    }

    #[test]
    fn a_label_that_is_not_there_is_not_in_any_list() {
        let not_in = json!({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["v"]}]});
        assert!(check(not_in.clone(), json!({})));
        assert!(!check(not_in, json!({"k": "v"})));
    }

    #[test]
    fn a_selector_without_requirements_matches_everything_and_no_pairs_match_nothing() {
        assert!(check(json!({}), json!({"app": "a"})));
        assert!(!matches_all(&Labels::new(), Some(&Labels::new())));
    }
}
