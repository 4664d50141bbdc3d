//! A workflow as a tree of its steps. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use workflows::{
    names,
    node::{Node, NodeType, Phase},
    status::Status,
};

use crate::jobs::table::duration;

/// How the tree is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub colours: bool,
    /// No more lines than this, if that can be.
    pub room: Option<usize>,
}

/// The lines of a workflow: what it is, and below that its steps.
pub(crate) fn tree(workflow: &Value, now: Timestamp, style: Style) -> Vec<String> {
    let status = match Status::read(workflow) {
        Ok(status) => status,
        Err(error) => return vec![format!("{}: {error}", super::name_of(workflow))],
    };
    let all = lines(workflow, &status, now, style, false);
    match style.room {
        Some(room) if all.len() > room => {
            let mut short = lines(workflow, &status, now, style, true);
            if short.len() > room {
                let left = short.len() - room + 1;
                short.truncate(room.saturating_sub(1));
                short.push(format!("  … and {left} more"));
            }
            short
        }
        _ => all,
    }
}

fn lines(workflow: &Value, status: &Status, now: Timestamp, style: Style, is_short: bool) -> Vec<String> {
    let name = super::name_of(workflow);
    let nodes = &status.nodes;
    let below = below(nodes, name);
    let mut drawing = Drawing {
        name,
        below,
        now,
        style,
        is_short,
        lines: vec![head(name, status, now, style)],
        drawn: BTreeSet::new(),
    };
    let entry = names::node_id(name, name);
    let has_steps = drawing.below.get(&entry).is_some_and(|below| !below.is_empty());
    // A workflow of one pod is its only step.
    let mut roots: Vec<&Node> = nodes.get(&entry).into_iter().collect();
    if has_steps {
        roots.clear();
        drawing.draw_below(&entry, 1);
    }
    let mut others: Vec<&Node> = nodes
        .values()
        .filter(|node| node.boundary_id.is_empty() && node.id != entry && node.is_hook())
        .collect();
    others.sort_by(|one, other| (one.started_at, &one.name).cmp(&(other.started_at, &other.name)));
    roots.extend(others);
    for root in roots {
        drawing.draw(root, 1);
    }
    drawing.lines
}

fn head(name: &str, status: &Status, now: Timestamp, style: Style) -> String {
    let mut line = format!("{} {name}", mark(status.phase, style));
    if !status.progress.is_empty() {
        line.push_str(&format!("  {}", status.progress));
    }
    line.push_str(&lasted(status.started_at, status.finished_at, now));
    if !status.message.is_empty() {
        line.push_str(&format!("  {}", one_line(&status.message)));
    }
    line
}

struct Drawing<'a> {
    name: &'a str,
    below: BTreeMap<String, Vec<&'a Node>>,
    now: Timestamp,
    style: Style,
    /// Only what is under way or has failed.
    is_short: bool,
    lines: Vec<String>,
    drawn: BTreeSet<String>,
}

impl Drawing<'_> {
    fn draw(&mut self, node: &Node, depth: usize) {
        if !self.drawn.insert(node.id.clone()) {
            return;
        }
        let is_done = node.phase.is_fulfilled() && !node.phase.is_failure();
        if self.is_short && is_done {
            return;
        }
        let mut line = format!(
            "{}{} {}",
            "  ".repeat(depth),
            mark(node.phase, self.style),
            one_line(&node.display_name)
        );
        if node.r#type.has_pod() {
            let pod = names::pod_name(self.name, &node.name, node.template());
            line.push_str(&format!("  {pod}"));
        }
        if node.phase != Phase::Skipped && node.phase != Phase::Omitted {
            line.push_str(&lasted(node.started_at, node.finished_at, self.now));
        }
        if !node.message.is_empty() {
            line.push_str(&format!("  {}", one_line(&node.message)));
        }
        self.lines.push(line);
        self.draw_below(&node.id, depth + 1);
    }

    fn draw_below(&mut self, id: &str, depth: usize) {
        for node in self.below.get(id).cloned().unwrap_or_default() {
            self.draw(node, depth);
        }
    }
}

