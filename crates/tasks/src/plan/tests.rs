use proptest::prelude::*;
use resources::tasks::{ClaimPolicy, NodeGroupSpec, Revision, TaskSpec, names::FINALIZER};
use serde_json::{Map, Value, json};

use super::*;

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn job() -> Child {
    Child {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "t".to_owned(),
    }
}

fn claim() -> Child {
    Child {
        api_version: "v1".to_owned(),
        kind: "PersistentVolumeClaim".to_owned(),
        name: "t".to_owned(),
    }
}

fn task() -> Task {
    Task {
        namespace: "n".to_owned(),
        name: "t".to_owned(),
        uid: "u".to_owned(),
        finalizers: vec![FINALIZER.to_owned()],
        ..Task::default()
    }
}

fn with_callback(mut task: Task) -> Task {
    let values = json!({"endpoints": [{"endpoint": "s3://x", "type": "dataset"},
        {"endpoint": "http://localhost/cb", "type": "event"}]});
    let Value::Object(values) = values else {
        panic!("an object")
    };
    task.spec.values = values;
    task
}

fn ready() -> Prepared {
    Prepared::Ready {
        pinned: Pinned {
            definition: Revision {
                name: "d".to_owned(),
                revision: "d-1".to_owned(),
            },
            template: Revision {
                name: "c".to_owned(),
                revision: "c-1".to_owned(),
            },
            claims: None,
        },
        children: vec![claim(), job()],
    }
}

fn run(attempt: i32, state: RunState) -> Run {
    Run {
        child: job(),
        uid: format!("job-{attempt}"),
        is_ours: true,
        attempt,
        is_deleting: false,
        state,
    }
}

/// A world in which everything that is asked for happens.
#[derive(Clone, Debug)]
struct World {
    task: Task,
    seen: Seen,
    second: i64,
    /// How often the job was made.
    jobs_made: i32,
    deliveries: Vec<i64>,
    is_gone: bool,
    claims_kept: Option<bool>,
}

impl World {
    fn of(task: Task) -> Self {
        Self {
            task,
            seen: Seen::default(),
            second: 0,
            jobs_made: 0,
            deliveries: Vec::new(),
            is_gone: false,
            claims_kept: None,
        }
    }

    fn plan(&self) -> Plan {
        plan(&self.task, &self.seen, time(self.second))
    }

    /// Takes the first `steps` writes and steps of a plan, as a process would that ends then.
    fn carry_out(&mut self, most: usize) -> bool {
        let plan = self.plan();
        let mut left = most;
        let mut has_acted = false;
        if plan.status != self.task.status {
            if left == 0 {
                return true;
            }
            left -= 1;
            self.task.status = plan.status;
            has_acted = true;
        }
        for step in plan.steps {
            if left == 0 {
                return true;
            }
            left -= 1;
            has_acted = true;
            self.take(step);
        }
        has_acted
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Hold => self.task.finalizers.push(FINALIZER.to_owned()),
            Step::HideHeaders => {
                let endpoints = self.task.spec.values["endpoints"].as_array_mut().unwrap();
                for endpoint in endpoints {
                    endpoint.as_object_mut().unwrap().remove("headers");
                }
            }
            Step::Prepare => self.seen.prepared = Some(ready()),
            Step::Make => {
                let attempt = self.task.status.attempt;
                if !self.seen.runs.iter().any(|run| run.attempt == attempt) {
                    self.jobs_made += 1;
                    self.seen.runs.push(run(attempt, RunState::Waits));
                }
                self.seen.made = Some(Made::All);
            }
            Step::Stop(targets) => self
                .seen
                .runs
                .retain(|run| !targets.iter().any(|target| target.uid == run.uid)),
            Step::Announce { from } => {
                for event in self
                    .task
                    .status
                    .events
                    .iter()
                    .filter(|event| event.sequence >= from)
                {
                    if !self.deliveries.contains(&event.sequence) {
                        self.deliveries.push(event.sequence);
                    }
                    self.seen.announced = event.sequence;
                }
            }
            Step::Release { keep_claims } => {
                self.claims_kept = Some(keep_claims);
                self.is_gone = true;
            }
            Step::Delete => self.task.deleted_at = Some(time(self.second)),
        }
    }

    /// What is only remembered by a process is forgotten.
    fn restart(&mut self) {
        self.seen.prepared = None;
        self.seen.made = None;
        self.seen.announced = 0;
    }

    /// Until nothing is left to do.
    fn settle(&mut self) -> &mut Self {
        for _ in 0..50 {
            if self.is_gone || !self.carry_out(usize::MAX) {
                self.restart();
                return self;
            }
        }
        panic!("it does not come to rest: {self:#?}");
    }

    fn job_is(&mut self, state: RunState) -> &mut Self {
        self.seen.runs.last_mut().unwrap().state = state;
        self
    }

    fn phase(&self) -> Phase {
        self.task.status.phase
    }

    fn events(&self) -> Vec<&str> {
        self.task
            .status
            .events
            .iter()
            .map(|event| event.kind.as_str())
            .collect()
    }
}

