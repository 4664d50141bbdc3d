//! Claims, volumes and classes of volumes are not deleted while something uses them: what protects
//! them, and until when.

use serde_json::Value;

use crate::read::{at, flag, get, int, list, text};

/// A kind whose objects wait with their end until nothing uses them.
pub struct Protection {
    pub group: &'static str,
    pub plural: &'static str,
    pub finalizer: &'static str,
    /// The core resources whose objects may be users.
    pub users: &'static [&'static str],
    /// Who sees to it, as its writes are recorded.
    pub controller: &'static str,
    /// Whether the object is in use, given everything that may use it.
    is_used: fn(&Value, &[Value]) -> bool,
}

/// What is to be done about the finalizer of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// The object is unprotected: from another time, or by somebody's hand.
    Protect,
    /// Deleted, but in use.
    Wait,
    Release,
}

pub static PROTECTIONS: [Protection; 3] = [
    Protection {
        group: "",
        plural: "persistentvolumeclaims",
        finalizer: "kubernetes.io/pvc-protection",
        users: &["pods"],
        controller: "persistentvolumeclaim-protection-controller",
        is_used: |claim, pods| pods.iter().any(|pod| mounts(pod, claim)),
    },
    Protection {
        group: "",
        plural: "persistentvolumes",
        finalizer: "kubernetes.io/pv-protection",
        users: &[],
        controller: "persistentvolume-protection-controller",
        is_used: |volume, _| text(get(volume, "status"), "phase") == "Bound",
    },
    Protection {
        group: "storage.k8s.io",
        plural: "volumeattributesclasses",
        finalizer: "kubernetes.io/vac-protection",
        users: &["persistentvolumeclaims", "persistentvolumes"],
        controller: "volumeattributesclass-protection-controller",
        is_used: |class, users| users.iter().any(|user| has_class(user, class)),
    },
];

/// What protects objects of a resource, if anything does.
pub fn of(group: &str, plural: &str) -> Option<&'static Protection> {
    PROTECTIONS
        .iter()
        .find(|protection| protection.group == group && protection.plural == plural)
}

impl Protection {
    /// What is to be done about an object; `users` is asked only where it matters.
    pub fn step(&self, object: &Value, users: impl FnOnce() -> Vec<Value>) -> Step {
        let metadata = get(object, "metadata");
        let is_deleted = !text(metadata, "deletionTimestamp").is_empty();
        let is_protected = list(metadata, "finalizers")
            .iter()
            .any(|finalizer| finalizer == self.finalizer);
        match (is_deleted, is_protected) {
            (false, true) | (true, false) => Step::Nothing,
            (false, false) => Step::Protect,
            (true, true) if (self.is_used)(object, &users()) => Step::Wait,
            (true, true) => Step::Release,
        }
    }
}

/// Whether a pod uses a claim. One without a node does not: no node starts a pod whose claim is
/// being deleted.
fn mounts(pod: &Value, claim: &Value) -> bool {
    let spec = get(pod, "spec");
    let name = text(get(claim, "metadata"), "name");
    !text(spec, "nodeName").is_empty()
        && list(spec, "volumes").iter().any(|volume| {
            let named = text(get(volume, "persistentVolumeClaim"), "claimName") == name;
            named || (!get(volume, "ephemeral").is_null() && made_for(claim, pod, volume))
        })
}

/// Whether a claim was made for an ephemeral volume of a pod that still runs.
fn made_for(claim: &Value, pod: &Value, volume: &Value) -> bool {
    let (claim, pod) = (get(claim, "metadata"), get(pod, "metadata"));
    let expected = format!("{}-{}", text(pod, "name"), text(volume, "name"));
    let is_shut_down =
        !text(pod, "deletionTimestamp").is_empty() && int(pod, "deletionGracePeriodSeconds") == Some(0);
    !is_shut_down
        && text(claim, "name") == expected
        && list(claim, "ownerReferences")
            .iter()
            .any(|owner| flag(owner, "controller") && get(owner, "uid") == get(pod, "uid"))
}

/// Whether a claim or volume has a class of attributes, or is about to get it.
fn has_class(user: &Value, class: &Value) -> bool {
    let name = text(get(class, "metadata"), "name");
    [
        &["spec", "volumeAttributesClassName"][..],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ]
    .iter()
    .any(|path| at(user, path).as_str() == Some(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(plural: &str, object: &Value, users: &[Value]) -> Step {
        let protection = PROTECTIONS
            .iter()
            .find(|protection| protection.plural == plural)
            .unwrap();
        protection.step(object, || users.to_vec())
    }

    fn deleted(plural: &str) -> Value {
        let protection = PROTECTIONS
            .iter()
            .find(|protection| protection.plural == plural)
            .unwrap();
        json!({"metadata": {
            "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [protection.finalizer],
        }})
    }

    #[test]
    fn only_deleted_objects_are_released() {
        let mut claim = deleted("persistentvolumeclaims");
        assert_eq!(step("persistentvolumeclaims", &claim, &[]), Step::Release);
        claim["metadata"]["deletionTimestamp"] = Value::Null;
        assert_eq!(step("persistentvolumeclaims", &claim, &[]), Step::Nothing);
        claim["metadata"]["finalizers"] = Value::Null;
        assert_eq!(step("persistentvolumeclaims", &claim, &[]), Step::Protect);
    }

    #[test]
    fn a_claim_waits_for_pods_that_have_a_node() {
        let claim = deleted("persistentvolumeclaims");
        let mut pod = json!({"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "a"}}]}});
        let look = |pod: &Value| step("persistentvolumeclaims", &claim, std::slice::from_ref(pod));
        assert_eq!(look(&pod), Step::Release);
        pod["spec"]["nodeName"] = json!("n");
        assert_eq!(look(&pod), Step::Wait);
    }

    #[test]
    fn a_claim_of_an_ephemeral_volume_waits_for_its_own_pod() {
        let mut claim = deleted("persistentvolumeclaims");
        claim["metadata"]["name"] = json!("p-scratch");
        let mut pod = json!({
            "metadata": {"name": "p", "uid": "1"},
            "spec": {"nodeName": "n", "volumes": [{"name": "scratch", "ephemeral": {}}]},
        });
        assert_eq!(
            step("persistentvolumeclaims", &claim, &[pod.clone()]),
            Step::Release
        );
        claim["metadata"]["ownerReferences"] = json!([{"uid": "1", "controller": true}]);
        assert_eq!(step("persistentvolumeclaims", &claim, &[pod.clone()]), Step::Wait);
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        assert_eq!(step("persistentvolumeclaims", &claim, &[pod]), Step::Release);
    }

    #[test]
    fn a_volume_waits_while_it_is_bound() {
        let mut volume = deleted("persistentvolumes");
        assert_eq!(step("persistentvolumes", &volume, &[]), Step::Release);
        volume["status"] = json!({"phase": "Bound"});
        assert_eq!(step("persistentvolumes", &volume, &[]), Step::Wait);
    }

    #[test]
    fn a_class_waits_for_claims_that_are_about_to_get_it() {
        let class = deleted("volumeattributesclasses");
        let other = json!({"spec": {"volumeAttributesClassName": "b"}});
        assert_eq!(step("volumeattributesclasses", &class, &[other]), Step::Release);
        let claim = json!({"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "a"}}});
        assert_eq!(step("volumeattributesclasses", &class, &[claim]), Step::Wait);
    }
}
