//! The containers of a set: each is a node below that of their pod.

use serde_json::Value;

use super::{
    super::{
        execute::Use,
        walk::{NewNode, Walk},
    },
    told,
};
use crate::{
    names,
    node::{Node, NodeType, Phase},
    observed::{Container, ContainerState, Pod, Termination},
    report::EXIT_BROKEN,
};

impl Walk<'_> {
    /// Each container of a set is a node below that of the pod.
    pub(in crate::plan) fn add_container_nodes(&mut self, used: &Use<'_>) {
        let Some(set) = &used.template.container_set else {
            return;
        };
        let boundary = self.id(used.name);
        for container in &set.containers {
            let Some(name) = container.get("name").and_then(Value::as_str) else {
                continue;
            };
            let node = names::child(used.name, name);
            self.add_node(NewNode {
                name: &node,
                kind: NodeType::Container,
                step: None,
                scope: used.scope,
                boundary: &boundary,
                phase: Phase::Pending,
                flag: None,
                inputs: None,
                message: String::new(),
            });
        }
        for container in &set.containers {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let node = names::child(used.name, name);
            let dependencies = container.get("dependencies").and_then(Value::as_array);
            let dependencies = dependencies.filter(|dependencies| !dependencies.is_empty());
            match dependencies {
                None => self.add_child(used.name, &node),
                Some(dependencies) => {
                    for dependency in dependencies.iter().filter_map(Value::as_str) {
                        self.add_child(&names::child(used.name, dependency), &node);
                    }
                }
            }
        }
    }

    pub(super) fn assess_containers(&mut self, node: &Node, pod: &Pod) {
        for container in &pod.containers {
            let name = names::child(&node.name, &container.name);
            let is_set = self
                .node(&name)
                .is_some_and(|node| node.r#type == NodeType::Container && !node.phase.is_fulfilled());
            if !is_set {
                continue;
            }
            let (phase, message) = match &container.state {
                ContainerState::Terminated(termination) => ended(container, termination),
                _ if pod.phase == "Failed" => {
                    (Phase::Failed, "Pod Failed whilst container running".to_owned())
                }
                ContainerState::Running => (Phase::Running, String::new()),
                ContainerState::Waiting { .. } | ContainerState::Unknown => (Phase::Pending, String::new()),
            };
            self.mark(&name, phase, Some(&message));
        }
    }

    pub(super) fn end_containers(&mut self, name: &str, message: &str) {
        let id = self.id(name);
        let open: Vec<String> = self
            .status
            .nodes
            .values()
            .filter(|node| {
                node.r#type == NodeType::Container && node.boundary_id == id && !node.phase.is_fulfilled()
            })
            .map(|node| node.name.clone())
            .collect();
        for name in open {
            self.mark(&name, Phase::Failed, Some(message));
        }
    }
}

fn ended(container: &Container, termination: &Termination) -> (Phase, String) {
    let phase = match termination.exit_code {
        0 => return (Phase::Succeeded, String::new()),
        code if code == i64::from(EXIT_BROKEN) => Phase::Error,
        _ => Phase::Failed,
    };
    (phase, told(container, termination))
}
