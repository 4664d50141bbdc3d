//! Node labels that others replaced, and what to tell about them.

use crate::{field::Field, read};

const DEPRECATED: [(&str, &str); 8] = [
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];

pub(crate) fn message(label: &str) -> Option<&'static str> {
    DEPRECATED
        .iter()
        .find(|(name, _)| *name == label)
        .map(|(_, message)| *message)
}

/// Warnings about the keys of a list of requirements.
pub(crate) fn warnings(requirements: &Field<'_>) -> Vec<String> {
    requirements
        .items()
        .filter_map(|requirement| {
            let key = read::text(requirement.value, "key");
            let message = message(key)?;
            Some(format!("{}: {key} is {message}", requirement.path().child("key")))
        })
        .collect()
}
