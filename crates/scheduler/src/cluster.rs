//! The picture of the cluster that decisions are made from.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use k8s_openapi::api::core::v1::{Node as Object, Pod};

use crate::{demand::Demand, node::Node};

/// Nodes with their pods. A pod counts from the moment its place is decided, before the API knows.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    nodes: BTreeMap<String, Node>,
    place_of: HashMap<String, String>,
    /// Pods on nodes that are not known (yet).
    strays: HashMap<String, Vec<Arc<Demand>>>,
    /// Labels of namespaces, for affinity terms that select them.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
}

impl Cluster {
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.nodes.values()
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }

    pub fn set_node(&mut self, object: &Object) {
        let mut node = Node::new(object);
        let pods = match self.nodes.remove(&node.name) {
            Some(before) => before.pods,
            None => self.strays.remove(&node.name).unwrap_or_default(),
        };
        for pod in pods {
            node.add(pod);
        }
        self.nodes.insert(node.name.clone(), node);
    }

    pub fn remove_node(&mut self, name: &str) {
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
        self.place_of.insert(demand.uid().to_owned(), place.to_owned());
        match self.nodes.get_mut(place) {
            Some(node) => node.add(demand),
            None => self.strays.entry(place.to_owned()).or_default().push(demand),
        }
    }

    pub fn remove_pod(&mut self, uid: &str) {
        let Some(place) = self.place_of.remove(uid) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(&place) {
            node.remove(uid);
        } else if let Some(strays) = self.strays.get_mut(&place) {
            strays.retain(|demand| demand.uid() != uid);
            if strays.is_empty() {
                self.strays.remove(&place);
            }
        }
    }

    /// Every pod that has a place on a known node, with the node.
    pub fn placed(&self) -> impl Iterator<Item = (&Node, &Arc<Demand>)> {
        self.nodes
            .values()
            .flat_map(|node| node.pods.iter().map(move |pod| (node, pod)))
    }
}
