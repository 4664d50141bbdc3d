//! The picture of the cluster that decisions are made from.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use k8s_openapi::api::{
    core::v1::{Node as Object, Pod},
    policy::v1::PodDisruptionBudget,
};
use reconcile::{Key, volumes::claims_of};

use crate::{demand::Demand, filters::required_far, node::Node, storage::Storage, unit::Group};

/// Nodes with their pods. A pod counts from the moment its place is decided, before the API knows.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    nodes: BTreeMap<Arc<str>, Node>,
    place_of: HashMap<String, String>,
    /// Pods on nodes that are not known (yet).
    strays: HashMap<String, Vec<Arc<Demand>>>,
    /// Pods that do not want certain others near, with their node: most clusters have few.
    guarded: HashMap<String, (String, Arc<Demand>)>,
    /// How many pods of a group have a place.
    placed_of: HashMap<(String, Group), usize>,
    /// How many placed pods have which priority.
    priorities: BTreeMap<i32, usize>,
    /// Grows with every change of pods or nodes.
    version: u64,
    /// Labels of namespaces, for affinity terms that select them.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    pub storage: Storage,
    pub budgets: HashMap<Key, Arc<PodDisruptionBudget>>,
}

impl Cluster {
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.nodes.values()
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether anything is different for pods that look for a place.
    pub fn set_node(&mut self, object: &Object) -> bool {
        let mut node = Node::new(object);
        let before = self.nodes.remove(&node.name);
        let is_other = before
            .as_ref()
            .is_none_or(|before| !before.offers_the_same(&node));
        let pods = match before {
            Some(before) => before.pods,
            None => self.strays.remove(&*node.name).unwrap_or_default(),
        };
        for pod in pods {
            node.add(pod);
        }
        self.version += 1;
        self.nodes.insert(node.name.clone(), node);
        is_other
    }

    pub fn remove_node(&mut self, name: &str) {
        self.version += 1;
        if let Some(node) = self.nodes.remove(name)
            && !node.pods.is_empty()
        {
            self.strays.insert(name.to_owned(), node.pods);
        }
    }

    /// A pod has a place, or has changed in it.
    pub fn set_pod(&mut self, pod: Arc<Pod>) {
        let place = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        if let Some(place) = place {
            self.put(Arc::new(Demand::of(pod)), &place);
        }
    }

    pub fn put(&mut self, demand: Arc<Demand>, place: &str) {
        self.remove_pod(demand.uid());
        self.version += 1;
        self.place_of.insert(demand.uid().to_owned(), place.to_owned());
        *self.priorities.entry(demand.priority).or_default() += 1;
        if let Some(group) = &demand.group {
            let group = (demand.namespace().to_owned(), group.clone());
            *self.placed_of.entry(group).or_default() += 1;
        }
        if !required_far(&demand.pod).is_empty() {
            let guarded = (place.to_owned(), demand.clone());
            self.guarded.insert(demand.uid().to_owned(), guarded);
        }
        match self.nodes.get_mut(place) {
            Some(node) => node.add(demand),
            None => self.strays.entry(place.to_owned()).or_default().push(demand),
        }
    }

    /// Whether the pod had a place.
    pub fn remove_pod(&mut self, uid: &str) -> bool {
        let Some(place) = self.place_of.remove(uid) else {
            return false;
        };
        self.version += 1;
        self.guarded.remove(uid);
        let removed = match self.nodes.get_mut(place.as_str()) {
            Some(node) => node.remove(uid),
            None => self.remove_stray(&place, uid),
        };
        if let Some(demand) = removed {
            self.uncount(&demand);
        }
        true
    }

    fn uncount(&mut self, demand: &Demand) {
        if let Some(count) = self.priorities.get_mut(&demand.priority) {
            *count -= 1;
            if *count == 0 {
                self.priorities.remove(&demand.priority);
            }
        }
        let Some(group) = &demand.group else { return };
        let group = (demand.namespace().to_owned(), group.clone());
        if let Some(count) = self.placed_of.get_mut(&group) {
            *count -= 1;
            if *count == 0 {
                self.placed_of.remove(&group);
            }
        }
    }

    /// Whether any placed pod is less important.
    pub(crate) fn has_below(&self, priority: i32) -> bool {
        self.priorities.range(..priority).next().is_some()
    }

    fn remove_stray(&mut self, place: &str, uid: &str) -> Option<Arc<Demand>> {
        let strays = self.strays.get_mut(place)?;
        let at = strays.iter().position(|demand| demand.uid() == uid)?;
        let stray = strays.swap_remove(at);
        if strays.is_empty() {
            self.strays.remove(place);
        }
        Some(stray)
    }

    pub fn place_of(&self, uid: &str) -> Option<&str> {
        self.place_of.get(uid).map(String::as_str)
    }

    /// How many members of a group have a place.
    pub fn placed_of(&self, namespace: &str, group: &Group) -> usize {
        let key = (namespace.to_owned(), group.clone());
        self.placed_of.get(&key).copied().unwrap_or_default()
    }

    /// Every pod that has a place on a known node, with the node.
    pub fn placed(&self) -> impl Iterator<Item = (&Node, &Arc<Demand>)> {
        self.nodes
            .values()
            .flat_map(|node| node.pods.iter().map(move |pod| (node, pod)))
    }

    /// Those of them that do not want certain others near.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = (&Node, &Arc<Demand>)> {
        let guarded = self.guarded.values();
        guarded.filter_map(|(place, pod)| Some((self.nodes.get(place.as_str())?, pod)))
    }

    pub(crate) fn has_guarded(&self) -> bool {
        !self.guarded.is_empty()
    }

    /// Whether a pod other than this uses the claim.
    pub(crate) fn uses_claim(&self, demand: &Demand, claim: &str) -> bool {
        let mut others = self
            .placed()
            .filter(|(_, other)| other.namespace() == demand.namespace() && other.uid() != demand.uid());
        others.any(|(_, other)| claims_of(&other.pod).any(|name| name == claim))
    }
}
