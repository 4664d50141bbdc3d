//! The children of a job sorted by role and number, and counted.

use std::collections::{HashMap, HashSet};

use resources::ReplicaStatus;

use crate::{
    children,
    job::{Framework, Job, Replica},
    observed::{BatchJob, Observed, Phase, Pod},
};

pub(crate) struct Account<'a> {
    /// In the order of the job's replicas.
    pub roles: Vec<Role<'a>>,
    /// Pods the job has made for numbers it no longer has.
    pub surplus: Vec<&'a Pod>,
    /// Objects that have the name of a child and belong to somebody else: kind and name.
    pub conflicts: Vec<(String, String)>,
}

pub(crate) struct Role<'a> {
    pub replica: &'a Replica,
    /// By number; the pods of a batch Job have none.
    pub places: Vec<Option<&'a Pod>>,
    /// The batch Job of a launcher that has one.
    pub launcher: Option<&'a BatchJob>,
    /// Every pod of the role.
    pub pods: Vec<&'a Pod>,
}

impl<'a> Account<'a> {
    pub(crate) fn new(job: &'a Job, observed: &'a Observed) -> Self {
        let mut account = Self {
            roles: Vec::new(),
            surplus: Vec::new(),
            conflicts: Vec::new(),
        };
        let by_name: HashMap<&str, &Pod> = observed.pods.iter().map(|pod| (pod.name.as_str(), pod)).collect();
        for replica in &job.replicas {
            let role = if replica.role == "Launcher" && job.launches_by_batch_job() {
                account.batch_role(job, replica, observed)
            } else {
                account.pod_role(job, replica, &by_name)
            };
            account.roles.push(role);
        }
        let placed: HashSet<&str> = account.pods().map(|pod| pod.uid.as_str()).collect();
        let own = observed.pods.iter().filter(|pod| is_own(job, pod));
        account.surplus = own.filter(|pod| !placed.contains(pod.uid.as_str())).collect();
        account
    }

    fn pod_role(&mut self, job: &Job, replica: &'a Replica, by_name: &HashMap<&str, &'a Pod>) -> Role<'a> {
        let mut places = Vec::new();
        for index in 0..replica.count {
            let name = job.child_name(replica.role, index);
            let found = by_name.get(name.as_str()).copied();
            places.push(found.filter(|pod| is_own(job, pod)));
            if found.is_some_and(|pod| !is_own(job, pod)) {
                self.conflicts.push(("Pod".to_owned(), name));
            }
        }
        let pods = places.iter().copied().flatten().collect();
        Role {
            replica,
            places,
            launcher: None,
            pods,
        }
    }

    fn batch_role(&mut self, job: &Job, replica: &'a Replica, observed: &'a Observed) -> Role<'a> {
        let name = job.child_name(replica.role, 0);
        let mut launcher = observed.jobs.iter().find(|found| found.name == name);
        if launcher.is_some_and(|found| found.controller.as_deref() != Some(job.identity.uid.as_str())) {
            self.conflicts.push(("Job".to_owned(), name));
            launcher = None;
        }
        let uid = launcher.map(|found| found.uid.as_str());
        let pods = observed
            .pods
            .iter()
            .filter(|pod| uid.is_some() && pod.controller.as_deref() == uid);
        Role {
            replica,
            places: Vec::new(),
            launcher,
            pods: pods.collect(),
        }
    }

    pub(crate) fn role(&self, role: &str) -> Option<&Role<'a>> {
        self.roles.iter().find(|found| found.replica.role == role)
    }

    /// The batch Job of the launcher.
    pub(crate) fn launcher(&self) -> Option<&'a BatchJob> {
        self.roles.iter().find_map(|role| role.launcher)
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &'a Pod> {
        self.roles.iter().flat_map(|role| role.pods.iter().copied())
    }

    /// Replicas that run or have succeeded.
    pub(crate) fn progress(&self) -> String {
        let done: i32 = self
            .roles
            .iter()
            .map(|role| role.active() + role.succeeded())
            .sum();
        let total: u32 = self.roles.iter().map(|role| role.replica.count).sum();
        format!("{done}/{total}")
    }

    pub(crate) fn running_workers(&self) -> Vec<String> {
        let workers = self
            .role("Worker")
            .map(|role| role.pods.iter().filter(|pod| is_active(pod)));
        workers
            .into_iter()
            .flatten()
            .map(|pod| pod.name.clone())
            .collect()
    }
}

impl Role<'_> {
    pub(crate) fn active(&self) -> i32 {
        self.count(is_active)
    }

    pub(crate) fn succeeded(&self) -> i32 {
        match self.launcher {
            Some(launcher) => i32::from(launcher.is_complete),
            None => self.count(|pod| pod.phase == Phase::Succeeded),
        }
    }

    /// How many have done their work.
    pub(crate) fn done(&self) -> i32 {
        match self.launcher {
            Some(_) => self.succeeded(),
            None => self.count(Pod::has_succeeded),
        }
    }

    /// A pod that is taken away while it runs counts as failed.
    pub(crate) fn failed(&self) -> i32 {
        match self.launcher {
            Some(launcher) => launcher.failed,
            None => self
                .count(|pod| pod.phase == Phase::Failed || (pod.phase == Phase::Running && pod.is_deleted())),
        }
    }

    /// Whether its pods have ended and its batch Job has yet to say what comes of it.
    pub(crate) fn is_undecided(&self) -> bool {
        let decides =
            |launcher: &BatchJob| !launcher.is_over() && !launcher.is_suspended && !launcher.is_being_deleted;
        let has_ended = |pod: &&Pod| matches!(pod.phase, Phase::Succeeded | Phase::Failed);
        self.launcher.is_some_and(decides) && self.active() == 0 && self.pods.iter().any(has_ended)
    }

    fn count(&self, test: fn(&Pod) -> bool) -> i32 {
        self.pods.iter().filter(|pod| test(pod)).count() as i32
    }

    pub(crate) fn all_run(&self) -> bool {
        self.active() as u32 == self.replica.count
    }

    pub(crate) fn status(&self, job: &Job) -> ReplicaStatus {
        let scales = matches!(
            job.framework,
            Framework::PyTorch { .. } | Framework::Paddle { .. } | Framework::Jax
        );
        ReplicaStatus {
            active: self.active(),
            succeeded: self.succeeded(),
            failed: self.failed(),
            selector: scales.then(|| children::role_selector(job, self.replica.role)),
        }
    }
}

fn is_own(job: &Job, pod: &Pod) -> bool {
    pod.controller.as_deref() == Some(job.identity.uid.as_str())
}

fn is_active(pod: &Pod) -> bool {
    pod.phase == Phase::Running && !pod.is_deleted()
}
