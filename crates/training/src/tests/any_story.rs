//! Whatever happens to a job of whatever kind, in whatever order, and wherever the operator dies: these
//! things hold at every moment.

use jiff::SignedDuration;
use proptest::prelude::*;
use resources::Kind;
use serde_json::{Value, json};

use super::{
    any_job::manifest,
    ledger::{self, Ledger},
    stories,
};
use crate::{
    Make, Plan,
    observed::{Phase, Pod},
    simulation::{World, end, is_alive, is_launched, stop},
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
    /// Somebody deletes it, and it is asked to stop.
    Delete(usize),
    /// Somebody removes it by force.
    Vanish(usize),
    /// The controller of batch Jobs looks.
    Batch,
    /// Somebody deletes the batch Job of a launcher, and its pods are asked to stop.
    LoseBatchJob,
    /// Pods that were asked to stop are gone.
    Bury,
    Wait(i64),
    Suspend(bool),
    /// Somebody says where the pods of a launcher are to go.
    Place(u8),
    /// Somebody writes a specification that cannot be run, or mends it.
    Edit(bool),
    /// One of several programs writes the job in a version of its own.
    Write(usize),
}

/// Programs, and the versions they speak.
const WRITERS: [(&str, &str); 4] = [
    ("kubectl-client-side-apply", ""),
    ("kubectl-edit", "v1"),
    ("kueue", "v2beta1"),
    ("old-tool", "v1alpha2"),
];

fn step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![4 => Just(0), 3 => Just(137), 2 => Just(1)];
    prop_oneof![
        8 => (0..9usize).prop_map(Step::Look),
        8 => Just(Step::Look(usize::MAX)),
        16 => (0..6usize, code).prop_map(|(pod, code)| Step::Advance(pod, code)),
        2 => (0..6usize).prop_map(Step::Restart),
        2 => (0..6usize).prop_map(Step::Evict),
        1 => (0..6usize).prop_map(Step::Delete),
        1 => (0..6usize).prop_map(Step::Vanish),
        4 => Just(Step::Batch),
        1 => Just(Step::LoseBatchJob),
        4 => Just(Step::Bury),
        3 => (-100..400i64).prop_map(Step::Wait),
        1 => prop::sample::select(vec![-86_400, 86_400]).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Suspend),
        1 => (0..3u8).prop_map(Step::Place),
        1 => any::<bool>().prop_map(Step::Edit),
        2 => (0..WRITERS.len()).prop_map(Step::Write),
    ]
}

struct Story {
    world: World,
    /// The conditions, or the phase, that the job has ended with.
    verdict: Option<Value>,
    is_deleted: bool,
    restarts: Ledger,
    /// The version it was made in.
    version: Value,
}

