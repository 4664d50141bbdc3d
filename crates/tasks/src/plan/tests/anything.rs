//! What holds whatever happens, in any order.

use proptest::prelude::*;
use resources::tasks::TaskSpec;
use serde_json::Map;

use super::*;

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
