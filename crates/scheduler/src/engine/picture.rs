//! What the scheduler knows, kept true change by change. Each change says whether it may give a pod
//! that waits a place.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::{
    core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod},
    policy::v1::PodDisruptionBudget,
    storage::v1::StorageClass,
};
use reconcile::{Change, Key};

use super::groups::Sizes;
use crate::{
    cluster::Cluster,
    demand::Demand,
    unit::{Group, Unit},
};

/// Pods that name one of these are ours to place. Where we run there is no other scheduler.
const NAMES: [&str; 2] = ["default-scheduler", "volcano"];

#[derive(Default)]
pub(super) struct Picture {
    pub cluster: Cluster,
    pub waiting: BTreeMap<Key, Arc<Demand>>,
    /// Uids of members of groups that have done their work: whoever is made again beside them waits for
    /// nobody.
    done: BTreeMap<(String, Group), BTreeSet<String>>,
}

impl Picture {
    pub(super) fn pod_changed(&mut self, change: &Change<'_, Pod>) -> bool {
        let Some(pod) = change.object() else { return false };
        let key = Key::of(&**pod);
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        // After a break in the watch another pod may have the name.
        if let Some(before) = change.before.and_then(|before| before.metadata.uid.as_deref())
            && before != uid
        {
            self.cluster.remove_pod(before);
        }
        self.count_done(change);
        match change.after {
            Some(pod) if is_placed(pod) && !is_over(pod) => {
                self.waiting.remove(&key);
                let place = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
                let is_news = self.cluster.place_of(uid) != place || may_move_others(change);
                self.cluster.set_pod(pod.clone());
                is_news
            }
            // Its place is decided, and its binding is on the way.
            Some(pod) if is_ours(pod) && self.cluster.place_of(uid).is_some() => false,
            Some(pod) if is_ours(pod) => {
                let is_same = change.before.is_some_and(|before| {
                    before.spec == pod.spec && before.metadata.labels == pod.metadata.labels
                });
                let known = self.waiting.insert(key, Arc::new(Demand::of(pod.clone())));
                known.is_none() || !is_same
            }
            _ => self.waiting.remove(&key).is_some() | self.cluster.remove_pod(uid),
        }
    }

    fn count_done(&mut self, change: &Change<'_, Pod>) {
        let member = |pod: &Pod| {
            let namespace = pod.metadata.namespace.clone().unwrap_or_default();
            Some(((namespace, Group::of(pod)?), pod.metadata.uid.clone()?))
        };
        if let Some((group, uid)) = change
            .before
            .filter(|pod| has_succeeded(pod))
            .and_then(|pod| member(pod))
            && let Some(uids) = self.done.get_mut(&group)
        {
            uids.remove(&uid);
            if uids.is_empty() {
                self.done.remove(&group);
            }
        }
        if let Some((group, uid)) = change
            .after
            .filter(|pod| has_succeeded(pod))
            .and_then(|pod| member(pod))
        {
            self.done.entry(group).or_default().insert(uid);
        }
    }

    pub(super) fn node_changed(&mut self, change: &Change<'_, Node>) -> bool {
        match (change.after, change.before) {
            (Some(node), _) => self.cluster.set_node(node),
            (None, Some(node)) => {
                self.cluster
                    .remove_node(node.metadata.name.as_deref().unwrap_or_default());
                true
            }
            (None, None) => false,
        }
    }

    pub(super) fn namespace_changed(&mut self, change: &Change<'_, Namespace>) -> bool {
        let Some(name) = change.object().and_then(|object| object.metadata.name.clone()) else {
            return false;
        };
        let Some(namespace) = change.after else {
            self.cluster.namespaces.remove(&name);
            return false;
        };
        let labels = namespace.metadata.labels.clone().unwrap_or_default();
        let before = self.cluster.namespaces.insert(name, labels.clone());
        before.is_some_and(|before| before != labels)
    }

    pub(super) fn claim_changed(&mut self, change: &Change<'_, PersistentVolumeClaim>) -> bool {
        keep(&mut self.cluster.storage.claims, change)
    }

    pub(super) fn volume_changed(&mut self, change: &Change<'_, PersistentVolume>) -> bool {
        let Some(volume) = change.object() else {
            return false;
        };
        let (key, volumes) = (Key::of(&**volume), &mut self.cluster.storage.volumes);
        match change.after {
            Some(volume) => drop(volumes.insert(key, volume.clone())),
            None => drop(volumes.remove(&key)),
        }
        true
    }

    pub(super) fn class_changed(&mut self, change: &Change<'_, StorageClass>) -> bool {
        keep(&mut self.cluster.storage.classes, change)
    }

    pub(super) fn budget_changed(&mut self, change: &Change<'_, PodDisruptionBudget>) -> bool {
        keep(&mut self.cluster.budgets, change);
        false
    }

    /// Groups of pods that wait.
    pub(super) fn groups(&self) -> BTreeSet<(String, Group)> {
        let waiting = self.waiting.values();
        waiting
            .filter_map(|demand| Some((demand.namespace().to_owned(), demand.group.clone()?)))
            .collect()
    }

