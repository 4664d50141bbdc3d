//! What people ask of a task: to be cancelled, tried again, deleted.

use resources::tasks::ClaimPolicy;

use super::*;

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
