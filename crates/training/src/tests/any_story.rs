//! Whatever happens to a job of whatever kind, in whatever order, and wherever the operator dies: these
//! things hold at every moment.

use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{job, stories};
use crate::{
    Plan,
    observed::{Phase, Pod},
    simulation::{World, end},
};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The operator looks, and dies after so many steps.
    Look(usize),
    /// A pod goes on with its life, which may end with this code.
    Advance(usize, i32),
    /// Its container is restarted by the kubelet.
    Restart(usize),
    Evict(usize),
    /// Somebody removes it by force.
    Vanish(usize),
    /// The controller of batch Jobs looks.
    Batch,
    /// Pods that were asked to stop are gone.
    Bury,
    Wait(i64),
    Suspend(bool),
    /// Somebody says where the pods of a launcher are to go.
    Place(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![4 => Just(0), 3 => Just(137), 2 => Just(1)];
    prop_oneof![
        8 => (0..9usize).prop_map(Step::Look),
        8 => Just(Step::Look(usize::MAX)),
        16 => (0..6usize, code).prop_map(|(pod, code)| Step::Advance(pod, code)),
        2 => (0..6usize).prop_map(Step::Restart),
        2 => (0..6usize).prop_map(Step::Evict),
        1 => (0..6usize).prop_map(Step::Vanish),
        4 => Just(Step::Batch),
        4 => Just(Step::Bury),
        3 => (-100..400i64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Suspend),
        1 => (0..3u8).prop_map(Step::Place),
    ]
}

/// A job of any kind, with any policies.
fn manifest() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        ("TFJob", "Chief:1 Worker:2 PS:1"),
        ("TFJob", "Worker:2"),
        ("PyTorchJob", "Master:1 Worker:2"),
        ("PyTorchJob", "Worker:3"),
        ("XGBoostJob", "Master:1 Worker:2"),
        ("PaddleJob", "Master:1 Worker:2"),
        ("JAXJob", "Worker:3"),
        ("MXJob", "Scheduler:1 Server:1 Worker:2"),
        ("v1", "Launcher:1 Worker:2"),
        ("v1alpha2", "Launcher:1 Worker:2"),
        ("v2beta1", "Launcher:1 Worker:2"),
        ("mxnet.mlkube.io", ""),
        ("mlkube.io", ""),
    ]);
    let number = |most: i64| prop::option::of(0..most);
    let policy = prop::sample::select(vec!["Always", "OnFailure", "Never", "ExitCode"]);
    let clean = prop::sample::select(vec!["All", "Running", "None"]);
    let numbers = (number(5), number(300), number(900));
    (kind, policy, clean, numbers, any::<bool>()).prop_map(|((kind, roles), policy, clean, numbers, gang)| {
        if roles.is_empty() {
            return standalone(kind);
        }
        let (limit, ttl, deadline) = numbers;
        let field = |name: &str, value: Option<i64>| value.map(|value| format!(", {name}: {value}"));
        let fields = [
            field("backoffLimit", limit),
            field("ttlSecondsAfterFinished", ttl),
            field("activeDeadlineSeconds", deadline),
        ];
        let fields: String = fields.into_iter().flatten().collect();
        let run_policy = format!("  runPolicy: {{cleanPodPolicy: {clean}{fields}}}\n");
        // The originals of v2beta1 know two of the policies.
        let policy = match (kind, policy) {
            ("v2beta1", "Always" | "ExitCode") => "OnFailure",
            (_, policy) => policy,
        };
        let roles: Vec<String> = roles
            .split_whitespace()
            .map(|role| format!("{role}:{policy}"))
            .collect();
        let yaml = written(kind, &roles.join(" "), &run_policy);
        if gang {
            let annotated = "{name: j, annotations: {trainyard.dev/gang-restart: \"true\"}}";
            return yaml.replace("{name: j}", annotated);
        }
        yaml
    })
}

fn written(kind: &str, roles: &str, policy: &str) -> String {
    match kind {
        "TFJob" => super::tensorflow(roles, policy),
        "PyTorchJob" => super::pytorch(roles, policy),
        "JAXJob" => super::jax(roles, policy),
        "XGBoostJob" => job(kind, "xgbReplicaSpecs", "xgboost", roles, policy),
        "PaddleJob" => job(kind, "paddleReplicaSpecs", "paddle", roles, policy),
        "MXJob" => {
            let policy = format!("  jobMode: MXTrain\n{policy}");
            job(kind, "mxReplicaSpecs", "mxnet", roles, &policy)
        }
        version => job("MPIJob", "mpiReplicaSpecs", "mpi", roles, policy)
            .replace("kubeflow.org/v1", &format!("kubeflow.org/{version}")),
    }
}

