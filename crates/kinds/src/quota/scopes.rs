//! Which objects a quota is about: pods by how they run, volume claims by their class.

use serde_json::Value;

use super::{
    collection::{Collection, Rule},
    pods, volume_claims,
};
use crate::read::{at, get, list, text};

/// Whether all scopes of the quota hold for the object. Kinds without scopes match none.
pub(super) fn all_match(quota: &Value, collection: Collection<'_>, object: &Value) -> bool {
    let spec = get(quota, "spec");
    let plain = list(spec, "scopes").iter().map(|scope| Requirement {
        scope: scope.as_str().unwrap_or_default(),
        operator: "Exists",
        values: &[],
    });
    let selected = list(at(spec, &["scopeSelector"]), "matchExpressions")
        .iter()
        .map(Requirement::read);
    let mut requirements = plain.chain(selected);
    match collection.rule() {
        Rule::Pods => requirements.all(|requirement| requirement.holds_for_pod(object)),
        Rule::VolumeClaims => requirements.all(|requirement| requirement.holds_for_volume_claim(object)),
        _ => requirements.next().is_none(),
    }
}

/// One scope, and the values it is narrowed to.
struct Requirement<'a> {
    scope: &'a str,
    operator: &'a str,
    values: &'a [Value],
}

impl<'a> Requirement<'a> {
    fn read(expression: &'a Value) -> Self {
        Self {
            scope: text(expression, "scopeName"),
            operator: text(expression, "operator"),
            values: list(expression, "values"),
        }
    }

    fn holds_for_pod(&self, pod: &Value) -> bool {
        match self.scope {
            "Terminating" => pods::is_terminating(pod),
            "NotTerminating" => !pods::is_terminating(pod),
            "BestEffort" => pods::is_best_effort(pod),
            "NotBestEffort" => !pods::is_best_effort(pod),
            "CrossNamespacePodAffinity" => pods::has_cross_namespace_affinity(pod),
            "PriorityClass" => {
                let class = text(get(pod, "spec"), "priorityClassName");
                self.selects(Some(class).filter(|class| !class.is_empty()))
            }
            _ => false,
        }
    }

    fn holds_for_volume_claim(&self, claim: &Value) -> bool {
        let classes = volume_claims::attributes_classes(claim);
        self.scope == "VolumeAttributesClass"
            && if classes.is_empty() {
                self.selects(None)
            } else {
                classes.iter().any(|class| self.selects(Some(class)))
            }
    }

    fn selects(&self, class: Option<&str>) -> bool {
        let is_listed = |class| self.values.iter().any(|value| value == class);
        match self.operator {
            "In" => class.is_some_and(is_listed),
            "NotIn" => !class.is_some_and(is_listed),
            "Exists" => class.is_some(),
            "DoesNotExist" => class.is_none(),
            _ => false,
        }
    }
}
