//! What a task that waits says of it.

use resources::tasks::NodeGroupSpec;

use super::*;

fn waiting_pod(message: &str) -> Pod {
    Pod {
        name: "t-x".to_owned(),
        uid: "p".to_owned(),
        attempt: 1,
        phase: "Pending".to_owned(),
        unscheduled: Some(("Unschedulable".to_owned(), message.to_owned())),
        node_selector: [("kops.k8s.io/dl-instance".to_owned(), "true".to_owned())].into(),
        devices: [("nvidia.com/gpu".to_owned(), 1)].into(),
        ..Pod::default()
    }
}

fn gpu_group(nodes: i32, gpus: i64) -> NodeGroup {
    NodeGroup {
        name: "dl".to_owned(),
        spec: NodeGroupSpec {
            selector: [("kops.k8s.io/dl-instance".to_owned(), "true".to_owned())].into(),
            max_nodes: Some(4),
            boot_seconds: Some(240),
            ..NodeGroupSpec::default()
        },
        nodes,
        ready: nodes,
        devices: [("nvidia.com/gpu".to_owned(), gpus)].into(),
    }
}

fn waits_for(group: NodeGroup, message: &str, hint: Option<(&str, &str, &str)>) -> resources::tasks::Waiting {
    let mut world = World::of(task());
    world.settle();
    world.seen.pods.push(waiting_pod(message));
    world.seen.groups.push(group);
    world
        .seen
        .hints
        .extend(hint.map(|(reporter, reason, message)| Hint {
            pod_uid: "p".to_owned(),
            reporter: reporter.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }));
    let plan = world.plan();
    assert_eq!(plan.status.phase, Phase::Pending);
    plan.status.waiting.unwrap()
}

#[test]
fn a_pending_task_says_which_group_it_waits_for_and_why() {
    let unmatched = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.";
    let waiting = waits_for(gpu_group(0, 0), unmatched, None);
    assert_eq!(
        (waiting.code.as_str(), waiting.node_group.as_deref()),
        ("NoNodes", Some("dl"))
    );
    let insufficient = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
    let waiting = waits_for(gpu_group(1, 0), insufficient, None);
    assert_eq!(waiting.code, "TooFewDevices");
    assert!(
        waiting.message.contains("1 nvidia.com/gpu"),
        "{}",
        waiting.message
    );
    let waiting = waits_for(gpu_group(1, 1), insufficient, None);
    assert_eq!(
        (waiting.code.as_str(), waiting.node_group.as_deref()),
        ("Insufficient", Some("dl"))
    );
}

#[test]
fn what_autoscalers_say_is_understood() {
    let unmatched = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.";
    for (reporter, reason, message, code) in [
        (
            "cluster-autoscaler",
            "TriggeredScaleUp",
            "pod triggered scale-up: [{dl 0->1 (max: 4)}]",
            "ScalingUp",
        ),
        (
            "karpenter",
            "Nominated",
            "Pod should schedule on: nodeclaim/gpu-x2x",
            "ScalingUp",
        ),
        (
            "cluster-autoscaler",
            "NotTriggerScaleUp",
            "pod didn't trigger scale-up: 1 max node group size reached",
            "AtMaximum",
        ),
        (
            "cluster-autoscaler",
            "NotTriggerScaleUp",
            "pod didn't trigger scale-up: 1 Insufficient memory",
            "CannotScale",
        ),
        (
            "karpenter",
            "FailedScheduling",
            "Failed to schedule pod, incompatible requirements",
            "CannotScale",
        ),
        ("default-scheduler", "FailedScheduling", unmatched, "NoNodes"),
    ] {
        let waiting = waits_for(gpu_group(0, 0), unmatched, Some((reporter, reason, message)));
        assert_eq!(waiting.code, code, "{reason}");
        assert_eq!(waiting.node_group.as_deref(), Some("dl"), "{reason}");
    }
    let waiting = waits_for(
        gpu_group(0, 0),
        unmatched,
        Some(("cluster-autoscaler", "TriggeredScaleUp", "[{dl 0->1 (max: 4)}]")),
    );
    assert!(waiting.message.contains("4 min"), "{}", waiting.message);
}

#[test]
fn a_task_without_a_pod_that_waits_says_what_became_of_those_it_had() {
    let mut world = World::of(task());
    world.settle();
    let told = |pods: &[(&str, &str, Option<i32>, bool)]| {
        let mut world = world.clone();
        let pods = pods.iter().map(|(name, phase, code, is_deleting)| Pod {
            name: (*name).to_owned(),
            attempt: 1,
            phase: (*phase).to_owned(),
            failure: code.map(|code| (code, "Error".to_owned(), String::new())),
            is_deleting: *is_deleting,
            ..Pod::default()
        });
        world.seen.pods.extend(pods);
        world.plan().status.waiting.unwrap().message
    };
    assert_eq!(told(&[]), "its pods are not made yet");
    let failed = ("t-2", "Failed", Some(3), false);
    let after = "; what follows upon that is not decided yet";
    assert_eq!(
        told(&[("t-1", "Succeeded", None, false), failed]),
        format!("pod t-2 has ended with exit code 3{after}")
    );
    assert_eq!(
        told(&[("t-1", "Succeeded", None, false)]),
        format!("pod t-1 has succeeded{after}")
    );
    assert_eq!(
        told(&[("t-1", "Failed", None, true)]),
        format!("pod t-1 has failed{after}")
    );
    assert_eq!(
        told(&[("t-1", "Pending", None, true)]),
        "its pods are being deleted"
    );
}

#[test]
fn how_long_it_waits_is_counted_from_when_the_reason_began() {
    let mut world = World::of(task());
    world.settle();
    world
        .seen
        .pods
        .push(waiting_pod("0/1 nodes are available: 1 Insufficient cpu."));
    world.second = 10;
    world.settle();
    world.second = 50;
    world.settle();
    assert_eq!(world.task.status.waiting.as_ref().unwrap().since, Some(time(10)));
    world.job_is(RunState::Runs).settle();
    assert_eq!(world.task.status.waiting, None);
}
