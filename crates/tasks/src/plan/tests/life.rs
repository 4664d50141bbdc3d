//! What a task is made of, how it runs, and how it ends by itself.

use super::*;

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
