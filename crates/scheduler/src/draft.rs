//! The cluster as it becomes while decisions are made.

use std::sync::Arc;

use crate::{
    cluster::Cluster,
    demand::Demand,
    shortlist::{Explained, Shortlists},
};

pub(crate) struct Draft<'a> {
    pub cluster: &'a mut Cluster,
    shortlists: Shortlists,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(cluster: &'a mut Cluster) -> Self {
        Self {
            cluster,
            shortlists: Shortlists::default(),
        }
    }

    /// The best node for the pod.
    pub(crate) fn place(&mut self, demand: &Arc<Demand>) -> Result<String, Arc<Explained>> {
        self.shortlists.place(self.cluster, demand)
    }

    pub(crate) fn put(&mut self, demand: &Arc<Demand>, node: &str) {
        self.cluster.put(demand.clone(), node);
        self.shortlists.refresh(self.cluster, node);
    }

    pub(crate) fn take_back(&mut self, demand: &Demand, node: &str) {
        self.cluster.remove_pod(demand.uid());
        self.shortlists.refresh(self.cluster, node);
    }
}
