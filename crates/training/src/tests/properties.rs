//! Pods end as their scripts say; everything else is chance: when they end, when the operator looks,
//! after how many steps it dies, how the clock jumps.

use proptest::prelude::*;

use super::{jax, pytorch};
use crate::{
    observed::Phase,
    simulation::{World, end},
};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The operator looks, and dies after so many steps.
    Look(usize),
    /// The pod at this place goes on with its life.
    Advance(usize),
    /// Pods that were asked to stop are gone.
    Bury,
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6usize).prop_map(Step::Look),
        2 => Just(Step::Look(usize::MAX)),
        6 => (0..4usize).prop_map(Step::Advance),
        2 => Just(Step::Bury),
        1 => (-5..400i64).prop_map(Step::Wait),
    ]
}

/// How each attempt of each worker ends; after its script a worker succeeds.
type Scripts = Vec<Vec<i32>>;

fn scripts() -> impl Strategy<Value = Scripts> {
    let code = prop_oneof![6 => Just(137), 2 => Just(143), 1 => Just(1)];
    prop::collection::vec(prop::collection::vec(code, 0..3), 3)
}

struct Story {
    world: World,
    scripts: Scripts,
    attempts: Vec<usize>,
}

impl Story {
    fn advance(&mut self, place: usize, container: &str, role: &str) {
        let name = format!("j-{role}-{place}");
        let Some(script) = self.scripts.get(place) else {
            return;
        };
        let code = script.get(self.attempts[place]).copied().unwrap_or(0);
        let Some(pod) = self.world.observed.pods.iter_mut().find(|pod| pod.name == name) else {
            return;
        };
        match pod.phase {
            _ if pod.deleted.is_some() => {}
            Phase::Pending => pod.phase = Phase::Running,
            Phase::Running => {
                end(pod, container, code);
                self.attempts[place] += 1;
            }
            Phase::Succeeded | Phase::Failed => {}
        }
    }

    fn run(&mut self, steps: &[Step], container: &str, role: &str) {
        for step in steps {
            match step {
                Step::Look(stop) => {
                    let plan = self.world.plan();
                    self.world.apply(&plan, *stop);
                }
                Step::Advance(place) => self.advance(*place, container, role),
                Step::Bury => self.world.bury(),
                Step::Wait(seconds) => self.world.wait(*seconds),
            }
        }
    }

    /// Everybody does what is left to do, and nobody dies any more.
    fn conclude(&mut self, container: &str, role: &str) {
        for _ in 0..60 {
            self.world.settle();
            if !self.world.job["status"]["completionTime"].is_null() {
                return;
            }
            for place in 0..self.scripts.len() {
                self.advance(place, container, role);
            }
            self.world.wait(301);
        }
        self.world.settle();
    }
}

fn story(yaml: &str, scripts: Scripts) -> Story {
    let attempts = vec![0; scripts.len()];
    Story {
        world: World::new(yaml),
        scripts,
        attempts,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_end_does_not_depend_on_the_order_of_things(
        scripts in scripts(),
        limit in 0..6usize,
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let failures: usize = scripts.iter().map(Vec::len).sum();
        let is_permanent = scripts.iter().flatten().any(|code| *code < 128);
        let expected = if is_permanent || failures > limit { "Failed" } else { "Succeeded" };
        let policy = format!("  runPolicy: {{backoffLimit: {limit}}}\n");
        let mut story = story(&jax("Worker:3:ExitCode", &policy), scripts);
        story.run(&steps, "jax", "worker");
        story.conclude("jax", "worker");
        let conditions = story.world.conditions();
        prop_assert!(conditions.ends_with(expected), "{conditions} instead of {expected}");
        prop_assert!(story.world.made <= 3 + limit, "{} pods with {limit} restarts", story.world.made);
        prop_assert!(!story.world.job["status"]["completionTime"].is_null());
    }

    #[test]
    fn a_gang_never_restarts_over_its_budget_and_always_ends(
        scripts in scripts(),
        limit in 0..4usize,
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let policy = format!("  runPolicy: {{backoffLimit: {limit}}}\n");
        let yaml = pytorch("Worker:3:ExitCode", &policy)
            .replace("{name: j}", "{name: j, annotations: {trainyard.dev/gang-restart: \"true\"}}");
        let mut story = story(&yaml, scripts);
        story.run(&steps, "pytorch", "worker");
        story.conclude("pytorch", "worker");
        let conditions = story.world.conditions();
        prop_assert!(conditions.ends_with("Failed") || conditions.ends_with("Succeeded"), "{conditions}");
        prop_assert!(story.world.made <= 3 * (1 + limit), "{} pods with {limit} restarts", story.world.made);
    }
}
