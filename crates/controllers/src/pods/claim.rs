//! Which pods are a controller's own: it keeps those it controls while their labels match, takes in
//! orphans whose labels match, and lets go of those whose labels do not match any more.

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde_json::{Value, json};

use super::health;

/// The pods of a namespace, sorted by whose they are.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    pub own: Vec<Arc<Pod>>,
    pub adopt: Vec<Arc<Pod>>,
    pub release: Vec<Arc<Pod>>,
}

/// Sorts the pods that an owner controls or could control.
pub(crate) fn claim(owner: &ObjectMeta, pods: Vec<Arc<Pod>>, is_selected: impl Fn(&Pod) -> bool) -> Claim {
    let owner_uid = owner.uid.as_deref().unwrap_or_default();
    let is_leaving = owner.deletion_timestamp.is_some();
    let mut claim = Claim::default();
    for pod in pods {
        match controller(&pod.metadata) {
            Some(controller) if controller.uid != owner_uid => {}
            Some(_) if is_selected(&pod) => claim.own.push(pod),
            Some(_) if is_leaving || health::is_terminating(&pod) => {}
            Some(_) => claim.release.push(pod),
            None if is_leaving || health::is_terminating(&pod) || !is_selected(&pod) => {}
            None => claim.adopt.push(pod),
        }
    }
    claim
}

pub(crate) fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let owners = meta.owner_references.as_ref()?;
    owners.iter().find(|owner| owner.controller == Some(true))
}

/// Makes the owner the pod's controller; the uid makes sure that it is still the same pod.
pub(crate) fn adoption(pod: &Pod, owner: &OwnerReference) -> Value {
    json!({"metadata": {"uid": pod.metadata.uid, "ownerReferences": [owner]}})
}

/// Takes the owner off the pod's list.
pub(crate) fn release(pod: &Pod, owner_uid: &str) -> Value {
    json!({"metadata": {
        "uid": pod.metadata.uid,
        "ownerReferences": [{"$patch": "delete", "uid": owner_uid}],
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, owner: Option<&str>, label: &str) -> Arc<Pod> {
        let owners: Vec<_> = owner
            .map(|uid| json!({"apiVersion": "v1", "kind": "K", "name": "o", "uid": uid, "controller": true}))
            .into_iter()
            .collect();
        let metadata = json!({"name": name, "labels": {"app": label}, "ownerReferences": owners});
        Arc::new(serde_json::from_value(json!({ "metadata": metadata })).unwrap())
    }

    fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
        pods.iter()
            .filter_map(|pod| pod.metadata.name.as_deref())
            .collect()
    }

    fn selected(pod: &Pod) -> bool {
        pod.metadata
            .labels
            .as_ref()
            .is_some_and(|labels| labels["app"] == "mine")
    }

    fn pods() -> Vec<Arc<Pod>> {
        vec![
            pod("own", Some("me"), "mine"),
            pod("orphan", None, "mine"),
            pod("strayed", Some("me"), "other"),
            pod("theirs", Some("you"), "mine"),
            pod("unrelated", None, "other"),
        ]
    }

    #[test]
    fn labels_and_owner_decide_whose_a_pod_is() {
        let owner = ObjectMeta {
            uid: Some("me".into()),
            ..ObjectMeta::default()
        };
        let claim = claim(&owner, pods(), selected);
        assert_eq!(names(&claim.own), ["own"]);
        assert_eq!(names(&claim.adopt), ["orphan"]);
        assert_eq!(names(&claim.release), ["strayed"]);
    }

    #[test]
    fn an_owner_that_is_being_deleted_takes_and_gives_nothing() {
        let owner: ObjectMeta =
            serde_json::from_value(json!({"uid": "me", "deletionTimestamp": "2026-01-01T00:00:00Z"}))
                .unwrap();
        let claim = claim(&owner, pods(), selected);
        assert_eq!(names(&claim.own), ["own"]);
        assert!(claim.adopt.is_empty() && claim.release.is_empty());
    }
}