fn succeeded() -> RunState {
    RunState::Succeeded { at: Some(time(90)) }
}

fn failed() -> RunState {
    RunState::Failed {
        at: None,
        reason: "BackoffLimitExceeded".to_owned(),
        message: String::new(),
    }
}

#[test]
fn a_task_is_made_runs_and_ends_and_every_phase_is_told_once() {
    let mut world = World::of(with_callback(task()));
    world.settle();
    assert_eq!(world.phase(), Phase::Pending);
    assert_eq!(world.task.status.children, [claim(), job()]);
    world.job_is(RunState::Runs).settle();
    assert_eq!(world.phase(), Phase::Running);
    world.job_is(succeeded()).settle();
    assert_eq!(world.phase(), Phase::Succeeded);
    assert_eq!(world.events(), ["task.pending", "task.running", "task.succeeded"]);
    assert_eq!(world.deliveries, [1, 2, 3]);
    assert_eq!(world.task.status.completion_time, Some(time(90)));
    assert_eq!(world.jobs_made, 1);
    assert_eq!(world.task.status.outputs[0].kind, "claim");
}

#[test]
fn what_is_gone_after_it_ended_has_ended() {
    let mut world = World::of(task());
    world.settle();
    world.job_is(RunState::Runs).settle();
    // It ends and goes before anybody looks.
    world.job_is(succeeded());
    world.seen.ended = std::mem::take(&mut world.seen.runs);
    world.settle();
    assert_eq!(world.phase(), Phase::Succeeded);
    assert_eq!(world.task.status.completion_time, Some(time(90)));
    // And stays so for whoever remembers nothing of it.
    world.seen.ended.clear();
    world.settle();
    assert_eq!((world.phase(), world.jobs_made), (Phase::Succeeded, 1));
}

#[test]
fn the_end_of_an_earlier_attempt_is_not_that_of_this_one() {
    let mut world = World::of(task());
    world.settle();
    world.job_is(failed()).settle();
    world.seen.ended.clone_from(&world.seen.runs);
    world.task.spec.attempt = Some(2);
    world.settle();
    assert_eq!((world.phase(), world.jobs_made), (Phase::Pending, 2));
    world.seen.runs.clear();
    world.settle();
    assert_eq!(world.task.status.reason, "Deleted");
}

#[test]
fn what_was_intended_is_written_before_it_is_done() {
    let mut world = World::of(task());
    world.carry_out(usize::MAX);
    let plan = world.plan();
    assert_eq!(plan.steps, [Step::Make]);
    assert!(plan.status.pinned.is_some());
    assert_eq!(plan.status.children, [claim(), job()]);
    assert_eq!(plan.status.made, 0);
}

#[test]
fn a_task_that_refers_to_nothing_waits_and_one_that_cannot_be_rendered_fails() {
    let mut world = World::of(task());
    let waits = Prepared::Waits {
        reason: "DefinitionNotFound".to_owned(),
        message: "no".to_owned(),
    };
    world.seen.prepared = Some(waits);
    let plan = world.plan();
    assert_eq!(
        (plan.status.phase, plan.status.reason.as_str()),
        (Phase::Pending, "DefinitionNotFound")
    );
    assert!(plan.wake_at.is_some());
    let broken = Prepared::Broken {
        reason: "RenderFailed".to_owned(),
        message: "line 3".to_owned(),
    };
    world.seen.prepared = Some(broken);
    let plan = world.plan();
    assert_eq!(
        (plan.status.phase, plan.status.reason.as_str()),
        (Phase::Failed, "RenderFailed")
    );
    assert_eq!(plan.status.attempts[0].message, "line 3");
}

#[test]
fn a_cancelled_task_is_stopped_before_it_is_said_to_be_cancelled() {
    let mut world = World::of(task());
    world.settle();
    world.job_is(RunState::Runs).settle();
    world.task.spec.cancelled = true;
    let plan = world.plan();
    assert_eq!(
        (plan.status.phase, plan.status.reason.as_str()),
        (Phase::Running, "Cancelling")
    );
    assert!(matches!(&plan.steps[..], [Step::Stop(_)]));
    world.settle();
    assert_eq!(world.phase(), Phase::Cancelled);
    assert!(world.seen.runs.is_empty());
    assert_eq!(world.jobs_made, 1);
}

