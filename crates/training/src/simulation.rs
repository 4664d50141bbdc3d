//! A world of one job for tests: pods that do what a script says, an operator that is cut short
//! anywhere, and a clock that jumps. Nothing survives between plans but what is in the objects.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use kinds::{decode, pods::template, types};
use serde_json::{Value, json};

use crate::{BatchJob, Child, Existing, Exit, Make, Observed, Phase, Plan, Pod, Settings, plan};

pub(crate) struct World {
    pub job: Value,
    pub observed: Observed,
    pub now: Timestamp,
    pub settings: Settings,
    /// How many pods and batch Jobs were ever made.
    pub made: usize,
    pub events: Vec<crate::Event>,
    uids: usize,
    /// What the controller of batch Jobs knows: failed pods that are counted, and how many may fail.
    counted: HashSet<String>,
    limits: HashMap<String, i32>,
    /// The templates of batch Jobs as they are stored.
    templates: HashMap<String, Value>,
}

impl World {
    pub(crate) fn new(yaml: &str) -> Self {
        let mut job = manifests::yaml::parse_documents(yaml).unwrap().remove(0).value;
        job["metadata"]["uid"] = json!("job-uid");
        job["metadata"]["namespace"] = json!("team");
        job["metadata"]["generation"] = json!(1);
        Self {
            job,
            observed: Observed::default(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            settings: Settings::default(),
            made: 0,
            events: Vec::new(),
            uids: 0,
            counted: HashSet::new(),
            limits: HashMap::new(),
            templates: HashMap::new(),
        }
    }

    pub(crate) fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// The specification of the job was changed.
    pub(crate) fn changed(&mut self) {
        let generation = self.job["metadata"]["generation"].as_i64().unwrap_or_default();
        self.job["metadata"]["generation"] = json!(generation + 1);
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(&self.job, &self.seen(), &self.settings, self.now)
    }

    /// What there is, as it is told to the operator.
    fn seen(&self) -> Observed {
        let mut seen = self.observed.clone();
        let is_former = |pod: &Pod| self.is_of_a_former_launcher(pod);
        (seen.former, seen.pods) = seen.pods.into_iter().partition(is_former);
        seen
    }

    fn is_of_a_former_launcher(&self, pod: &Pod) -> bool {
        let jobs = self.observed.jobs.iter();
        let mut jobs = jobs.map(|job| job.uid.as_str());
        is_launched(pod) && !jobs.any(|uid| pod.controller.as_deref() == Some(uid))
    }

    /// One look and everything it leads to.
    pub(crate) fn reconcile(&mut self) -> Plan {
        let plan = self.plan();
        self.apply(&plan, usize::MAX);
        plan
    }

    /// Until nothing more is to be done now.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.reconcile();
            self.bury();
            if plan.make.is_empty() && plan.delete.is_empty() && plan.status.is_none() {
                return;
            }
        }
        panic!("it does not settle: {:#?}", self.plan());
    }

    /// Does the first steps of a plan, in the order that is promised.
    pub(crate) fn apply(&mut self, plan: &Plan, steps: usize) {
        let mut left = steps;
        let mut may_go_on = || {
            left = left.saturating_sub(1);
            left > 0
        };
        for child in &plan.make {
            if !may_go_on() {
                return;
            }
            self.make(child);
        }
        for delete in &plan.delete {
            if !may_go_on() {
                return;
            }
            let now = self.now;
            assert!(!delete.uid.is_empty(), "{} might be another", delete.name);
            self.observed.others.retain(|other| other.uid != delete.uid);
            for job in self.observed.jobs.iter_mut().filter(|job| job.uid == delete.uid) {
                job.is_being_deleted = true;
            }
            for pod in &mut self.observed.pods {
                let is_child = delete.kind == "Job" && pod.controller.as_deref() == Some(delete.uid.as_str());
                if pod.uid == delete.uid || is_child {
                    stop(pod, now);
                }
            }
        }
        if !may_go_on() {
            return;
        }
        if let Some(status) = &plan.status {
            self.job["status"] = status.clone();
        }
        self.events.extend(plan.events.iter().cloned());
    }

    fn make(&mut self, child: &Child) {
        let (kind, name) = (child.kind(), child.name().to_owned());
        self.uids += 1;
        let uid = format!("uid-{}", self.uids);
        match kind {
            "Pod" => {
                assert!(self.pod(&name).is_none(), "{name} is made twice");
                self.made += 1;
                let mut pod = child.object.clone();
                pod["metadata"]["uid"] = json!(uid);
                let created = Some(self.now);
                self.observed.pods.push(Pod {
                    created,
                    ..Pod::read(&pod)
                });
            }
            "Job" => {
                if child.make == Make::Patch {
                    self.patch_batch_job(child);
                    return;
                }
                let is_taken = self.observed.jobs.iter().any(|job| job.name == name);
                assert!(!is_taken, "{name} is made twice");
                let mut object = child.object.clone();
                object["metadata"]["uid"] = json!(uid);
                store(&mut object["spec"]["template"]);
                self.made += 1;
                let limit = object["spec"]["backoffLimit"].as_i64().unwrap_or(6);
                self.limits.insert(uid.clone(), limit as i32);
                self.observed.jobs.push(BatchJob::read(&object));
                self.templates.insert(uid, object["spec"]["template"].take());
            }
            _ => {
                let mut read = Existing::read(kind, &child.object);
                let mut others = self.observed.others.iter_mut();
                if let Some(known) = others.find(|other| other.kind == kind && other.name == name) {
                    assert_eq!(child.make, Make::Patch, "{kind} {name} is made twice");
                    assert_eq!(read.uid, known.uid, "{kind} {name} is another");
                    merge(&mut known.content, read.content);
                } else {
                    assert_ne!(child.make, Make::Patch, "{kind} {name} is not there");
                    read.uid = uid;
                    self.observed.others.push(read);
                }
            }
        }
    }

    /// As the API server does it, which lets nobody change what has run.
    fn patch_batch_job(&mut self, child: &Child) {
        let uid = child.object["metadata"]["uid"].as_str().unwrap_or_default();
        let job = self.observed.jobs.iter_mut().find(|job| job.uid == uid);
        let job = job.unwrap_or_else(|| panic!("{} is not there, or another", child.name()));
        let (spec, template) = (&child.object["spec"], self.templates.get_mut(uid).unwrap());
        if !spec["template"].is_null() {
            assert!(
                job.is_suspended && job.started.is_none(),
                "{} cannot change",
                job.name
            );
            merge(template, spec["template"].clone());
        }
        job.is_suspended = spec["suspend"] == true;
        job.template = if job.is_suspended {
            template.to_string()
        } else {
            String::new()
        };
    }

    /// The template of a batch Job.
    pub(crate) fn template(&self, job: &BatchJob) -> &Value {
        &self.templates[&job.uid]
    }

    /// How often a batch Job lets its pods fail.
    pub(crate) fn limit(&self, job: &BatchJob) -> i32 {
        self.limits[&job.uid]
    }

    /// What the controller of batch Jobs does: one pod at a time, and another when it has failed.
    pub(crate) fn run_batch_jobs(&mut self) {
        let now = self.now;
        for job in self.observed.jobs.iter_mut().filter(|job| !job.is_being_deleted) {
            let is_own = |pod: &Pod| pod.controller.as_deref() == Some(job.uid.as_str());
            let own: Vec<&mut Pod> = self.observed.pods.iter_mut().filter(|pod| is_own(pod)).collect();
            let mut has_one = false;
            for pod in own {
                match pod.phase {
                    Phase::Succeeded => (job.is_complete, job.succeeded) = (true, 1),
                    Phase::Failed => job.failed += i32::from(self.counted.insert(pod.uid.clone())),
                    _ if job.is_suspended => stop(pod, now),
                    _ => has_one = true,
                }
            }
            if job.failed > self.limits.get(&job.uid).copied().unwrap_or_default() {
                let why = (
                    "BackoffLimitExceeded".to_owned(),
                    "it has failed too often".to_owned(),
                );
                job.failure.get_or_insert(why);
            }
            if has_one || job.is_suspended || job.is_complete || job.failure.is_some() {
                continue;
            }
            job.started = Some(now);
            let is_another = |pod: &Pod| pod.name.starts_with(&format!("{}-", job.name)) && !is_own(pod);
            let mut alive = self.observed.pods.iter().filter(|pod| !is_over(pod));
            assert!(!alive.any(is_another), "two of {} run", job.name);
            self.uids += 1;
            self.observed.pods.push(Pod {
                name: format!("{}-{}", job.name, self.uids),
                uid: format!("uid-{}", self.uids),
                controller: Some(job.uid.clone()),
                created: Some(now),
                gang: job.gang,
                ..Pod::default()
            });
        }
    }

    /// Pods that were asked to stop are gone.
    pub(crate) fn bury(&mut self) {
        let Observed { pods, jobs, .. } = &mut self.observed;
        pods.retain(|pod| pod.deleted.is_none());
        let has_pods = |job: &BatchJob| pods.iter().any(|pod| pod.controller.as_deref() == Some(&job.uid));
        jobs.retain(|job| !job.is_being_deleted || has_pods(job));
    }

    pub(crate) fn pod(&self, name: &str) -> Option<&Pod> {
        self.observed.pods.iter().find(|pod| pod.name == name)
    }

    #[track_caller]
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Pod)) {
        let pod = self.observed.pods.iter_mut().find(|pod| pod.name == name);
        change(pod.unwrap_or_else(|| panic!("there is no pod {name}")));
    }

    pub(crate) fn run(&mut self, name: &str) {
        self.change(name, |pod| pod.phase = Phase::Running);
    }

    pub(crate) fn run_all(&mut self) {
        for pod in &mut self.observed.pods {
            if pod.phase == Phase::Pending {
                pod.phase = Phase::Running;
            }
        }
    }

    pub(crate) fn end(&mut self, name: &str, container: &str, code: i32) {
        self.change(name, |pod| end(pod, container, code));
    }

    /// The types of conditions, with a `-` before those that are not true.
    pub(crate) fn conditions(&self) -> String {
        let conditions = self.job["status"]["conditions"].as_array().into_iter().flatten();
        let shown = conditions.map(|condition| {
            let sign = if condition["status"] == "True" { "" } else { "-" };
            format!("{sign}{}", condition["type"].as_str().unwrap_or_default())
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn message(&self) -> String {
        let conditions = self.job["status"]["conditions"].as_array();
        let last = conditions.and_then(|conditions| conditions.last());
        last.map(|last| last["message"].as_str().unwrap_or_default().to_owned())
            .unwrap_or_default()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.observed.pods.iter().map(|pod| pod.name.as_str()).collect()
    }
}

/// Whether a batch Job of the job's launcher has made it, there or gone.
pub(crate) fn is_launched(pod: &Pod) -> bool {
    pod.name.starts_with("j-launcher-")
}

/// Whether its program runs or may yet be started.
pub(crate) fn is_alive(pod: &Pod) -> bool {
    matches!(pod.phase, Phase::Pending | Phase::Running)
}

/// As the API does it with a merge patch.
fn merge(content: &mut Value, changes: Value) {
    let Value::Object(changes) = changes else {
        *content = changes;
        return;
    };
    if !content.is_object() {
        *content = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            content.as_object_mut().unwrap().remove(&key);
        } else {
            merge(&mut content[key], change);
        }
    }
}

/// A template as the API server keeps it.
fn store(template: &mut Value) {
    let ty = types::by_name("io.k8s.api.core.v1.PodTemplateSpec").unwrap();
    decode::normalize(ty, template).unwrap();
    template::default(template);
    template["metadata"]["labels"]["job-name"] = json!("j-launcher");
}

fn is_over(pod: &Pod) -> bool {
    matches!(pod.phase, Phase::Succeeded | Phase::Failed)
}

/// A pod is asked to stop.
pub(crate) fn stop(pod: &mut Pod, now: Timestamp) {
    if pod.deleted.is_none() {
        (pod.deleted, pod.ended_first) = (Some(now), !is_alive(pod));
    }
}

pub(crate) fn end(pod: &mut Pod, container: &str, code: i32) {
    pod.phase = if code == 0 {
        Phase::Succeeded
    } else {
        Phase::Failed
    };
    pod.exits = vec![Exit {
        container: container.to_owned(),
        code,
        reason: if code == 137 { "OOMKilled" } else { "" }.to_owned(),
        message: String::new(),
        is_previous: false,
    }];
}
