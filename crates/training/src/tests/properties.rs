//! Pods end as their scripts say; everything else is chance: when they end, when the operator looks,
//! after how many steps it dies, how the clock jumps.

use proptest::prelude::*;

use super::{jax, job, pytorch, stories, tensorflow};
use crate::{
    observed::Phase,
    simulation::{World, end, is_alive},
};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The operator looks, and dies after so many steps.
    Look(usize),
    /// The pod at this place goes on with its life.
    Advance(usize),
    /// Pods that were asked to stop are gone.
    Bury,
    /// The controller of batch Jobs looks.
    Batch,
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6usize).prop_map(Step::Look),
        2 => Just(Step::Look(usize::MAX)),
        6 => (0..4usize).prop_map(Step::Advance),
        2 => Just(Step::Bury),
        2 => Just(Step::Batch),
        1 => (-5..400i64).prop_map(Step::Wait),
        1 => prop::sample::select(vec![-86_400, 86_400]).prop_map(Step::Wait),
    ]
}

/// How each attempt of each pod ends; after its script a pod succeeds.
type Scripts = Vec<Vec<i32>>;

fn scripts() -> impl Strategy<Value = Scripts> {
    let code = prop_oneof![6 => Just(137), 2 => Just(143), 1 => Just(1)];
    prop::collection::vec(prop::collection::vec(code, 0..3), 3)
}

struct Story {
    world: World,
    container: &'static str,
    /// Pods and how their attempts end.
    scripts: Vec<(String, Vec<i32>)>,
    attempts: Vec<usize>,
}

impl Story {
    fn new(yaml: &str, container: &'static str, names: &[&str], scripts: Scripts) -> Self {
        let names = names.iter().map(|name| format!("j-{name}"));
        let scripts: Vec<(String, Vec<i32>)> = names.zip(scripts).collect();
        let attempts = vec![0; scripts.len()];
        Self {
            world: World::new(yaml),
            container,
            scripts,
            attempts,
        }
    }

    fn advance(&mut self, place: usize) {
        let Some((name, script)) = self.scripts.get(place) else {
            return;
        };
        let code = script.get(self.attempts[place]).copied().unwrap_or(0);
        // The pods of a batch Job have names behind its own.
        let batch = format!("{name}-");
        let mut pods = self.world.observed.pods.iter_mut();
        let pod = pods.find(|pod| (pod.name == *name || pod.name.starts_with(&batch)) && is_alive(pod));
        let Some(pod) = pod.filter(|pod| pod.deleted.is_none()) else {
            return;
        };
        match pod.phase {
            Phase::Pending => pod.phase = Phase::Running,
            Phase::Running => {
                end(pod, self.container, code);
                self.attempts[place] += 1;
            }
            Phase::Succeeded | Phase::Failed => {}
        }
    }

    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Look(stop) => {
                    let plan = self.world.plan();
                    self.world.apply(&plan, *stop);
                }
                Step::Advance(place) => self.advance(*place),
                Step::Bury => self.world.bury(),
                Step::Batch => self.world.run_batch_jobs(),
                Step::Wait(seconds) => self.world.wait(*seconds),
            }
        }
    }

    /// Everybody does what is left to do, and nobody dies any more.
    fn conclude(&mut self) {
        for _ in 0..60 {
            self.world.settle();
            self.world.run_batch_jobs();
            self.world.settle();
            if !self.world.job["status"]["completionTime"].is_null() {
                return;
            }
            for place in 0..self.scripts.len() {
                self.advance(place);
            }
            self.world.wait(301);
        }
    }
}

/// A job that ends as its three workers do, and its container.
fn by_workers(kind: &str, policy: &str) -> (String, &'static str) {
    let roles = "Worker:3:ExitCode";
    match kind {
        "JAXJob" => (jax(roles, policy), "jax"),
        "PyTorchJob" => (pytorch(roles, policy), "pytorch"),
        "PaddleJob" => (job(kind, "paddleReplicaSpecs", "paddle", roles, policy), "paddle"),
        _ => {
            let policy = format!("  successPolicy: AllWorkers\n{policy}");
            (tensorflow(roles, &policy), "tensorflow")
        }
    }
}

