//! Why a task waits, for which group of nodes, and what can be done about it.

use std::collections::BTreeMap;

use resources::tasks::{NodeGroupSpec, Waiting};

use super::{Draft, Pod, Seen};

/// A group of nodes, and what there is of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeGroup {
    pub name: String,
    pub spec: NodeGroupSpec,
    pub nodes: i32,
    pub ready: i32,
    /// The most one of its nodes has of each resource that is counted in pieces.
    pub devices: BTreeMap<String, i64>,
}

/// What somebody said of a pod that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    pub pod_uid: String,
    pub reason: String,
    pub message: String,
    /// `cluster-autoscaler`, `karpenter`, `default-scheduler`.
    pub reporter: String,
}

pub(super) const CODE_NO_POD: &str = "CreatingPods";

/// Whether nobody tells us when it changes: it is in events, or in the state of nodes.
pub(super) fn is_told_by_others(waiting: &Waiting) -> bool {
    !matches!(waiting.code.as_str(), CODE_NO_POD | "Starting" | "Pulling")
}

/// What the task of a draft waits for now, and since when.
pub(super) fn explain(draft: &Draft, seen: &Seen) -> Waiting {
    let attempt = draft.status.attempt;
    let mut pods: Vec<&Pod> = seen
        .pods
        .iter()
        .filter(|pod| pod.attempt == attempt && pod.phase == "Pending" && !pod.is_deleting)
        .collect();
    pods.sort_by(|one, other| one.name.cmp(&other.name));
    // One without a place says more than one that is about to start.
    let first = pods
        .iter()
        .find(|pod| pod.unscheduled.is_some())
        .or_else(|| pods.first());
    let mut waiting = match first {
        None => {
            let others = seen.pods.iter().filter(|pod| pod.attempt == attempt);
            waiting(CODE_NO_POD, None, without_pod(&others.collect::<Vec<_>>()), "")
        }
        Some(pod) => of_pod(pod, seen),
    };
    let before = draft.status.waiting.as_ref();
    let same = before.filter(|before| before.code == waiting.code && before.node_group == waiting.node_group);
    waiting.since = same.and_then(|before| before.since).or(Some(draft.now));
    waiting
}

/// No pod waits or runs: none was made so far, or those that were are over.
fn without_pod(pods: &[&Pod]) -> String {
    let mut ended: Vec<&&Pod> = pods
        .iter()
        .filter(|pod| matches!(pod.phase.as_str(), "Succeeded" | "Failed"))
        .collect();
    // A failure says more than a success.
    ended.sort_by_key(|pod| (pod.phase == "Succeeded", pod.name.as_str()));
    let Some(pod) = ended.first() else {
        return if pods.iter().any(|pod| pod.is_deleting) {
            "its pods are being deleted".to_owned()
        } else {
            "its pods are not made yet".to_owned()
        };
    };
    let end = match &pod.failure {
        Some((code, ..)) => format!("has ended with exit code {code}"),
        None if pod.phase == "Succeeded" => "has succeeded".to_owned(),
        None => "has failed".to_owned(),
    };
    format!(
        "pod {} {end}; what follows upon that is not decided yet",
        pod.name
    )
}

fn waiting(code: &str, group: Option<&NodeGroup>, message: impl Into<String>, next_step: &str) -> Waiting {
    Waiting {
        code: code.to_owned(),
        node_group: group.map(|group| group.name.clone()),
        since: None,
        message: message.into(),
        next_step: next_step.to_owned(),
    }
}

fn of_pod(pod: &Pod, seen: &Seen) -> Waiting {
    if let Some((reason, message)) = &pod.unscheduled {
        return unscheduled(pod, reason, message, seen);
    }
    match &pod.held_up {
        Some((reason, message)) => held_up(reason, message),
        None => waiting("Starting", None, "its pod has a node and is being started", ""),
    }
}

