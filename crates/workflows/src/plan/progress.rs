//! How far a workflow has come: `3/7`, for the whole and for each part.

use std::collections::HashSet;

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
    let sums: Vec<(String, String)> = status
        .nodes
        .values()
        .filter(|node| !counts(node))
        .map(|node| (node.id.clone(), sum(status, node)))
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

/// Of everything below, each node once.
fn sum(status: &Status, node: &Node) -> String {
    let (mut done, mut all) = (0, 0);
    let mut seen = HashSet::new();
    let mut open: Vec<&String> = node.children.iter().collect();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(child) = status.nodes.get(id) else {
            continue;
        };
        if counts(child) {
            let (own_done, own_all) = read(&child.progress);
            done += own_done;
            all += own_all;
        }
        open.extend(&child.children);
    }
    format!("{done}/{all}")
}

fn read(progress: &str) -> (i64, i64) {
    let parts = progress.split_once('/');
    let parsed = parts.and_then(|(done, all)| Some((done.parse().ok()?, all.parse().ok()?)));
    parsed.unwrap_or_default()
}
