//! What things are called: labels and annotations, nodes and their ids, pods. All of it as Argo has it,
//! because its clients and its users' scripts go by these names.

pub const API_VERSION: &str = "argoproj.io/v1alpha1";
pub const GROUP: &str = "argoproj.io";
pub const VERSION: &str = "v1alpha1";

pub const WORKFLOW: &str = "workflows.argoproj.io/workflow";
pub const COMPLETED: &str = "workflows.argoproj.io/completed";
pub const PHASE: &str = "workflows.argoproj.io/phase";
pub const ON_EXIT: &str = "workflows.argoproj.io/on-exit";
pub const WORKFLOW_TEMPLATE: &str = "workflows.argoproj.io/workflow-template";
pub const CLUSTER_WORKFLOW_TEMPLATE: &str = "workflows.argoproj.io/cluster-workflow-template";
pub const CRON_WORKFLOW: &str = "workflows.argoproj.io/cron-workflow";
pub const RESUBMITTED_FROM: &str = "workflows.argoproj.io/resubmitted-from-workflow";
/// Which of several controllers a workflow is for; ours looks after those that name none.
pub const INSTANCE: &str = "workflows.argoproj.io/controller-instanceid";
/// ConfigMaps in which results are remembered.
pub const CONFIG_MAP_TYPE: &str = "workflows.argoproj.io/configmap-type";

pub const NODE_NAME: &str = "workflows.argoproj.io/node-name";
pub const NODE_ID: &str = "workflows.argoproj.io/node-id";
/// The locks that a pod was made under; ours, for Argo's pods carry none.
pub const LOCKS: &str = "trainyard.dev/locks";
pub const POD_NAME_FORMAT: &str = "workflows.argoproj.io/pod-name-format";
pub const SCHEDULED_TIME: &str = "workflows.argoproj.io/scheduled-time";
pub const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// The user's container, whatever name they gave it.
pub const MAIN: &str = "main";

/// No more of a pod's name than this is made of names that users chose.
const LONGEST_PREFIX: usize = 242;

/// The id of a node: that of the workflow itself, or the workflow's name and a hash of the node's.
pub fn node_id(workflow: &str, node_name: &str) -> String {
    if workflow == node_name {
        return workflow.to_owned();
    }
    format!("{workflow}-{}", fnv(node_name))
}

/// The name of a node's pod.
pub fn pod_name(workflow: &str, node_name: &str, template: &str) -> String {
    if workflow == node_name {
        return workflow.to_owned();
    }
    let mut prefix = match template {
        "" => workflow.to_owned(),
        template => format!("{workflow}-{template}"),
    };
    if prefix.len() > LONGEST_PREFIX {
        let cut = (0..=LONGEST_PREFIX).rev().find(|at| prefix.is_char_boundary(*at));
        prefix.truncate(cut.unwrap_or_default());
    }
    format!("{prefix}-{}", fnv(node_name))
}

/// What people are shown: the name without that of the node around it.
pub fn display_name(node_name: &str, boundary: Option<&str>) -> String {
    let Some(boundary) = boundary else {
        return node_name.to_owned();
    };
    let rest = node_name.strip_prefix(boundary).unwrap_or(node_name);
    // `[0].step` and `.task`; `[0]` alone is a group and keeps it.
    let after_index = rest
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .filter(|(index, _)| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|(_, rest)| rest.strip_prefix('.'));
    let shown = after_index.or_else(|| rest.strip_prefix('.')).unwrap_or(rest);
    shown.to_owned()
}

pub(crate) fn group(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}

pub(crate) fn child(parent: &str, name: &str) -> String {
    format!("{parent}.{name}")
}

pub(crate) fn attempt(node: &str, number: usize) -> String {
    format!("{node}({number})")
}

pub(crate) fn on_exit(node: &str) -> String {
    format!("{node}.onExit")
}

pub(crate) fn hook(node: &str, hook: &str) -> String {
    format!("{node}.hooks.{hook}")
}

/// The 32-bit FNV-1a hash of a text.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_argo() {
        for (workflow, name, id) in [
            ("steps-x", "steps-x", "steps-x"),
            ("steps-x", "steps-x[0].hello1", "steps-x-2543571026"),
            ("dag-x", "dag-x.A", "dag-x-3728133227"),
            ("loop-x", "loop-x[0].print(0:hello world)", "loop-x-1895140042"),
            ("retry-x", "retry-x(0)", "retry-x-21222343"),
            ("wf-x", "wf-x.onExit", "wf-x-2360040372"),
            ("wf-x", "wf-x.hooks.running", "wf-x-3144183850"),
        ] {
            assert_eq!(node_id(workflow, name), id);
        }
    }

    #[test]
    fn pods_are_named_by_workflow_template_and_hash() {
        assert_eq!(pod_name("w", "w", "t"), "w");
        assert_eq!(pod_name("dag-x", "dag-x.A", "echo"), "dag-x-echo-3728133227");
        assert_eq!(pod_name("dag-x", "dag-x.A", ""), "dag-x-3728133227");
        assert!(pod_name("w", "w.a", &"t".repeat(300)).len() <= 253);
    }

    #[test]
    fn shown_names_leave_out_what_is_around() {
        assert_eq!(display_name("w[0].step(1:a)", Some("w")), "step(1:a)");
        assert_eq!(display_name("w.A", Some("w")), "A");
        assert_eq!(display_name("w[1]", Some("w")), "[1]");
        assert_eq!(display_name("w.A(0)", Some("w.A")), "(0)");
        assert_eq!(display_name("w.onExit", None), "w.onExit");
    }
}
