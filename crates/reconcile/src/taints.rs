//! Taints keep pods away from a node, tolerations let them in all the same.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// Whether any of the tolerations covers the taint.
pub fn tolerates(tolerations: Option<&Vec<Toleration>>, taint: &Taint) -> bool {
    let mut tolerations = tolerations.into_iter().flatten();
    tolerations.any(|toleration| covers(toleration, taint))
}

pub fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let is_same_effect = toleration
        .effect
        .as_deref()
        .is_none_or(|effect| effect.is_empty() || effect == taint.effect);
    let key = toleration.key.as_deref().unwrap_or_default();
    let is_same_key = key.is_empty() || key == taint.key;
    let is_same_value = match toleration.operator.as_deref() {
        Some("Exists") => true,
        _ => toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default(),
    };
    is_same_effect && is_same_key && is_same_value
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(toleration: Value) -> bool {
        let taint = json!({"key": "k", "value": "v", "effect": "NoExecute"});
        let taint = serde_json::from_value(taint).unwrap();
        covers(&serde_json::from_value(toleration).unwrap(), &taint)
    }

    #[test]
    fn what_a_toleration_leaves_out_it_does_not_ask_for() {
        assert!(check(json!({"operator": "Exists"})));
        assert!(check(json!({"key": "k", "operator": "Exists"})));
        assert!(check(json!({"key": "k", "value": "v", "effect": "NoExecute"})));
        assert!(!check(json!({"key": "k", "value": "other"})));
        assert!(!check(
            json!({"key": "k", "operator": "Exists", "effect": "NoSchedule"})
        ));
    }
}