#[test]
fn one_that_was_cancelled_before_it_was_seen_makes_nothing() {
    let mut world = World::of(task());
    world.task.spec.cancelled = true;
    world.settle();
    assert_eq!((world.phase(), world.jobs_made), (Phase::Cancelled, 0));
}

#[test]
fn one_that_has_ended_cannot_be_cancelled() {
    let mut world = World::of(task());
    world.settle();
    world.job_is(succeeded()).settle();
    world.task.spec.cancelled = true;
    world.settle();
    assert_eq!(world.phase(), Phase::Succeeded);
}

#[test]
fn a_retry_replaces_what_ran_and_keeps_what_it_was_made_of() {
    let mut world = World::of(task());
    world.settle();
    let pinned = world.task.status.pinned.clone();
    world.job_is(failed()).settle();
    assert_eq!(world.phase(), Phase::Failed);
    world.task.spec.attempt = Some(2);
    world.settle();
    assert_eq!((world.phase(), world.task.status.attempt), (Phase::Pending, 2));
    assert_eq!(world.seen.runs.len(), 1);
    assert_eq!(world.seen.runs[0].attempt, 2);
    world.job_is(succeeded()).settle();
    assert_eq!(world.phase(), Phase::Succeeded);
    assert_eq!(world.task.status.pinned, pinned);
    let phases: Vec<Phase> = world
        .task
        .status
        .attempts
        .iter()
        .map(|attempt| attempt.phase)
        .collect();
    assert_eq!(phases, [Phase::Failed, Phase::Succeeded]);
    assert_eq!(
        world.events(),
        ["task.pending", "task.failed", "task.pending", "task.succeeded"]
    );
}

#[test]
fn a_retry_of_one_that_runs_waits_for_its_end() {
    let mut world = World::of(task());
    world.settle();
    world.job_is(RunState::Runs).settle();
    world.task.spec.attempt = Some(2);
    world.settle();
    assert_eq!((world.phase(), world.task.status.attempt), (Phase::Running, 1));
}

#[test]
fn a_deleted_task_stops_what_runs_tells_of_it_and_goes() {
    let mut world = World::of(with_callback(task()));
    world.settle();
    world.job_is(RunState::Runs).settle();
    world.task.deleted_at = Some(time(5));
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.events().last(), Some(&"task.deleted"));
    assert_eq!(world.deliveries, [1, 2, 3]);
    assert_eq!(world.claims_kept, Some(true));
}

#[test]
fn claims_go_where_the_task_or_its_template_says_so() {
    for (own, of_template, kept) in [
        (None, None, true),
        (None, Some(ClaimPolicy::Delete), false),
        (Some(ClaimPolicy::Keep), Some(ClaimPolicy::Delete), true),
        (Some(ClaimPolicy::Delete), None, false),
    ] {
        let mut task = task();
        task.spec.claims = own;
        assert_eq!(task.keeps_claims(of_template), kept);
    }
}

#[test]
fn a_task_whose_time_is_over_is_deleted_once_it_is_told_of() {
    let mut world = World::of(with_callback(task()));
    world.task.spec.ttl_seconds_after_finished = Some(60);
    world.settle();
    world.job_is(succeeded()).settle();
    assert_eq!(world.plan().wake_at, Some(time(150)));
    world.second = 151;
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.deliveries.len(), 3);
}

#[test]
fn a_job_that_somebody_deletes_is_a_failure_and_not_made_again() {
    let mut world = World::of(task());
    world.settle();
    world.seen.runs.clear();
    world.settle();
    assert_eq!(
        (world.phase(), world.task.status.reason.as_str()),
        (Phase::Failed, "Deleted")
    );
    assert_eq!(world.jobs_made, 1);
}

#[test]
fn what_has_the_name_and_is_not_ours_is_left_alone() {
    let mut world = World::of(task());
    let mut foreign = run(0, RunState::Runs);
    foreign.is_ours = false;
    world.seen.runs.push(foreign);
    world.seen.prepared = Some(ready());
    world.seen.made = Some(Made::Refused {
        reason: "NameTaken".to_owned(),
        message: "no".to_owned(),
    });
    let plan = world.plan();
    assert_eq!(plan.status.phase, Phase::Failed);
    assert!(!plan.steps.iter().any(|step| matches!(step, Step::Stop(_))));
}

#[test]
fn headers_are_hidden_before_anything_else() {
    let mut world = World::of(with_callback(task()));
    world.task.spec.values["endpoints"][1]["headers"] = json!({"x-api-key": "k"});
    assert_eq!(world.plan().steps, [Step::HideHeaders]);
    world.settle();
    assert!(!world.task.shows_headers());
}