fn standalone(group: &str) -> String {
    let replica = |role: &str, count: u32| {
        format!(
            "  - {{replicas: {count}, mxReplicaType: {role}, template: {{spec: {{restartPolicy: OnFailure, containers: [{{name: mxnet, image: i}}]}}}}}}\n"
        )
    };
    format!(
        "apiVersion: {group}/v1beta1\nkind: MxJob\nmetadata: {{name: j}}\nspec:\n  jobMode: dist\n  replicaSpecs:\n{}{}{}",
        replica("SCHEDULER", 1),
        replica("SERVER", 1),
        replica("WORKER", 2)
    )
}

struct Story {
    world: World,
    /// The conditions, or the phase, that the job has ended with.
    verdict: Option<Value>,
    is_deleted: bool,
}

impl Story {
    fn new(yaml: &str) -> Self {
        Self {
            world: World::new(yaml),
            verdict: None,
            is_deleted: false,
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Look(stop) => self.look(stop),
            Step::Advance(pod, code) => self.with_pod(pod, |pod| advance(pod, code)),
            Step::Restart(pod) => self.with_pod(pod, |pod| {
                pod.restarts += i32::from(pod.phase == Phase::Running);
            }),
            Step::Evict(pod) => self.with_pod(pod, |pod| {
                if pod.phase == Phase::Running {
                    (pod.phase, pod.reason, pod.is_disrupted) = (Phase::Failed, "Evicted".to_owned(), true);
                }
            }),
            Step::Vanish(pod) => {
                let pods = &mut self.world.observed.pods;
                if pod < pods.len() {
                    pods.remove(pod);
                }
            }
            Step::Batch => self.world.run_batch_jobs(),
            Step::Bury => self.world.bury(),
            Step::Wait(seconds) => self.world.wait(seconds),
            Step::Suspend(suspend) => self.suspend(suspend),
            Step::Place(zone) => self.place(zone),
        }
    }

    fn with_pod(&mut self, at: usize, change: impl FnOnce(&mut Pod)) {
        let pods = self.world.observed.pods.iter_mut();
        if let Some(pod) = pods.filter(|pod| pod.deleted.is_none()).nth(at) {
            change(pod);
        }
    }

    fn suspend(&mut self, suspend: bool) {
        let job = &mut self.world.job;
        if job["spec"]["runPolicy"].is_object() {
            job["spec"]["runPolicy"]["suspend"] = json!(suspend);
            self.world.changed();
        }
    }

    fn place(&mut self, zone: u8) {
        let job = &mut self.world.job;
        if let Some(launcher) = job.pointer_mut("/spec/mpiReplicaSpecs/Launcher/template/spec") {
            launcher["nodeSelector"] = json!({"zone": zone.to_string()});
            self.world.changed();
        }
    }

    fn look(&mut self, stop: usize) {
        if self.is_deleted {
            return;
        }
        let plan = self.world.plan();
        self.check(&plan);
        self.world.apply(&plan, stop);
        if stop == usize::MAX {
            self.is_deleted = plan.delete_job;
        }
        if self.verdict.is_none() {
            self.verdict = verdict(&self.world.job["status"]);
        }
    }

    /// What must be true of every plan.
    fn check(&self, plan: &Plan) {
        let job = &self.world.job;
        let is_suspended = job["spec"]["runPolicy"]["suspend"] == true;
        let makes = |kind: &str| plan.make.iter().any(|child| child.kind() == kind);
        assert!(!(is_suspended && makes("Pod")), "a suspended job has no pods");
        if let Some(verdict) = &self.verdict {
            assert!(!makes("Pod") && !makes("Job"), "what has ended makes nothing");
            let after = plan.status.as_ref().unwrap_or(&job["status"]);
            assert_eq!(
                self::verdict(after).as_ref(),
                Some(verdict),
                "what has ended stays as it has ended"
            );
        }
        if plan.delete_job {
            self.check_time_to_live();
        }
        if let Some(status) = &plan.status {
            assert_eq!(status["observedGeneration"], job["metadata"]["generation"]);
            if !status["phase"].is_string() {
                check_conditions(status);
                self.check_counters(status);
                self.check_budget(status);
            }
        }
    }

