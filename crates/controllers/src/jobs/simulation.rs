//! Jobs in a world where everything happens in any order and the controller crashes between any two
//! writes: at the end each pod's end is counted once, and the job is over.

use std::sync::Arc;

use k8s_openapi::api::{
    batch::v1::{Job, UncountedTerminatedPods},
    core::v1::Pod,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    account::account,
    end,
    observed::Observed,
    plan::plan,
    tests::{at, job},
    tracking,
};
use crate::pods::health;

const PARALLELISM: usize = 3;
const COMPLETIONS: i32 = 4;

struct World {
    job: Job,
    pods: Vec<Pod>,
    now: i64,
    made: usize,
    succeeded: i32,
    failed: i32,
}

#[derive(Clone, Debug)]
enum Happening {
    /// The controller does so many writes and crashes, unless it is done before.
    Reconcile(usize),
    /// One of the active pods ends, or is deleted by somebody.
    Succeed(usize),
    Fail(usize),
    Delete(usize),
    /// The node has stopped what is to be stopped.
    Stop,
    Suspend(bool),
    Pass(i64),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0..8_usize).prop_map(Happening::Reconcile),
        2 => (0..9_usize).prop_map(Happening::Succeed),
        2 => (0..9_usize).prop_map(Happening::Fail),
        1 => (0..9_usize).prop_map(Happening::Delete),
        2 => Just(Happening::Stop),
        1 => any::<bool>().prop_map(Happening::Suspend),
        2 => (0..700_i64).prop_map(Happening::Pass),
    ]
}

/// Stands for a crash.
struct Crash;

impl World {
    fn new(mut spec: Value) -> Self {
        spec["parallelism"] = json!(PARALLELISM);
        spec["completions"] = json!(COMPLETIONS);
        Self {
            job: job(spec, json!({})),
            pods: Vec::new(),
            now: 1000,
            made: 0,
            succeeded: 0,
            failed: 0,
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Reconcile(writes) => {
                let _ = self.reconcile(*writes);
            }
            Happening::Succeed(which) => self.finish(*which, "Succeeded"),
            Happening::Fail(which) => self.finish(*which, "Failed"),
            Happening::Delete(which) => {
                if let Some(position) = self.active(*which) {
                    self.delete(position);
                }
            }
            Happening::Stop => self
                .pods
                .retain(|pod| !health::is_terminating(pod) || tracking::is_tracked(pod)),
            Happening::Suspend(suspend) => self.job.spec.as_mut().unwrap().suspend = Some(*suspend),
            Happening::Pass(seconds) => self.now += seconds,
        }
    }

    fn active(&self, which: usize) -> Option<usize> {
        let active: Vec<usize> = (0..self.pods.len())
            .filter(|position| health::is_active(&self.pods[*position]))
            .collect();
        (!active.is_empty()).then(|| active[which % active.len()])
    }

    fn finish(&mut self, which: usize, phase: &str) {
        let Some(position) = self.active(which) else {
            return;
        };
        let pod = &mut self.pods[position];
        pod.status = serde_json::from_value(json!({"phase": phase, "conditions": [
            {"type": "Ready", "status": "False", "lastTransitionTime": at(self.now).to_string()},
        ]}))
        .unwrap();
        // What the controller has dismissed may end as it likes.
        if tracking::is_tracked(pod) {
            match phase {
                "Succeeded" => self.succeeded += 1,
                _ => self.failed += 1,
            }
        }
    }

    /// A pod that is deleted before its end has failed.
    fn delete(&mut self, position: usize) {
        let pod = &mut self.pods[position];
        if tracking::is_tracked(pod) && health::is_active(pod) {
            self.failed += 1;
        }
        pod.metadata.deletion_timestamp = serde_json::from_value(json!(at(self.now).to_string())).unwrap();
    }

    fn position(&self, pod: &Pod) -> usize {
        let same = |known: &Pod| known.metadata.uid == pod.metadata.uid;
        self.pods.iter().position(same).unwrap()
    }