#[test]
fn the_exit_code_and_last_words_of_a_failed_pod_are_told() {
    let mut world = World::of(task());
    world.settle();
    world.seen.pods.push(Pod {
        name: "t-x".to_owned(),
        attempt: 1,
        phase: "Failed".to_owned(),
        failure: Some((3, "Error".to_owned(), "no such dataset".to_owned())),
        started_at: Some(time(4)),
        ..Pod::default()
    });
    world.job_is(failed()).settle();
    let status = &world.task.status;
    assert_eq!(status.reason, "BackoffLimitExceeded");
    assert!(status.message.contains("exit code 3") && status.message.contains("no such dataset"));
    assert_eq!(status.attempts[0].exit_code, Some(3));
    assert_eq!(status.start_time, Some(time(4)));
}

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

/// Something that happens to a task from outside.
#[derive(Clone, Copy, Debug)]
enum Happening {
    JobRuns,
    JobSucceeds,
    JobFails,
    Cancel,
    Retry,
    Delete,
    /// The process is killed after so many writes, and another begins.
    Killed(usize),
    TimePasses,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        Just(Happening::JobRuns),
        Just(Happening::JobSucceeds),
        Just(Happening::JobFails),
        Just(Happening::Cancel),
        Just(Happening::Retry),
        Just(Happening::Delete),
        (0_usize..4).prop_map(Happening::Killed),
        Just(Happening::TimePasses),
    ]
}

fn happen(world: &mut World, happening: Happening) {
    let over = world.seen.runs.last().is_some_and(|run| run.state.is_over());
    match happening {
        Happening::JobRuns if !over && !world.seen.runs.is_empty() => drop(world.job_is(RunState::Runs)),
        Happening::JobSucceeds if !over && !world.seen.runs.is_empty() => drop(world.job_is(succeeded())),
        Happening::JobFails if !over && !world.seen.runs.is_empty() => drop(world.job_is(failed())),
        Happening::Cancel => world.task.spec.cancelled = true,
        Happening::Retry => {
            world.task.spec.cancelled = false;
            world.task.spec.attempt = Some(world.task.status.attempt + 1);
        }
        Happening::Delete => world.task.deleted_at = Some(time(world.second)),
        Happening::Killed(after) => {
            for _ in 0..3 {
                world.carry_out(after);
            }
            world.restart();
        }
        Happening::TimePasses => world.second += 30,
        _ => {}
    }
}

proptest! {
    #[test]
    fn whatever_happens_it_comes_to_rest_and_runs_once_an_attempt(
        happenings in proptest::collection::vec(happening(), 0..14),
        settles in proptest::collection::vec(any::<bool>(), 14),
    ) {
        let mut world = World::of(with_callback(task()));
        for (happening, settles) in happenings.into_iter().zip(settles) {
            if world.is_gone {
                break;
            }
            happen(&mut world, happening);
            if settles && !world.is_gone {
                world.settle();
            }
        }
        if !world.is_gone {
            world.settle();
        }
        let status = &world.task.status;
        // One job an attempt at most, and no event twice, unannounced or out of order.
        prop_assert!(world.jobs_made <= status.attempt);
        let sequences: Vec<i64> = status.events.iter().map(|event| event.sequence).collect();
        prop_assert_eq!(&world.deliveries, &sequences);
        prop_assert_eq!(&sequences, &(1..=sequences.len() as i64).collect::<Vec<_>>());
        for pair in status.events.windows(2) {
            prop_assert!(pair[0].kind != pair[1].kind || pair[0].attempt != pair[1].attempt, "{pair:?}");
        }
        if status.phase.is_final() {
            prop_assert!(status.completion_time.is_some());
            prop_assert!(status.attempts.last().is_some_and(|attempt| attempt.ended_at.is_some()));
        }
        prop_assert!(world.seen.runs.iter().filter(|run| !run.state.is_over()).count() <= 1);
    }
}

#[test]
fn values_of_any_shape_have_endpoints_or_none() {
    for values in [
        json!({}),
        json!({"endpoints": 3}),
        json!({"endpoints": [3, {"type": "event"}]}),
    ] {
        let Value::Object(values) = values else {
            panic!("an object")
        };
        assert!(endpoints(&values).is_empty());
    }
    assert!(endpoints(&Map::new()).is_empty());
    let read = Task::read(&json!({"metadata": {"name": "x"}, "spec": {"values": {}}})).unwrap();
    assert_eq!(read.spec, TaskSpec::default());
}
