//! How much may run at a time: in the whole workflow, and directly inside of a template.

use super::{
    Gone,
    execute::Use,
    walk::{Halt, Walk},
};
use crate::{
    model::{Number, Template, TemplateType},
    node::{Node, NodeType, Phase},
    observed::Pod,
};

const FAIL_FAST: &str = "template has failed or errored children and failFast enabled";

/// What a template allows inside of it.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    parallelism: Option<i64>,
    is_fail_fast: bool,
}

impl Limits {
    pub(super) fn of(template: &Template) -> Self {
        Self {
            parallelism: template.parallelism.as_ref().and_then(Number::integer),
            is_fail_fast: template.fail_fast == Some(true),
        }
    }
}

impl Walk<'_> {
    /// Whether a node may go on, or begin.
    pub(super) fn check_limits(
        &mut self,
        name: &str,
        template: &Template,
        boundary: &str,
    ) -> Result<(), Halt> {
        if self.has_strays(name) {
            // It has begun, though nobody could note that: it is part of what runs.
            return Ok(());
        }
        let is_pod = template.kind().is_some_and(TemplateType::is_pod);
        let node = self.node(name).cloned();
        if let Some(node) = node.as_ref().filter(|_| !is_pod) {
            self.check_fail_fast(&node.id, Limits::of(template))?;
        }
        if node.is_some_and(|node| is_active(&node)) {
            return Ok(());
        }
        if !boundary.is_empty()
            && let Some(limits) = self.limits_of(boundary)?
        {
            self.check_fail_fast(boundary, limits)?;
        }
        self.check_room(is_pod, boundary)
    }

    /// Whether something more may begin inside of a node.
    fn check_room(&mut self, is_pod: bool, boundary: &str) -> Result<(), Halt> {
        let limit = self.spec.parallelism.as_ref().and_then(Number::integer);
        if is_pod && limit.is_some_and(|limit| self.active_pods >= limit) {
            return Err(Halt::Later);
        }
        if boundary.is_empty() {
            return Ok(());
        }
        let limits = self.limits_of(boundary)?;
        let limit = limits.and_then(|limits| limits.parallelism);
        if limit.is_some_and(|limit| self.count_active_children(boundary) >= limit) {
            return Err(Halt::Later);
        }
        Ok(())
    }

    /// A template that is not to go on after a failure ends when what runs in it has.
    fn check_fail_fast(&mut self, id: &str, limits: Limits) -> Result<(), Halt> {
        if !limits.is_fail_fast || !self.has_unsuccessful_children(id) {
            return Ok(());
        }
        self.leave_queues_below(id);
        if self.count_active_pods(Some(id)) == 0 {
            self.fail_fast(id);
        }
        Err(Halt::Later)
    }

    fn fail_fast(&mut self, id: &str) {
        let Some(node) = self.status.nodes.get(id).cloned() else {
            return;
        };
        if node.r#type == NodeType::Steps {
            let groups = self.status.nodes.values().filter(|group| {
                group.r#type == NodeType::StepGroup && group.boundary_id == id && !group.phase.is_fulfilled()
            });
            let last = groups
                .map(|group| group.name.clone())
                .max_by_key(std::string::String::len);
            if let Some(last) = last {
                self.mark(&last, Phase::Failed, Some(FAIL_FAST));
            }
        }
        // Nobody comes by again to see whether they have their locks.
        for waiting in self.waiting_below(id) {
            self.mark(&waiting.name, Phase::Failed, Some(FAIL_FAST));
            if let Some(ended) = self.node_mut(&waiting.name) {
                ended.synchronization_status = None;
            }
        }
        self.mark(&node.name, Phase::Failed, Some(FAIL_FAST));
    }

    /// What the template around a node allows.
    fn limits_of(&mut self, id: &str) -> Result<Option<Limits>, Halt> {
        if let Some(limits) = self.limits.get(id) {
            return Ok(Some(*limits));
        }
        let Some(node) = self.status.nodes.get(id).cloned() else {
            return Ok(None);
        };
        match self.template_of(&node) {
            Ok(template) => Ok(Some(Limits::of(&template))),
            Err(Halt::Later) => Err(Halt::Later),
            Err(_) => Ok(None),
        }
    }

    /// Pods that run or will, below a node or everywhere.
    pub(super) fn count_active_pods(&self, boundary: Option<&str>) -> i64 {
        let is_counted = |node: &&Node| {
            node.r#type.has_pod()
                && boundary.is_none_or(|boundary| node.boundary_id == boundary)
                && self.takes_room(node)
        };
        let nodes = self.status.nodes.values().filter(is_counted).count();
        (nodes + self.count_active_strays(boundary)) as i64
    }

    /// Pods, steps and DAGs that are under way directly below a node.
    fn count_active_children(&self, boundary: &str) -> i64 {
        let is_counted = |node: &&Node| {
            let counts = if node.r#type == NodeType::Retry {
                self.keeps_room(node)
            } else {
                (node.r#type.has_pod() || is_group(node)) && self.takes_room(node)
            };
            node.boundary_id == boundary && counts
        };
        let nodes = self.status.nodes.values().filter(is_counted).count();
        (nodes + self.count_active_strays(Some(boundary))) as i64
    }

    /// Whether there is room for another attempt. Whoever holds a lock has kept his, and gives it to the next attempt
    /// when the pod of the last one has ended.
    pub(super) fn check_room_again(&mut self, used: &Use<'_>, last: &Node) -> Result<(), Halt> {
        let is_pod = used.template.kind().is_some_and(TemplateType::is_pod);
        if used.template.synchronization.is_none() {
            return self.check_room(is_pod, &used.options.boundary);
        }
        if self.is_being_stopped(last) {
            return Err(Halt::Later);
        }
        self.check_room(is_pod, "")
    }

    /// Between two attempts, with a lock: whoever took the room meanwhile could wait for that lock.
    fn keeps_room(&self, node: &Node) -> bool {
        node.phase == Phase::Running
            && !node.is_daemoned()
            && self.locks.has_holder(&self.namespace, &self.name, &node.id)
            && !self
                .attempts(&node.name)
                .last()
                .is_some_and(|last| self.takes_room(last))
    }

    fn takes_room(&self, node: &Node) -> bool {
        (is_active(node) && !node.is_daemoned()) || self.is_being_stopped(node)
    }

    /// Its end is decided, and its pod runs until it has heard of it.
    fn is_being_stopped(&self, node: &Node) -> bool {
        let pod = self.pods.get(node.id.as_str());
        node.phase.is_failure() && pod.is_some_and(|pod| !pod.has_ended())
    }

    fn has_unsuccessful_children(&self, boundary: &str) -> bool {
        let is_unsuccessful = |node: &Node| {
            // An attempt that failed is followed by another.
            let counts = node.r#type.has_pod() || is_group(node);
            (counts && !node.is_attempt()) || node.r#type == NodeType::Retry
        };
        let mut nodes = self.status.nodes.values();
        nodes.any(|node| node.boundary_id == boundary && node.phase.is_failure() && is_unsuccessful(node))
    }

    // --- Pods that were made by somebody who could not note it any more

    /// A pod is labelled when the end of its node has been noted. If there is no such node any more, somebody wants it
    /// to be begun again, and the pod is not the one of that beginning, even where its deletion is not heard of yet.
    ///
    /// What is known of pods may be newer than what is known of their workflow, but never so that this is wrong of a pod
    /// that did its work: it is labelled, or deleted, only after the server has answered that the end of its node is
    /// stored. Whoever stored it in this process went on from that answer; whoever did before had the lease, which was
    /// over before this process asked for its first list. What he had sent and not yet heard of is one request for each
    /// workflow: if that is the object, no label has followed, and ours is refused and made again from there. Before
    /// something is deleted without the object being stored, the caller asks whether it is still this one.
    pub(super) fn sort_pods(&mut self) {
        let observed = self.observed;
        for pod in &observed.pods {
            let is_noted = self.status.nodes.contains_key(&pod.node_id);
            if !is_noted && pod.is_labelled_completed {
                self.left_behind.insert(pod.node_id.as_str());
                if !pod.is_being_deleted {
                    self.plan.delete.push(Gone {
                        kind: "Pod",
                        name: pod.name.clone(),
                        uid: pod.uid.clone(),
                    });
                }
                continue;
            }
            self.pods.insert(pod.node_id.as_str(), pod);
            if !is_noted {
                self.strays.push(pod);
            }
        }
    }

    fn strays(&self) -> impl Iterator<Item = &Pod> {
        let strays = self.strays.iter().copied();
        strays.filter(|pod| !self.status.nodes.contains_key(&pod.node_id))
    }

    /// Whether there are such pods of a node, or of something inside of it.
    pub(super) fn has_strays(&self, name: &str) -> bool {
        self.strays().any(|pod| is_below(&pod.node_name, name))
    }

    fn count_active_strays(&self, boundary: Option<&str>) -> usize {
        let running = self.strays().filter(|pod| !pod.has_ended());
        let around = match boundary.map(|id| self.status.nodes.get(id)) {
            Some(None) => return 0,
            Some(Some(node)) => node.name.as_str(),
            None => self.name.as_str(),
        };
        running.filter(|pod| is_below(&pod.node_name, around)).count()
    }
}

/// Whether a node is the other one or something inside of it, as their names tell.
pub(super) fn is_below(name: &str, around: &str) -> bool {
    name.strip_prefix(around)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '(']))
}

fn is_group(node: &Node) -> bool {
    matches!(node.r#type, NodeType::Steps | NodeType::Dag)
}

/// Under way, and not just waiting for its turn: for a lock, or, where there is no pod, for room to go on after a
/// failure.
fn is_active(node: &Node) -> bool {
    let waiting = node.synchronization_status.as_ref();
    let waits_for_lock = waiting.is_some_and(|status| !status.waiting.is_empty());
    let is_under_way = match node.phase {
        Phase::Running => true,
        Phase::Pending => node.r#type.has_pod(),
        _ => false,
    };
    is_under_way && !waits_for_lock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_inside() {
        for inside in ["w.a", "w.a(0)", "w.a.b", "w.a[0].b(1:x)"] {
            assert!(is_below(inside, "w.a"), "{inside}");
        }
        for outside in ["w.ab", "w.b", "w"] {
            assert!(!is_below(outside, "w.a"), "{outside}");
        }
    }
}
