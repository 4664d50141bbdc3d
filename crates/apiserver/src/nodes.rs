//! The nodes that answer in this process. Logs, commands, connections and usage come from them.

use std::{collections::BTreeMap, sync::Arc};

use node_api::Node;
use parking_lot::RwLock;

/// Nodes by name. One that is not here may be in the store all the same: then nobody answers for it.
#[derive(Default)]
pub(crate) struct Nodes(RwLock<BTreeMap<String, Arc<dyn Node>>>);

impl Nodes {
    /// From now on this node answers for its name.
    pub(crate) fn register(&self, name: &str, node: Arc<dyn Node>) {
        self.0.write().insert(name.to_owned(), node);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn Node>> {
        self.0.read().get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<(String, Arc<dyn Node>)> {
        let nodes = self.0.read();
        nodes
            .iter()
            .map(|(name, node)| (name.clone(), node.clone()))
            .collect()
    }
}
