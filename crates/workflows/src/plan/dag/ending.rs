//! How a DAG ends: what has become of the whole, and what others follow upon.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::{super::walk::Walk, Dag};
use crate::node::{Node, NodeType, Phase};

impl Walk<'_> {
    /// Notes what others follow upon.
    pub(super) fn set_outbound(&mut self, dag: &Dag<'_, '_>, targets: &[String]) {
        let (mut outbound, mut known) = (Vec::new(), HashSet::new());
        for target in targets {
            let id = self.id(&dag.node_name(target));
            for id in self.outbound(&id) {
                if known.insert(id.clone()) {
                    outbound.push(id);
                }
            }
        }
        if let Some(node) = self.node_mut(dag.used.name) {
            node.outbound_nodes = outbound;
        }
    }

    /// What has become of the whole. A target that was omitted takes the phase of the branch it is on.
    pub(super) fn assess_dag(&self, dag: &Dag<'_, '_>, targets: &[String]) -> Phase {
        if self.shutdown.is_on() {
            let mut tasks = self
                .status
                .nodes
                .values()
                .filter(|node| node.boundary_id == dag.boundary);
            return if tasks.all(Node::is_fulfilled) {
                Phase::Failed
            } else {
                Phase::Running
            };
        }
        let mut phases: BTreeMap<String, Option<Phase>> = targets
            .iter()
            .map(|target| (self.id(&dag.node_name(target)), None))
            .collect();
        let Some(boundary) = self.status.nodes.get(&dag.boundary) else {
            return Phase::Running;
        };
        let mut queue: VecDeque<(String, Phase)> = boundary
            .children
            .iter()
            .map(|child| (child.clone(), Phase::Succeeded))
            .collect();
        let mut seen = HashSet::new();
        while let Some((id, branch)) = queue.pop_front() {
            if !seen.insert((id.clone(), branch.text())) {
                continue;
            }
            let Some(node) = self.status.nodes.get(&id) else {
                return Phase::Running;
            };
            if !node.is_fulfilled() {
                return Phase::Running;
            }
            let branch = if node.phase.is_completed() {
                node.phase
            } else {
                branch
            };
            if let Some(phase) = phases.get_mut(&id)
                && !phase.is_some_and(Phase::is_failure)
            {
                *phase = Some(branch);
            }
            let children = match node.r#type {
                NodeType::Retry => self.after_attempts(node),
                _ => node.children.clone(),
            };
            queue.extend(children.into_iter().map(|child| (child, branch)));
        }
        let is_fail_fast = dag.used.template.dag.as_ref().and_then(|dag| dag.fail_fast) != Some(false);
        let mut result = Phase::Succeeded;
        for target in targets {
            match phases.get(&self.id(&dag.node_name(target))).copied().flatten() {
                None => {
                    result = Phase::Running;
                    if !is_fail_fast {
                        break;
                    }
                }
                Some(phase) if phase.is_failure() => {
                    if dag
                        .graph
                        .tasks
                        .get(target)
                        .is_some_and(|task| task.continues_on(phase))
                    {
                        continue;
                    }
                    result = phase;
                    if is_fail_fast {
                        break;
                    }
                }
                Some(_) => {}
            }
        }
        result
    }

    /// What follows upon a node that was tried several times: what hangs below its last attempt, and its
    /// handlers.
    fn after_attempts(&self, node: &Node) -> Vec<String> {
        let is_attempt = |id: &&String| self.status.nodes.get(*id).is_some_and(|child| !child.is_hook());
        let last = node.children.iter().rfind(is_attempt);
        let below = last.and_then(|id| self.status.nodes.get(id));
        let mut after = below.map(|last| last.children.clone()).unwrap_or_default();
        after.extend(node.children.iter().filter(|id| !is_attempt(id)).cloned());
        after
    }
}