    fn check_time_to_live(&self) {
        let job = &self.world.job;
        let time = |value: &Value| -> jiff::Timestamp { value.as_str().unwrap().parse().unwrap() };
        let seconds = job["spec"]["runPolicy"]["ttlSecondsAfterFinished"]
            .as_i64()
            .unwrap();
        let due = time(&job["status"]["completionTime"]) + SignedDuration::from_secs(seconds);
        assert!(due <= self.world.now, "its time is not over");
    }

    /// Counters are the pods that are there.
    fn check_counters(&self, status: &Value) {
        for (role, counted) in status["replicaStatuses"].as_object().into_iter().flatten() {
            let prefix = format!("j-{}", role.to_lowercase());
            let pods = self.world.observed.pods.iter();
            let active = pods.filter(|pod| {
                pod.name.starts_with(&prefix) && pod.phase == Phase::Running && pod.deleted.is_none()
            });
            let is_orphan = |pod: &Pod| {
                let jobs = &self.world.observed.jobs;
                let is_batch = pod.controller.as_deref() != Some("job-uid");
                is_batch
                    && !jobs
                        .iter()
                        .any(|job| Some(job.uid.as_str()) == pod.controller.as_deref())
            };
            let active = active.filter(|pod| !is_orphan(pod)).count();
            assert_eq!(
                counted["active"].as_u64().unwrap_or_default() as usize,
                active,
                "{role}"
            );
        }
    }

    fn check_budget(&self, status: &Value) {
        let used = status["restarts"]["count"].as_i64().unwrap_or_default();
        if let Some(limit) = self.world.job["spec"]["runPolicy"]["backoffLimit"].as_i64() {
            assert!(used <= limit, "{used} restarts where {limit} are allowed");
        }
    }

    /// Everybody does what is left to do, well, and nobody dies any more.
    fn conclude(&mut self) {
        self.suspend(false);
        for _ in 0..40 {
            for _ in 0..6 {
                self.look(usize::MAX);
                self.world.bury();
                self.world.run_batch_jobs();
            }
            for at in 0..self.world.observed.pods.len() {
                self.with_pod(at, |pod| advance(pod, 0));
            }
            self.world.wait(301);
            if self.verdict.is_some() {
                break;
            }
        }
        assert!(self.verdict.is_some(), "it comes to no end: {:#}", self.world.job);
        self.world.wait(1_000);
        self.look(usize::MAX);
        self.look(usize::MAX);
        let has_time_to_live = !self.world.job["spec"]["runPolicy"]["ttlSecondsAfterFinished"].is_null();
        assert_eq!(self.is_deleted, has_time_to_live);
    }
}

fn advance(pod: &mut Pod, code: i32) {
    match pod.phase {
        Phase::Pending => pod.phase = Phase::Running,
        Phase::Running => end(pod, "", code),
        Phase::Succeeded | Phase::Failed => {}
    }
}

/// How a job has ended, if it has.
fn verdict(status: &Value) -> Option<Value> {
    if status["phase"] == "Done" || status["phase"] == "Failed" {
        return Some(status.clone());
    }
    let conditions = status["conditions"].as_array()?;
    let is_end = |condition: &&Value| {
        ["Succeeded", "Failed"].contains(&condition["type"].as_str().unwrap_or_default())
            && condition["status"] == "True"
    };
    let end = conditions.iter().find(is_end)?;
    Some(json!([end, status["completionTime"]]))
}

/// Each type once, the last is the state, and what excludes each other is not there together.
fn check_conditions(status: &Value) {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let types: Vec<&str> = conditions
        .iter()
        .filter_map(|condition| condition["type"].as_str())
        .collect();
    let mut unique = types.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), types.len(), "{types:?}");
    assert!(
        !(types.contains(&"Running") && types.contains(&"Restarting")),
        "{types:?}"
    );
    let has_ended = types.contains(&"Succeeded") || types.contains(&"Failed");
    assert_eq!(has_ended, !status["completionTime"].is_null(), "{status:#}");
    if has_ended {
        assert!(
            ["Succeeded", "Failed"].contains(types.last().unwrap()),
            "{types:?}"
        );
        let runs = |condition: &&Value| condition["type"] == "Running" && condition["status"] == "True";
        assert!(!conditions.iter().any(|condition| runs(&condition)), "{types:?}");
    }
}

proptest! {
    #![proptest_config(stories(192))]

    #[test]
    fn every_job_comes_to_one_end(yaml in manifest(), steps in prop::collection::vec(step(), 0..100)) {
        let mut story = Story::new(&yaml);
        for step in steps {
            story.run(step);
        }
        story.conclude();
    }
}
