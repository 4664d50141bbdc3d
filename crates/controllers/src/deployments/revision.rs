//! The numbers by which users know the templates a deployment had, kept in annotations.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::{fleet::Fleet, limits::Limits};

pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// What a deployment does not pass on to its sets.
const PRIVATE: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
];

/// About a hundred numbers.
const LONGEST_HISTORY: usize = 2000;

pub(crate) type Annotations = BTreeMap<String, String>;

/// The revision the newest set should have: one more than any older set has.
pub(crate) fn next(fleet: &Fleet) -> i64 {
    let numbers = fleet.old.iter().filter_map(of);
    numbers.max().unwrap_or_default() + 1
}

/// `None` for a number that cannot be read.
pub(crate) fn of(set: &ReplicaSet) -> Option<i64> {
    match set
        .metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(REVISION))
    {
        None => Some(0),
        Some(text) => text.parse().ok(),
    }
}

/// Passes the deployment's annotations on and raises the revision. A set that comes back into use
/// remembers the revisions it had.
pub(crate) fn pass_on(deployment: &Deployment, set: &mut ReplicaSet, revision: i64) {
    let annotations = set.metadata.annotations.get_or_insert_default();
    for (key, value) in deployment.metadata.annotations.iter().flatten() {
        if !PRIVATE.contains(&key.as_str()) {
            annotations.insert(key.clone(), value.clone());
        }
    }
    let former = annotations.get(REVISION).cloned();
    let Ok(number) = former.as_deref().unwrap_or("0").parse::<i64>() else {
        return;
    };
    if number >= revision {
        return;
    }
    annotations.insert(REVISION.into(), revision.to_string());
    if let Some(former) = former {
        remember(annotations, &former);
    }
}

fn remember(annotations: &mut Annotations, former: &str) {
    let history = annotations.get(HISTORY).map(String::as_str).unwrap_or_default();
    let mut numbers: Vec<&str> = history.split(',').filter(|number| !number.is_empty()).collect();
    numbers.push(former);
    let length = |numbers: &[&str]| numbers.iter().map(|number| number.len() + 1).sum::<usize>() - 1;
    while numbers.len() > 1 && length(&numbers) > LONGEST_HISTORY {
        numbers.remove(0);
    }
    let history = numbers.join(",");
    annotations.insert(HISTORY.into(), history);
}

/// Resizes a set and notes the deployment's size, by which a later change of it is recognised.
pub(crate) fn resize(set: &mut ReplicaSet, replicas: i32, limits: Limits) {
    set.spec.get_or_insert_default().replicas = Some(replicas);
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert(DESIRED.into(), limits.replicas.to_string());
    annotations.insert(MOST.into(), limits.most().to_string());
}

/// The deployment's size when the set was last resized.
pub(crate) fn desired(set: &ReplicaSet) -> Option<i32> {
    number(set, DESIRED)
}

/// The most pods the deployment allowed when the set was last resized.
pub(crate) fn most(set: &ReplicaSet) -> Option<i32> {
    number(set, MOST)
}

fn number(set: &ReplicaSet, annotation: &str) -> Option<i32> {
    let text = set.metadata.annotations.as_ref()?.get(annotation)?;
    text.parse().ok().filter(|number| *number >= 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotated(annotations: serde_json::Value) -> ReplicaSet {
        serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap()
    }

    #[test]
    fn annotations_are_passed_on_except_those_that_belong_to_one_object() {
        let deployment = serde_json::from_value(json!({
            "metadata": {"annotations": {"kubernetes.io/change-cause": "why", REVISION: "9"}},
            "spec": {"selector": {}, "template": {}},
        }))
        .unwrap();
        let mut set = annotated(json!({}));
        pass_on(&deployment, &mut set, 2);
        assert_eq!(
            json!(set.metadata.annotations),
            json!({"kubernetes.io/change-cause": "why", REVISION: "2"})
        );
    }

    #[test]
    fn a_set_that_comes_back_remembers_its_revisions() {
        let mut set = annotated(json!({REVISION: "3", HISTORY: "1"}));
        pass_on(&Deployment::default(), &mut set, 5);
        assert_eq!(
            json!(set.metadata.annotations),
            json!({REVISION: "5", HISTORY: "1,3"})
        );
    }

    #[test]
    fn a_revision_never_falls() {
        let mut set = annotated(json!({REVISION: "7"}));
        pass_on(&Deployment::default(), &mut set, 5);
        assert_eq!(of(&set), Some(7));
    }

    #[test]
    fn the_history_forgets_its_beginning() {
        let long = vec!["1234"; 400].join(",");
        let mut set = annotated(json!({REVISION: "5", HISTORY: long}));
        pass_on(&Deployment::default(), &mut set, 6);
        let history = &set.metadata.annotations.unwrap()[HISTORY];
        assert!(history.len() <= LONGEST_HISTORY && history.ends_with(",1234,5"));
    }
}