    /// Waiting pods by what they are placed with.
    pub(super) fn units(&self, sizes: &Sizes) -> Vec<Unit> {
        let mut units = Vec::with_capacity(self.waiting.len());
        let mut groups: BTreeMap<(String, Group), Vec<Arc<Demand>>> = BTreeMap::new();
        for demand in self.waiting.values() {
            match &demand.group {
                None => units.push(Unit::pod(demand.clone())),
                Some(group) => groups
                    .entry((demand.namespace().to_owned(), group.clone()))
                    .or_default()
                    .push(demand.clone()),
            }
        }
        units.extend(groups.into_iter().map(|(key, members)| {
            let done = self.done.get(&key).map_or(0, BTreeSet::len);
            let size = sizes.of(&key, &members);
            let (namespace, group) = key;
            Unit {
                placed: self.cluster.placed_of(&namespace, &group) + done,
                size: size.as_ref().map_or(members.len(), |size| *size),
                obstacle: size.err(),
                name: group.name().to_owned(),
                namespace,
                members,
            }
        }));
        units
    }

    /// Puts a pod back among those that wait, as it is now.
    pub(super) fn put_back(&mut self, pod: Arc<Pod>) -> bool {
        let is_waiting = is_ours(&pod);
        if is_waiting {
            self.waiting.insert(Key::of(&*pod), Arc::new(Demand::of(pod)));
        }
        is_waiting
    }
}

fn keep<K: kube::Resource>(map: &mut std::collections::HashMap<Key, Arc<K>>, change: &Change<'_, K>) -> bool {
    let Some(object) = change.object() else {
        return false;
    };
    let key = Key::of(&**object);
    match change.after {
        Some(object) => drop(map.insert(key, object.clone())),
        None => drop(map.remove(&key)),
    }
    true
}

/// Others may look at a placed pod's labels, and a smaller pod leaves room.
fn may_move_others(change: &Change<'_, Pod>) -> bool {
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return true;
    };
    let is_leaving = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
    before.metadata.labels != after.metadata.labels
        || is_leaving(before) != is_leaving(after)
        // Binding changes the spec as well, and is known.
        || is_placed(before) && before.spec != after.spec
}

fn is_placed(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

fn is_over(pod: &Pod) -> bool {
    matches!(phase(pod), Some("Succeeded" | "Failed"))
}

fn has_succeeded(pod: &Pod) -> bool {
    phase(pod) == Some("Succeeded")
}

fn phase(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.phase.as_deref()
}

/// A pod that waits for us: of our name, not on its way out, and not held back by a gate.
pub(super) fn is_ours(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let name = spec.scheduler_name.as_deref().unwrap_or(NAMES[0]);
    let is_gated = spec
        .scheduling_gates
        .as_ref()
        .is_some_and(|gates| !gates.is_empty());
    NAMES.contains(&name)
        && spec.node_name.is_none()
        && !is_gated
        && !is_over(pod)
        && pod.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(node: Option<&str>, labels: &Value) -> Arc<Pod> {
        let object = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": labels},
            "spec": {"nodeName": node, "containers": []},
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_binding_is_news_only_to_who_did_not_decide_it() {
        let (waiting, bound) = (pod(None, &json!({})), pod(Some("here"), &json!({})));
        let change = Change {
            before: Some(&waiting),
            after: Some(&bound),
        };
        assert!(Picture::default().pod_changed(&change));
        let mut picture = Picture::default();
        let demand = Arc::new(Demand::of(waiting.clone()));
        picture.cluster.put(demand, "here");
        assert!(!picture.pod_changed(&change));
    }

    fn member(name: &str, phase: &str, node: Option<&str>, size: &str) -> Arc<Pod> {
        let object = json!({
            "metadata": {
                "name": name, "namespace": "n", "uid": format!("{name} {phase}"),
                "annotations": {"trainyard.dev/pod-group": "g", "trainyard.dev/pod-group-size": size},
            },
            "spec": {"nodeName": node, "containers": []},
            "status": {"phase": phase},
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_group_that_grows_counts_those_it_had() {
        let mut picture = Picture::default();
        let (old, new) = (
            member("a", "Running", Some("here"), "1"),
            member("b", "Pending", None, "2"),
        );
        for pod in [&old, &new] {
            let (before, after) = (None, Some(pod));
            picture.pod_changed(&Change { before, after });
        }
        let unit = &picture.units(&Sizes::default())[0];
        assert_eq!((unit.placed, unit.members.len(), unit.size), (1, 1, 2));
    }

    #[test]
    fn a_member_that_has_done_its_work_is_not_waited_for() {
        let (done, again) = (
            member("a", "Succeeded", Some("here"), "2"),
            member("b", "Pending", None, "2"),
        );
        let mut picture = Picture::default();
        for pod in [&done, &again] {
            let (before, after) = (None, Some(pod));
            picture.pod_changed(&Change { before, after });
        }
        let placed = |picture: &Picture| picture.units(&Sizes::default())[0].placed;
        assert_eq!(placed(&picture), 1);
        let (before, after) = (Some(&done), None);
        picture.pod_changed(&Change { before, after });
        assert_eq!(placed(&picture), 0);
    }

    #[test]
    fn other_labels_of_a_placed_pod_are_news() {
        let (before, after) = (
            pod(Some("here"), &json!({})),
            pod(Some("here"), &json!({"a": "b"})),
        );
        let mut picture = Picture::default();
        let first = Change {
            before: None,
            after: Some(&before),
        };
        picture.pod_changed(&first);
        let relabelled = Change {
            before: Some(&before),
            after: Some(&after),
        };
        assert!(picture.pod_changed(&relabelled));
        let again = Change {
            before: Some(&after),
            after: Some(&after),
        };
        assert!(!picture.pod_changed(&again));
    }
}