fn held_up(reason: &str, message: &str) -> Waiting {
    let said = |words: &str| {
        if message.is_empty() {
            words.to_owned()
        } else {
            format!("{words}: {message}")
        }
    };
    match reason {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "RegistryUnavailable" => {
            let next = "check the image's repository and tag, and whether the cluster may pull it";
            waiting("ImageError", None, said("the image cannot be pulled"), next)
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            let next = "check what the template mounts and refers to";
            waiting("ContainerError", None, said("the container cannot be made"), next)
        }
        "CrashLoopBackOff" => {
            let next = "read the task's log";
            waiting(
                "CrashLoop",
                None,
                said("its container ends again and again"),
                next,
            )
        }
        "Pulling" => waiting("Pulling", None, said("the image is being pulled"), ""),
        _ => waiting(
            "Starting",
            None,
            said("its pod has a node and is being started"),
            "",
        ),
    }
}

fn unscheduled(pod: &Pod, reason: &str, message: &str, seen: &Seen) -> Waiting {
    if reason == "SchedulingGated" {
        return waiting("Queued", None, "its pods wait to be admitted by a queue", "");
    }
    let group = group_of(pod, &seen.groups);
    let hints = seen.hints.iter().filter(|hint| hint.pod_uid == pod.uid);
    // The last word counts.
    if let Some(told) = hints.rev().find_map(|hint| of_hint(hint, group)) {
        return told;
    }
    of_message(pod, message, group)
}

/// The group whose labels the pod asks for; of several the one with the most.
fn group_of<'a>(pod: &Pod, groups: &'a [NodeGroup]) -> Option<&'a NodeGroup> {
    let asks_for = |group: &&NodeGroup| {
        let mut labels = group.spec.selector.iter();
        !group.spec.selector.is_empty()
            && labels.all(|(name, value)| pod.node_selector.get(name) == Some(value))
    };
    let candidates = groups.iter().filter(asks_for);
    candidates.max_by_key(|group| (group.spec.selector.len(), std::cmp::Reverse(group.name.clone())))
}

/// What cluster autoscaler and Karpenter say in events of pods.
fn of_hint(hint: &Hint, group: Option<&NodeGroup>) -> Option<Waiting> {
    let is_karpenter = hint.reporter.contains("karpenter");
    match hint.reason.as_str() {
        "TriggeredScaleUp" => Some(scaling_up(group, &hint.message)),
        "Nominated" if is_karpenter || hint.message.contains("nodeclaim") => {
            Some(scaling_up(group, &hint.message))
        }
        "NotTriggerScaleUp" if is_at_maximum(hint, group) => {
            let next = "wait until a node is free, or ask for a larger maximum";
            Some(waiting(
                "AtMaximum",
                group,
                at_maximum(group, &hint.message),
                next,
            ))
        }
        "NotTriggerScaleUp" => Some(cannot_scale(group, &hint.message)),
        "FailedScheduling" if is_karpenter => Some(cannot_scale(group, &hint.message)),
        _ => None,
    }
}

fn scaling_up(group: Option<&NodeGroup>, said: &str) -> Waiting {
    let boot = group.and_then(|group| group.spec.boot_seconds);
    let mut message = format!("a node is being added {}", to_group(group));
    if let Some(seconds) = boot {
        message.push_str(&format!("; that usually takes {}", lasting(seconds)));
    }
    message.push_str(&format!(" ({})", said.trim()));
    waiting("ScalingUp", group, message, "")
}

fn is_at_maximum(hint: &Hint, group: Option<&NodeGroup>) -> bool {
    hint.message.contains("max node group size reached")
        || group.is_some_and(|group| {
            group
                .spec
                .max_nodes
                .is_some_and(|most| most > 0 && group.nodes >= most)
        })
}

fn at_maximum(group: Option<&NodeGroup>, said: &str) -> String {
    match group {
        Some(group) => match group.spec.max_nodes {
            Some(most) => format!(
                "node group {} is at its maximum of {most} nodes ({})",
                group.name,
                said.trim()
            ),
            None => format!("node group {} is at its maximum ({})", group.name, said.trim()),
        },
        None => format!("the groups that would fit are at their maximum ({})", said.trim()),
    }
}