impl Story {
    fn new(yaml: &str) -> Self {
        let mut world = World::new(yaml);
        let version = world.job["apiVersion"].clone();
        if world.job["kind"] == "MPIJob" {
            // As it is stored, and so told by the server.
            world.job["apiVersion"] = json!("kubeflow.org/v2beta1");
        }
        let mut story = Self {
            world,
            verdict: None,
            is_deleted: false,
            restarts: Ledger::default(),
            version,
        };
        story.write(0);
        let now = story.world.now.to_string();
        story.world.job["metadata"]["creationTimestamp"] = json!(now);
        story
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Look(stop) => self.look(stop),
            Step::Advance(pod, code) => self.with_any_pod(pod, |pod| advance(pod, code)),
            Step::Restart(pod) => self.restart(pod),
            Step::Evict(pod) => self.with_pod(pod, |pod| {
                if pod.phase == Phase::Running {
                    (pod.phase, pod.reason, pod.is_disrupted) = (Phase::Failed, "Evicted".to_owned(), true);
                }
            }),
            Step::Delete(pod) => {
                let now = self.world.now;
                self.with_pod(pod, |pod| stop(pod, now));
            }
            Step::Vanish(pod) => {
                let pods = &mut self.world.observed.pods;
                if pod < pods.len() {
                    let gone = pods.remove(pod);
                    self.restarts.forget(&gone);
                }
            }
            Step::Batch => self.run_batch_jobs(),
            Step::LoseBatchJob => self.lose_batch_job(),
            Step::Bury => self.world.bury(),
            Step::Wait(seconds) => self.world.wait(seconds),
            Step::Suspend(suspend) => self.suspend(suspend),
            Step::Place(zone) => self.place(zone),
            Step::Edit(is_bad) => self.edit(is_bad),
            // What is decided by is written down when the job is first found fine.
            Step::Write(_) if self.world.job["status"]["mpiVersion"].is_null() => {}
            Step::Write(writer) => self.write(writer),
        }
    }

    /// The kubelet restarts a container, if its pod is not one that is counted or stopped, and goes.
    fn restart(&mut self, at: usize) {
        let restarts = self.world.job["status"]["restarts"].clone();
        let stopped = self.world.observed.jobs.iter().filter(|job| job.is_suspended);
        let stopped: Vec<String> = stopped.map(|job| job.uid.clone()).collect();
        let is_let_go = |pod: &Pod| {
            let is_stopped = pod.controller.as_ref().is_some_and(|uid| stopped.contains(uid));
            is_stopped || ledger::is_let_go(&restarts, pod)
        };
        let mut restarted = None;
        self.with_pod(at, |pod| {
            if pod.phase == Phase::Running && !is_let_go(pod) {
                pod.restarts += 1;
                restarted = Some(pod.uid.clone());
            }
        });
        if let Some(uid) = restarted {
            *self.restarts.by_kubelet.entry(uid).or_default() += 1;
        }
    }

    fn run_batch_jobs(&mut self) {
        let before = ledger::by_batch_jobs(&self.world);
        self.world.run_batch_jobs();
        self.restarts.by_batch_job += ledger::by_batch_jobs(&self.world) - before;
    }

    /// What is removed behind the operator's back takes along the failures that the operator has not seen.
    fn lose_batch_job(&mut self) {
        if self.world.job["kind"] != "MPIJob" {
            return;
        }
        let seen = &self.world.job["status"]["replicaStatuses"]["Launcher"]["failed"];
        let seen = seen.as_i64().unwrap_or_default() as i32;
        self.restarts.by_batch_job -= (ledger::by_batch_jobs(&self.world) - seen).max(0);
        self.world.observed.jobs.clear();
        let now = self.world.now;
        let pods = self.world.observed.pods.iter_mut();
        for pod in pods.filter(|pod| is_launched(pod)) {
            stop(pod, now);
            self.restarts.forget(pod);
        }
    }

    fn edit(&mut self, is_bad: bool) {
        let job = &mut self.world.job;
        let field =
            Kind::of("kubeflow.org/v1", job["kind"].as_str().unwrap()).map(|kind| kind.replicas_field);
        let Some(roles) = field.and_then(|field| job["spec"][field].as_object_mut()) else {
            return;
        };
        for role in roles.values_mut() {
            let policy = if is_bad { "Sometimes" } else { "Always" };
            role["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!(policy);
        }
        self.world.changed();
    }

    fn write(&mut self, writer: usize) {
        let (manager, version) = WRITERS[writer];
        let version = match version {
            "" => self.version.clone(),
            version => json!(format!("kubeflow.org/{version}")),
        };
        let entry = json!({"manager": manager, "apiVersion": version, "time": self.world.now.to_string()});
        let meta = &mut self.world.job["metadata"];
        meta["resourceVersion"] = json!("7");
        let mut entries = meta["managedFields"].as_array().cloned().unwrap_or_default();
        entries.retain(|entry| entry["manager"] != manager);
        entries.push(entry);
        meta["managedFields"] = json!(entries);
    }

    /// Pods that are asked to stop end, in one way or another.
    fn with_any_pod(&mut self, at: usize, change: impl FnOnce(&mut Pod)) {
        let pod = self.world.observed.pods.get_mut(at);
        pod.map(change);
    }

    fn with_pod(&mut self, at: usize, change: impl FnOnce(&mut Pod)) {
        let pods = self.world.observed.pods.iter_mut();
        if let Some(pod) = pods.filter(|pod| pod.deleted.is_none()).nth(at) {
            change(pod);
        }
    }

    fn suspend(&mut self, suspend: bool) {
        if self.world.job["spec"]["runPolicy"].is_object() {
            self.world.job["spec"]["runPolicy"]["suspend"] = json!(suspend);
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
        self.restarts.see(&self.world);
        let plan = self.world.plan();
        self.check(&plan);
        let before = self.world.made;
        self.world.apply(&plan, stop);
        let made = self.world.made - before;
        self.check_budget(&plan, made);
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
            let active = active.count();
            assert_eq!(
                counted["active"].as_u64().unwrap_or_default() as usize,
                active,
                "{role}"
            );
        }
    }

    /// Whatever was restarted, by whomever and when: nothing is restarted that is one too many.
    fn check_budget(&mut self, plan: &Plan, made: usize) {
        let children = plan.make.iter().filter(|child| child.make == Make::Create);
        let replicas = children.filter(|child| ["Pod", "Job"].contains(&child.kind()));
        for replica in replicas.take(made) {
            self.restarts.count_made(replica);
        }
        let policy = &self.world.job["spec"]["runPolicy"];
        // A launcher's Job that stands still starts nothing.
        let starts = made > 0 && policy["suspend"] != true;
        if let Some(limit) = policy["backoffLimit"].as_i64().filter(|_| starts) {
            let used = i64::from(self.restarts.total());
            assert!(used <= limit, "more than {limit}: {:#?}", self.restarts);
        }
    }

    /// Everybody does what is left to do, well, and nobody dies any more.
    fn conclude(&mut self) {
        self.suspend(false);
        self.edit(false);
        for _ in 0..40 {
            for _ in 0..6 {
                self.look(usize::MAX);
                self.world.bury();
                self.run_batch_jobs();
            }
            for at in 0..self.world.observed.pods.len() {
                self.with_pod(at, |pod| advance(pod, 0));
            }
            self.world.wait(301);
            if self.verdict.is_some() || self.is_deleted {
                break;
            }
        }
        if self.is_deleted {
            // Its time was over when it had been refused, or is by now.
            return;
        }
        assert!(self.verdict.is_some(), "it comes to no end: {:#}", self.world.job);
        // The clock may have been set back since.
        let completed = self.world.job["status"]["completionTime"].as_str();
        let completed = completed.and_then(|time| time.parse().ok());
        self.world.now = completed.map_or(self.world.now, |time| self.world.now.max(time));
        for _ in 0..3 {
            self.look(usize::MAX);
            self.world.bury();
        }
        self.check_left_over();
        self.world.wait(1_000);
        self.look(usize::MAX);
        self.look(usize::MAX);
        let has_time_to_live = !self.world.job["spec"]["runPolicy"]["ttlSecondsAfterFinished"].is_null();
        assert_eq!(self.is_deleted, has_time_to_live);
    }
}

