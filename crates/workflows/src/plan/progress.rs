//! How far a workflow has come: `3/7`, for the whole and for each part.

use std::collections::{HashMap, HashSet};

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
    let groups = status.nodes.values().filter(|node| !counts(node));
    let sums: Vec<(String, String)> = groups
        .map(|node| {
            let (done, all) = below.of(node);
            (node.id.clone(), format!("{done}/{all}"))
        })
        .collect();
    for (id, progress) in sums {
        if let Some(node) = status.nodes.get_mut(&id) {
            node.progress = progress;
        }
    }
    let (mut done, mut all) = (0, 0);
    let mut resources: Map<String, Value> = Map::new();
    for node in status.nodes.values().filter(|node| counts(node)) {
        let (own_done, own_all) = read(&node.progress);
        done += own_done;
        all += own_all;
        for (name, seconds) in node.resources_duration.iter().flatten() {
            let known = resources.get(name).and_then(Value::as_i64).unwrap_or_default();
            resources.insert(name.clone(), json!(known + seconds.as_i64().unwrap_or_default()));
        }
    }
    status.progress = format!("{done}/{all}");
    status.resources_duration = resources;
}

fn counts(node: &Node) -> bool {
    matches!(node.r#type, NodeType::Pod | NodeType::Http | NodeType::Plugin)
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
    known: HashMap<&'s str, (i64, i64)>,
}

impl<'s> Below<'s> {
    /// Below a node with one child is that child and what is below it, so along a chain nothing is counted twice.
    fn of(&mut self, node: &'s Node) -> (i64, i64) {
        let mut chain: Vec<(&Node, &Node)> = Vec::new();
        let mut last = node;
        let (mut done, mut all) = loop {
            if let Some(known) = self.known.get(last.id.as_str()) {
                break *known;
            }
            let child = match last.children.as_slice() {
                [only] => self.status.nodes.get(only),
                _ => None,
            };
            // A chain that is longer than there are nodes goes in a circle.
            let Some(child) = child.filter(|_| chain.len() < self.status.nodes.len()) else {
                let sum = self.gather(last);
                self.known.insert(&last.id, sum);
                break sum;
            };
            chain.push((last, child));
            last = child;
        };
        for (parent, child) in chain.into_iter().rev() {
            if counts(child) {
                let (own_done, own_all) = read(&child.progress);
                done += own_done;
                all += own_all;
            }
            self.known.insert(&parent.id, (done, all));
        }
        (done, all)
    }

    /// Of everything below, each node once.
    fn gather(&self, node: &Node) -> (i64, i64) {
        let (mut done, mut all) = (0, 0);
        let mut seen = HashSet::new();
        let mut open: Vec<&String> = node.children.iter().collect();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(child) = self.status.nodes.get(id) else {
                continue;
            };
            if counts(child) {
                let (own_done, own_all) = read(&child.progress);
                done += own_done;
                all += own_all;
            }
            open.extend(&child.children);
        }
        (done, all)
    }
}

fn read(progress: &str) -> (i64, i64) {
    let parts = progress.split_once('/');
    let parsed = parts.and_then(|(done, all)| Some((done.parse().ok()?, all.parse().ok()?)));
    parsed.unwrap_or_default()
}