const BY_WORKERS: [&str; 4] = ["JAXJob", "PyTorchJob", "PaddleJob", "TFJob"];
const WORKERS: [&str; 3] = ["worker-0", "worker-1", "worker-2"];

proptest! {
    #![proptest_config(stories(128))]

    #[test]
    fn the_end_does_not_depend_on_the_order_of_things(
        kind in prop::sample::select(BY_WORKERS.to_vec()),
        scripts in scripts(),
        limit in 0..6usize,
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let failures: usize = scripts.iter().map(Vec::len).sum();
        let is_permanent = scripts.iter().flatten().any(|code| *code < 128);
        let expected = if is_permanent || failures > limit { "Failed" } else { "Succeeded" };
        let policy = format!("  runPolicy: {{backoffLimit: {limit}}}\n");
        let (yaml, container) = by_workers(kind, &policy);
        let mut story = Story::new(&yaml, container, &WORKERS, scripts);
        story.run(&steps);
        story.conclude();
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
        let mut story = Story::new(&yaml, "pytorch", &WORKERS, scripts);
        story.run(&steps);
        story.conclude();
        let conditions = story.world.conditions();
        prop_assert!(conditions.ends_with("Failed") || conditions.ends_with("Succeeded"), "{conditions}");
        prop_assert!(story.world.made <= 3 * (1 + limit), "{} pods with {limit} restarts", story.world.made);
    }

    /// The simulation refuses a pod of a name that is taken, so there are never two launchers.
    #[test]
    fn an_mpi_job_ends_by_its_launcher_alone(
        scripts in scripts(),
        limit in 0..6usize,
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let launcher = &scripts[0];
        let is_permanent = launcher.iter().any(|code| *code < 128);
        let expected = if is_permanent || launcher.len() > limit { "Failed" } else { "Succeeded" };
        // Workers run until they are told to stop.
        let scripts = vec![launcher.clone()];
        let policy = format!("  runPolicy: {{backoffLimit: {limit}, cleanPodPolicy: Running}}\n");
        let yaml = job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher:1:ExitCode Worker:2", &policy);
        let mut story = Story::new(&yaml, "mpi", &["launcher"], scripts);
        story.run(&steps);
        story.conclude();
        let conditions = story.world.conditions();
        prop_assert!(conditions.ends_with(expected), "{conditions} instead of {expected}");
        prop_assert!(story.world.made <= 3 + limit);
        prop_assert_eq!(story.world.names(), ["j-launcher"]);
    }

    /// Its batch Job tries the launcher again whatever its exit code.
    #[test]
    fn so_does_one_whose_launcher_is_a_batch_job(
        version in prop::sample::select(vec!["v1alpha2", "v2beta1"]),
        scripts in scripts(),
        limit in 0..6usize,
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let launcher = &scripts[0];
        let expected = if launcher.len() > limit { "Failed" } else { "Succeeded" };
        let scripts = vec![launcher.clone()];
        let policy = format!("  runPolicy: {{backoffLimit: {limit}, cleanPodPolicy: Running}}\n");
        let yaml = job("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher:1:OnFailure Worker:2:OnFailure", &policy)
            .replace("kubeflow.org/v1", &format!("kubeflow.org/{version}"));
        let mut story = Story::new(&yaml, "mpi", &["launcher"], scripts);
        story.run(&steps);
        story.conclude();
        let conditions = story.world.conditions();
        prop_assert!(conditions.ends_with(expected), "{conditions} instead of {expected}");
        prop_assert!(story.world.names().iter().all(|name| name.starts_with("j-launcher-")));
    }
}
