//! When locks are let go: not before the last pod under them has ended, whatever was decided of it before.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Locks, limits::is_below, walk::Walk};
use crate::{names, node::Node, observed::Observed, status::Status};

impl Walk<'_> {
    /// The node has ended and gives back what it holds, once nothing of it runs any more.
    pub(super) fn unlock(&mut self, name: &str) {
        let id = self.id(name);
        let is_held = self.locks.has_holder(&self.namespace, &self.name, &id);
        if !is_held || !runs(self.observed, &self.plan.make, name) {
            self.locks.release(&self.namespace, &self.name, &id);
        }
    }

    /// The same for whatever has ended and is not gone through any more.
    pub(super) fn unlock_what_is_over(&mut self) {
        unlock(
            self.locks,
            &self.namespace,
            &self.name,
            &self.status,
            self.observed,
            &self.plan.make,
        );
    }

    /// What waits for a lock somewhere below a node will not need it.
    pub(super) fn leave_queues_below(&mut self, id: &str) {
        for node in self.waiting_below(id) {
            self.leave_queues(&node.name);
        }
    }

    pub(super) fn waiting_below(&self, id: &str) -> Vec<Node> {
        let Some(around) = self.status.nodes.get(id) else {
            return Vec::new();
        };
        let nodes = self.status.nodes.values().filter(|node| {
            let waits = node.synchronization_status.is_some() && !node.phase.is_fulfilled();
            waits && is_below(&node.name, &around.name)
        });
        nodes.cloned().collect()
    }
}

/// A workflow that had ended with pods that were still to hear of it: the object with what is held now, if that has
/// changed.
pub(super) fn after(
    object: &Value,
    status: &Status,
    observed: &Observed,
    locks: &mut Locks,
) -> Option<Value> {
    if status.synchronization.is_null() {
        return None;
    }
    let meta = &object["metadata"];
    let text = |field: &str| meta[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    unlock(locks, namespace, name, status, observed, &[]);
    let mut held = Value::Null;
    locks.write(namespace, name, &mut held);
    if held == status.synchronization {
        return None;
    }
    let mut object = object.clone();
    let fields = object["status"].as_object_mut();
    let set = |fields: &mut Map<String, Value>| match held {
        Value::Null => fields.remove("synchronization"),
        held => fields.insert("synchronization".to_owned(), held),
    };
    fields.and_then(set);
    Some(object)
}

/// Gives back what is held by what has ended.
fn unlock(
    locks: &mut Locks,
    namespace: &str,
    workflow: &str,
    status: &Status,
    observed: &Observed,
    made: &[Value],
) {
    let holders: BTreeSet<String> = locks.held_by(namespace, workflow);
    for id in holders {
        let node = status.nodes.get(&id);
        let is_over = status.is_fulfilled() || node.is_some_and(|node| node.phase.is_fulfilled());
        // The workflow as a whole, or something that nobody could note, ends with the last pod of all.
        let runs = node.map_or_else(
            || running(observed, made).next().is_some(),
            |node| runs(observed, made, &node.name),
        );
        if is_over && !runs {
            locks.release(namespace, workflow, &id);
        }
    }
}

/// Whether a pod of a node, or of something inside of it, has not ended.
fn runs(observed: &Observed, made: &[Value], name: &str) -> bool {
    running(observed, made).any(|pod| is_part(pod, name))
}

/// Whether a node is the other one or something inside of it, but for its handlers: they run when it is over.
pub(super) fn is_part(inner: &str, name: &str) -> bool {
    let (exit, hooks) = (names::on_exit(name), names::hook(name, ""));
    is_below(inner, name) && !is_below(inner, &exit) && !inner.starts_with(&hooks)
}

/// The nodes of the pods that have not ended, those that are only now to be made among them.
fn running<'a>(observed: &'a Observed, made: &'a [Value]) -> impl Iterator<Item = &'a str> {
    let running = observed.pods.iter().filter(|pod| !pod.has_ended());
    let begun = made
        .iter()
        .filter_map(|object| object["metadata"]["annotations"][names::NODE_NAME].as_str());
    running.map(|pod| pod.node_name.as_str()).chain(begun)
}