    fn release(&mut self, pod: &Pod) {
        let position = self.position(pod);
        self.pods[position].metadata.finalizers = None;
    }

    fn create(&mut self, pod: &Pod) {
        self.made += 1;
        let mut pod = pod.clone();
        pod.metadata.name = Some(format!("pod-{}", self.made));
        pod.metadata.uid = Some(format!("uid-{}", self.made));
        self.pods.push(pod);
        let active = self.pods.iter().filter(|pod| health::is_active(pod)).count();
        assert!(active <= PARALLELISM, "no more pods than may work side by side");
    }

    /// What the controller does, write by write.
    fn reconcile(&mut self, writes: usize) -> Result<(), Crash> {
        if end(&self.job).is_some() {
            return Ok(());
        }
        let mut left = writes;
        let mut write = || {
            left = left.checked_sub(1).ok_or(Crash)?;
            Ok(())
        };
        let (job, now) = (self.job.clone(), at(self.now));
        let spec = job.spec.as_ref().unwrap();
        let pods: Vec<Arc<Pod>> = self.pods.iter().cloned().map(Arc::new).collect();
        let plan = plan(&Observed::new(&job, spec, &pods, now));
        for pod in &plan.dismiss {
            write()?;
            self.release(pod);
            write()?;
            self.delete(self.position(pod));
        }
        for pod in &plan.stop {
            write()?;
            self.delete(self.position(pod));
        }
        for pod in &plan.create {
            write()?;
            self.create(pod);
        }
        let pods: Vec<Arc<Pod>> = self.pods.iter().cloned().map(Arc::new).collect();
        let account = account(&Observed::new(&job, spec, &pods, now));
        if job.status.as_ref() != Some(&account.status) {
            write()?;
            let stored = serde_json::to_value(&account.status).unwrap();
            self.job.status = serde_json::from_value(stored).unwrap();
            assert_eq!(
                self.job.status.as_ref(),
                Some(&account.status),
                "what is written is what is read"
            );
        }
        for pod in &account.release {
            write()?;
            self.release(pod);
        }
        Ok(())
    }

    /// From now on nothing goes wrong any more.
    fn run_to_the_end(&mut self) {
        self.happen(&Happening::Suspend(false));
        for _ in 0..50 {
            self.happen(&Happening::Pass(700));
            self.happen(&Happening::Reconcile(usize::MAX));
            self.happen(&Happening::Succeed(0));
            self.happen(&Happening::Stop);
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let status = self.job.status.clone().unwrap();
        let end = end(&self.job).map(|end| end.type_.clone());
        prop_assert!(end.is_some(), "{:?}", status);
        prop_assert_eq!(status.succeeded.unwrap_or_default(), self.succeeded);
        prop_assert_eq!(status.failed.unwrap_or_default(), self.failed);
        prop_assert_eq!(
            status.uncounted_terminated_pods,
            Some(UncountedTerminatedPods::default())
        );
        prop_assert_eq!(status.active, None);
        prop_assert!(!self.pods.iter().any(tracking::is_tracked));
        if end.as_deref() == Some("Complete") {
            prop_assert_eq!(self.succeeded, COMPLETIONS);
        }
        Ok(())
    }
}

fn spec() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![Just(1), Just(1000)].prop_map(|limit| json!({ "backoffLimit": limit }));
    let indexed = prop_oneof![Just(1), Just(1000)]
        .prop_map(|limit| json!({"backoffLimit": limit, "completionMode": "Indexed"}));
    let per_index = (0..3).prop_map(
        |limit| json!({"backoffLimit": 1000, "completionMode": "Indexed", "backoffLimitPerIndex": limit}),
    );
    prop_oneof![plain, indexed, per_index]
}

proptest! {
    #[test]
    fn every_end_is_counted_once_wherever_the_controller_crashes(
        spec in spec(),
        happenings in prop::collection::vec(happening(), 0..60),
    ) {
        let mut world = World::new(spec);
        for happening in &happenings {
            world.happen(happening);
        }
        world.run_to_the_end();
        world.check()?;
    }
}
