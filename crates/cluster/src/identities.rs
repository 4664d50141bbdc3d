//! Who the engines are to the API: the users they are on every cluster, with the roles of those.

use apiserver::{OWN_NODES, User};

pub(crate) fn node(name: &str) -> User {
    User::new(&format!("system:node:{name}"), &["system:nodes", OWN_NODES])
}

pub(crate) fn scheduler() -> User {
    User::new("system:kube-scheduler", &[])
}

pub(crate) fn controllers() -> User {
    User::new("system:kube-controller-manager", &[])
}

pub(crate) fn operator() -> User {
    User::new("system:trainyard-operator", &[])
}

pub(crate) fn tasks() -> User {
    User::new("system:trainyard-tasks", &[])
}

pub(crate) fn pipelines() -> User {
    User::new("system:trainyard-pipelines", &[])
}

pub(crate) fn service() -> User {
    User::new("system:trainyard-service", &[])
}

/// One client writes for all nodes that are simulated.
pub(crate) fn simulated_nodes() -> User {
    User::new("system:node:simulated", &["system:nodes", OWN_NODES])
}
