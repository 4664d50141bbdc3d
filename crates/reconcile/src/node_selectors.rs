//! Which nodes a pod or a volume means: node selector terms, matched against a node's name and labels.

use std::cmp::Ordering;

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

use crate::selectors::Labels;

/// Any of the terms is enough.
pub fn matches(selector: &NodeSelector, name: &str, labels: &Labels) -> bool {
    let mut terms = selector.node_selector_terms.iter();
    terms.any(|term| matches_term(term, name, labels))
}

/// All requirements of a term must hold; a term without any matches nothing.
pub fn matches_term(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let field = |key: &str| (key == "metadata.name").then_some(name);
    let label = |key: &str| labels.get(key).map(String::as_str);
    !(expressions.is_empty() && fields.is_empty())
        && expressions
            .iter()
            .all(|requirement| meets(requirement, label(&requirement.key)))
        && fields
            .iter()
            .all(|requirement| meets(requirement, field(&requirement.key)))
}

/// Whether a node has what a pod's node selector and required node affinity ask for.
pub fn admits(spec: &PodSpec, name: &str, labels: &Labels) -> bool {
    let mut pairs = spec.node_selector.iter().flatten();
    let affinity = spec.affinity.as_ref();
    let required = affinity
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|node| node.required_during_scheduling_ignored_during_execution.as_ref());
    pairs.all(|(key, value)| labels.get(key) == Some(value))
        && required.is_none_or(|selector| matches(selector, name, labels))
}

fn meets(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let listed = requirement.values.as_deref().unwrap_or_default();
    let is_listed = || value.is_some_and(|value| listed.iter().any(|listed| listed == value));
    let compares = |order: Ordering| {
        let number = value.and_then(|value| value.parse::<i64>().ok());
        let bound = listed.first().and_then(|bound| bound.parse::<i64>().ok());
        matches!((number, bound), (Some(number), Some(bound)) if number.cmp(&bound) == order)
    };
    match requirement.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compares(Ordering::Greater),
        "Lt" => compares(Ordering::Less),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(term: Value) -> bool {
        let labels = Labels::from([("zone".into(), "a".into()), ("cores".into(), "8".into())]);
        matches_term(&serde_json::from_value(term).unwrap(), "node-1", &labels)
    }

    #[test]
    fn labels_are_compared_as_text_and_as_numbers() {
        let expression = |key: &str, operator: &str, values: Value| {
            check(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
        };
        assert!(expression("zone", "In", json!(["a", "b"])));
        assert!(expression("missing", "NotIn", json!(["a"])));
        assert!(expression("cores", "Gt", json!(["4"])));
        assert!(!expression("cores", "Lt", json!(["4"])));
        assert!(!expression("zone", "Gt", json!(["4"])));
    }

    #[test]
    fn a_field_names_the_node_and_an_empty_term_names_none() {
        let named = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
        assert!(check(named("node-1")));
        assert!(!check(named("node-2")));
        assert!(!check(json!({})));
    }
}
