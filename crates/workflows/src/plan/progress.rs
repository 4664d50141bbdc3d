//! How far a workflow has come: `3/7`, for the whole and for each part.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::{
    node::{Node, NodeType, Phase},
    status::Status,
};

/// Brings the progress and the resources of all nodes up to date.
pub(super) fn update(status: &mut Status) {
    let ids: Vec<String> = status.nodes.keys().cloned().collect();
    for id in &ids {
        let Some(node) = status.nodes.get_mut(id) else {
            continue;
        };
        if counts(node) {
            node.progress = own(node);
        }
    }
    let mut below = Below {
        status,
        known: HashMap::new(),
    };
    let groups = status.nodes.values().filter(|node| !node.r#type.has_pod());
    let sums: Vec<(String, Sum)> = groups.map(|node| (node.id.clone(), below.of(node))).collect();
    for (id, sum) in sums {
        let Some(node) = status.nodes.get_mut(&id) else {
            continue;
        };
        if !counts(node) && sum.all > 0 {
            node.progress = format!("{}/{}", sum.done, sum.all);
        }
        if node.phase.is_fulfilled() && !sum.resources.is_empty() {
            node.resources_duration = Some(sum.resources());
        }
    }
    let mut whole = Sum::default();
    for node in status.nodes.values() {
        whole.add(node);
    }
    status.progress = format!("{}/{}", whole.done, whole.all);
    status.resources_duration = whole.resources();
}

/// What several nodes come to.
#[derive(Clone, Default)]
struct Sum {
    done: i64,
    all: i64,
    /// Seconds.
    resources: BTreeMap<String, i64>,
}

impl Sum {
    fn add(&mut self, node: &Node) {
        if counts(node) {
            let (done, all) = read(&node.progress);
            self.done += done;
            self.all += all;
        }
        // Those of others are sums themselves.
        if !node.r#type.has_pod() {
            return;
        }
        for (name, seconds) in node.resources_duration.iter().flatten() {
            let seconds = seconds.as_i64().unwrap_or_default();
            match self.resources.get_mut(name) {
                Some(known) => *known += seconds,
                None => {
                    self.resources.insert(name.clone(), seconds);
                }
            }
        }
    }

    fn resources(&self) -> Map<String, Value> {
        let resources = self.resources.iter();
        resources
            .map(|(name, seconds)| (name.clone(), json!(seconds)))
            .collect()
    }
}

fn counts(node: &Node) -> bool {
    matches!(
        node.r#type,
        NodeType::Pod | NodeType::Http | NodeType::Plugin | NodeType::Container | NodeType::Suspend
    )
}

fn own(node: &Node) -> String {
    let (_, all) = read(&node.progress);
    let all = all.max(1);
    match node.phase {
        Phase::Succeeded | Phase::Skipped | Phase::Omitted => format!("{all}/{all}"),
        _ if node.progress.is_empty() => format!("0/{all}"),
        _ => node.progress.clone(),
    }
}

/// How far everything below nodes has come.
struct Below<'s> {
    status: &'s Status,
    known: HashMap<&'s str, Sum>,
}

impl<'s> Below<'s> {
    /// Below a node with one child is that child and what is below it, so along a chain nothing is counted twice.
    fn of(&mut self, node: &'s Node) -> Sum {
        let mut chain: Vec<(&Node, &Node)> = Vec::new();
        let mut last = node;
        let mut sum = loop {
            if let Some(known) = self.known.get(last.id.as_str()) {
                break known.clone();
            }
            let child = match last.children.as_slice() {
                [only] => self.status.nodes.get(only),
                _ => None,
            };
            // A chain that is longer than there are nodes goes in a circle.
            let Some(child) = child.filter(|_| chain.len() < self.status.nodes.len()) else {
                let sum = self.gather(last);
                self.known.insert(&last.id, sum.clone());
                break sum;
            };
            chain.push((last, child));
            last = child;
        };
        for (parent, child) in chain.into_iter().rev() {
            sum.add(child);
            self.known.insert(&parent.id, sum.clone());
        }
        sum
    }

    /// Of everything below, each node once.
    fn gather(&self, node: &Node) -> Sum {
        let mut sum = Sum::default();
        let mut seen = HashSet::new();
        let mut open: Vec<&String> = node.children.iter().collect();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(child) = self.status.nodes.get(id) else {
                continue;
            };
            sum.add(child);
            open.extend(&child.children);
        }
        sum
    }
}

fn read(progress: &str) -> (i64, i64) {
    let parts = progress.split_once('/');
    let parsed = parts.and_then(|(done, all)| Some((done.parse().ok()?, all.parse().ok()?)));
    parsed.unwrap_or_default()
}
