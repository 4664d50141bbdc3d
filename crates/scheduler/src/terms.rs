//! Node selector terms: what affinity, volumes and topology ask of a node's labels and fields.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

use crate::node::Node;

/// Any of the terms is enough.
pub(crate) fn matches(selector: &NodeSelector, node: &Node) -> bool {
    selector
        .node_selector_terms
        .iter()
        .any(|term| matches_term(term, node))
}

/// All requirements of a term must hold; a term without any matches nothing.
pub(crate) fn matches_term(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let name = BTreeMap::from([("metadata.name".to_owned(), node.name.clone())]);
    !(expressions.is_empty() && fields.is_empty())
        && expressions
            .iter()
            .all(|requirement| meets(requirement, &node.labels))
        && fields.iter().all(|requirement| meets(requirement, &name))
}

fn meets(requirement: &NodeSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let listed = requirement.values.as_deref().unwrap_or_default();
    let compares = |order: std::cmp::Ordering| {
        let number = value.and_then(|value| value.parse::<i64>().ok());
        let bound = listed.first().and_then(|bound| bound.parse::<i64>().ok());
        matches!((number, bound), (Some(number), Some(bound)) if number.cmp(&bound) == order)
    };
    match requirement.operator.as_str() {
        "In" => value.is_some_and(|value| listed.contains(value)),
        "NotIn" => !value.is_some_and(|value| listed.contains(value)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compares(std::cmp::Ordering::Greater),
        "Lt" => compares(std::cmp::Ordering::Less),
        _ => false,
    }
}