impl Story {
    /// What has ended leaves what its policy says: no more pods, and no address without a pod.
    fn check_left_over(&self) {
        let policy = self.world.job["spec"]["runPolicy"]["cleanPodPolicy"].clone();
        if self.is_deleted || policy.is_null() || policy == "None" {
            return;
        }
        let own = |controller: &Option<String>| controller.as_deref() == Some("job-uid");
        let pods = self.world.observed.pods.iter().filter(|pod| own(&pod.controller));
        let pods: Vec<&Pod> = pods.collect();
        let goes = |pod: &&&Pod| policy == "All" || is_alive(pod);
        assert_eq!(pods.iter().find(goes), None, "{policy}");
        let others = self.world.observed.others.iter();
        let services = others.filter(|other| other.kind == "Service" && own(&other.controller));
        // That of an MPIJob is of all its pods.
        for service in services.filter(|service| service.name != "j") {
            let has_pod = pods.iter().any(|pod| pod.name == service.name);
            assert!(has_pod, "{policy}: Service {} is left over", service.name);
        }
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
    // What was refused may be mended.
    let is_end = |condition: &&Value| {
        ["Succeeded", "Failed"].contains(&condition["type"].as_str().unwrap_or_default())
            && condition["status"] == "True"
            && !condition["reason"].to_string().contains("FailedValidation")
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
    let is_end = |condition: &Value| {
        let kind = condition["type"].as_str().unwrap_or_default();
        ["Succeeded", "Failed"].contains(&kind) && condition["status"] == "True"
    };
    let has_ended = conditions.iter().any(is_end);
    if !has_ended && conditions.len() > 1 {
        assert_ne!(
            types.last(),
            Some(&"Failed"),
            "what has not failed does not look so"
        );
    }
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