fn cannot_scale(group: Option<&NodeGroup>, said: &str) -> Waiting {
    let next = "ask for less, or for a node group whose nodes have what the task asks for";
    let message = match group {
        Some(group) => format!(
            "a new node of group {} would not help ({})",
            group.name,
            said.trim()
        ),
        None => format!("no new node would help ({})", said.trim()),
    };
    waiting("CannotScale", group, message, next)
}

/// What the scheduler says, held against what is known of the group.
fn of_message(pod: &Pod, message: &str, group: Option<&NodeGroup>) -> Waiting {
    let says = |words: &str| message.contains(words);
    if says("PersistentVolumeClaim") || says("persistentvolumeclaim") || says("volume") {
        let next = "check that the storage class of the task's claim exists";
        return waiting(
            "Volume",
            group,
            format!("its volume is not there yet ({message})"),
            next,
        );
    }
    if let Some(group) = group {
        if group.nodes == 0 {
            return no_nodes(group);
        }
        if let Some((name, wanted)) = pod
            .devices
            .iter()
            .find(|(name, wanted)| !has(group, name, **wanted))
        {
            let most = group.devices.get(name).copied().unwrap_or(0);
            let next = "ask for fewer, or add a node that has them";
            let message = format!(
                "it asks for {wanted} {name}, and a node of group {} has {most}",
                group.name
            );
            return waiting("TooFewDevices", Some(group), message, next);
        }
        if group.ready == 0 {
            let message = format!(
                "none of the {} nodes of group {} is ready",
                group.nodes, group.name
            );
            return waiting(
                "NotReady",
                Some(group),
                message,
                "look at the nodes: `kubectl describe nodes`",
            );
        }
    } else if says("node affinity/selector") || says("node(s) didn't match") {
        let labels: Vec<String> = pod
            .node_selector
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let message = format!("no node has the labels {} ({message})", labels.join(", "));
        let next =
            "label a node, or declare a NodeGroup with these labels so that it can be told what is missing";
        return waiting("SelectorMismatch", None, message, next);
    }
    if says("untolerated taint") || says("had taint") {
        let next = "add tolerations to the NodeGroup, which gives them to its tasks";
        return waiting(
            "Taint",
            group,
            format!("its pods do not tolerate the nodes' taints ({message})"),
            next,
        );
    }
    if says("Insufficient") || says("Too many pods") {
        let next = "wait until something ends, or ask for less";
        return waiting(
            "Insufficient",
            group,
            format!("{} have no room ({message})", nodes_of(group)),
            next,
        );
    }
    waiting(
        "Unschedulable",
        group,
        format!("its pods have no node ({message})"),
        "",
    )
}

fn no_nodes(group: &NodeGroup) -> Waiting {
    let labels: Vec<String> = group
        .spec
        .selector
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let message = format!(
        "node group {} has no nodes: none has the labels {}",
        group.name,
        labels.join(", ")
    );
    let next = if group.spec.max_nodes.is_some_and(|most| most > 0) {
        "an autoscaler that adds the first node must know its labels: check its group's node-template tags"
    } else {
        "add a node with these labels"
    };
    waiting("NoNodes", Some(group), message, next)
}

fn has(group: &NodeGroup, device: &str, wanted: i64) -> bool {
    group.devices.get(device).copied().unwrap_or(0) >= wanted
}

fn to_group(group: Option<&NodeGroup>) -> String {
    group.map_or_else(|| "for it".to_owned(), |group| format!("to group {}", group.name))
}

fn nodes_of(group: Option<&NodeGroup>) -> String {
    group.map_or_else(
        || "the nodes".to_owned(),
        |group| format!("the nodes of group {}", group.name),
    )
}

fn lasting(seconds: i64) -> String {
    if seconds < 120 {
        format!("{seconds} s")
    } else {
        format!("{} min", (seconds + 30) / 60)
    }
}