/// What is drawn below each node: attempts below what they are attempts of, items below their group, steps below
/// the template they are of. Groups of steps are no level of their own.
fn below<'a>(nodes: &'a BTreeMap<String, Node>, workflow: &str) -> BTreeMap<String, Vec<&'a Node>> {
    let mut parents: BTreeMap<&str, &str> = BTreeMap::new();
    for parent in nodes.values() {
        let start = format!("{}(", parent.name);
        let has_parts = matches!(parent.r#type, NodeType::Retry | NodeType::TaskGroup);
        for child in parent.children.iter().filter_map(|id| nodes.get(id)) {
            let is_part = has_parts && child.name.starts_with(&start);
            let is_container = child.r#type == NodeType::Container;
            if is_part || is_container {
                parents.insert(&child.id, &parent.id);
            }
        }
    }
    let mut below: BTreeMap<String, Vec<&Node>> = BTreeMap::new();
    let entry = names::node_id(workflow, workflow);
    for node in nodes.values() {
        if node.r#type == NodeType::StepGroup || node.id == entry {
            continue;
        }
        let parent = parents
            .get(node.id.as_str())
            .copied()
            .unwrap_or(&node.boundary_id);
        if !parent.is_empty() {
            below.entry(parent.to_owned()).or_default().push(node);
        }
    }
    for nodes in below.values_mut() {
        nodes.sort_by(|one, other| {
            (one.started_at, place(&one.name), &one.name).cmp(&(
                other.started_at,
                place(&other.name),
                &other.name,
            ))
        });
    }
    below
}

/// The number of an item or an attempt, so that 10 comes after 9.
fn place(name: &str) -> usize {
    let Some((_, after)) = name.rsplit_once('(') else {
        return 0;
    };
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

fn mark(phase: Phase, style: Style) -> String {
    let (sign, colour) = match phase {
        Phase::Succeeded => ("✔", "32"),
        Phase::Failed => ("✖", "31"),
        Phase::Error => ("⚠", "31"),
        Phase::Running => ("●", "36"),
        Phase::Pending | Phase::Unknown => ("◷", "33"),
        Phase::Skipped | Phase::Omitted => ("○", "90"),
    };
    if style.colours {
        format!("\x1b[{colour}m{sign}\x1b[0m")
    } else {
        sign.to_owned()
    }
}

fn lasted(from: Option<Timestamp>, to: Option<Timestamp>, now: Timestamp) -> String {
    match from {
        Some(from) => format!("  {}", duration(to.unwrap_or(now).duration_since(from))),
        None => String::new(),
    }
}

/// What steps say may have lines and signs that move the cursor.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(LONGEST)
        .collect();
    if text.chars().count() > LONGEST {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, kind: &str, phase: &str, boundary: &str, children: &[&str]) -> (String, Value) {
        let id = names::node_id("w", name);
        let id_of = |name: &&str| names::node_id("w", name);
        let boundary = Some(boundary)
            .filter(|name| !name.is_empty())
            .map(|name| id_of(&name));
        let node = json!({
            "id": id, "name": name, "displayName": name.trim_start_matches("w[0]").trim_start_matches('.'),
            "type": kind, "phase": phase, "templateName": "t", "boundaryID": boundary.unwrap_or_default(),
            "children": children.iter().map(id_of).collect::<Vec<_>>(),
            "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:02Z",
        });
        (id, node)
    }

    fn workflow() -> Value {
        let nodes: serde_json::Map<String, Value> = [
            node("w", "Steps", "Failed", "", &["w[0]"]),
            node("w[0]", "StepGroup", "Failed", "w", &["w[0].a", "w[0].b"]),
            node("w[0].a", "Pod", "Succeeded", "w", &[]),
            node("w[0].b", "Retry", "Failed", "w", &["w[0].b(0)"]),
            node("w[0].b(0)", "Pod", "Failed", "w", &[]),
        ]
        .into_iter()
        .collect();
        json!({
            "metadata": {"name": "w"},
            "status": {"phase": "Failed", "progress": "1/2", "message": "child\nfailed", "nodes": nodes,
                "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:03Z"},
        })
    }

    #[test]
    fn steps_stand_below_their_template_and_attempts_below_their_step() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let drawn = tree(&workflow(), now, Style::default());
        let starts = [
            "✖ w  1/2  3s  child failed",
            "  ✔ a  w-t-",
            "  ✖ b  2s",
            "    ✖ b(0)  w-t-",
        ];
        assert_eq!(drawn.len(), starts.len(), "{drawn:#?}");
        for (line, start) in drawn.iter().zip(starts) {
            assert!(line.starts_with(start), "{drawn:#?}");
        }
    }

    #[test]
    fn where_there_is_little_room_what_is_done_is_left_out() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let style = Style {
            room: Some(3),
            ..Style::default()
        };
        let drawn = tree(&workflow(), now, style);
        assert_eq!(drawn.len(), 3, "{drawn:#?}");
        assert!(!drawn.iter().any(|line| line.contains("✔ a")), "{drawn:#?}");
    }
}
