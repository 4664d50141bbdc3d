//! A job and its pods at one moment, counted: all that its plan and its status are made from.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::{Job, JobCondition, JobSpec, JobStatus, UncountedTerminatedPods},
    core::v1::Pod,
};

use super::{
    failure_policy::{self, Reaction},
    indexes::Indexes,
    tracking,
};
use crate::pods::health;

pub(crate) struct Observed<'a> {
    pub job: &'a Job,
    pub spec: &'a JobSpec,
    pub status: JobStatus,
    pub pods: &'a [Arc<Pod>],
    pub now: Timestamp,
    /// Pods that neither finished nor were asked to stop.
    pub active: Vec<&'a Arc<Pod>>,
    /// Pods that were asked to stop and have not yet.
    pub stopping: Vec<&'a Arc<Pod>>,
    /// Pods or, in an indexed job, indexes that succeeded, in the status or not yet.
    pub succeeded: usize,
    /// Pods whose failure counts, in the status or not yet.
    pub failed: usize,
    pub succeeded_indexes: Indexes,
    /// Indexes that are given up; `None` without a limit of failures per index.
    pub failed_indexes: Option<Indexes>,
    /// The last failed pod of each index that is to be tried again. Its successor inherits from it how
    /// often the index has failed, so it is kept until then.
    pub predecessors: BTreeMap<u32, &'a Arc<Pod>>,
}

impl<'a> Observed<'a> {
    pub(crate) fn new(job: &'a Job, spec: &'a JobSpec, pods: &'a [Arc<Pod>], now: Timestamp) -> Self {
        let mut observed = Self {
            job,
            spec,
            status: job.status.clone().unwrap_or_default(),
            pods,
            now,
            active: pods.iter().filter(|pod| health::is_active(pod)).collect(),
            stopping: pods.iter().filter(|pod| tracking::is_stopping(pod)).collect(),
            succeeded: 0,
            failed: 0,
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            predecessors: BTreeMap::new(),
        };
        observed.count();
        observed
    }

    fn count(&mut self) {
        let uncounted = self.uncounted();
        let is_noted = |uids: &Option<Vec<String>>, pod: &Pod| {
            let mut uids = uids.iter().flatten();
            uids.any(|uid| uid == tracking::uid(pod))
        };
        let (mut succeeded, mut failed) = (0, 0);
        for pod in self.tracked() {
            if is_success(pod) && !is_noted(&uncounted.succeeded, pod) {
                succeeded += 1;
            }
            if self.is_failed(pod)
                && !is_noted(&uncounted.failed, pod)
                && self.reaction(pod) != Reaction::Ignore
            {
                failed += 1;
            }
        }
        self.succeeded = total(self.status.succeeded, uncounted.succeeded.as_ref()) + succeeded;
        self.failed = total(self.status.failed, uncounted.failed.as_ref()) + failed;
        if self.is_indexed() {
            self.succeeded_indexes = self.count_succeeded_indexes();
            self.succeeded = self.succeeded_indexes.count();
            self.failed_indexes = self.count_failed_indexes();
            self.predecessors = self.find_predecessors();
        }
    }

    fn count_succeeded_indexes(&self) -> Indexes {
        let known = self.status.completed_indexes.as_deref().unwrap_or_default();
        let new = self.tracked().filter(|pod| is_success(pod));
        let new: Indexes = new.filter_map(|pod| tracking::index(pod)).collect();
        Indexes::parse(known, self.completions()).union(&new)
    }

    fn count_failed_indexes(&self) -> Option<Indexes> {
        let limit = self.spec.backoff_limit_per_index?;
        let known = self.status.failed_indexes.as_deref().unwrap_or_default();
        let is_given_up = |pod: &&Arc<Pod>| {
            self.is_failed(pod)
                && match self.reaction(pod) {
                    Reaction::FailIndex => true,
                    Reaction::Ignore => false,
                    Reaction::Count | Reaction::FailJob(_) => tracking::failures(pod) >= limit,
                }
        };
        let new = self.tracked().filter(is_given_up);
        let new: Indexes = new.filter_map(|pod| tracking::index(pod)).collect();
        Some(Indexes::parse(known, self.completions()).union(&new))
    }

    fn find_predecessors(&self) -> BTreeMap<u32, &'a Arc<Pod>> {
        let mut predecessors = BTreeMap::new();
        let Some(failed_indexes) = &self.failed_indexes else {
            return predecessors;
        };
        let active = indexes_of(&self.active);
        for pod in self.tracked().filter(|pod| self.is_failed(pod)) {
            let Some(index) = tracking::index(pod) else {
                continue;
            };
            if [&self.succeeded_indexes, failed_indexes, &active]
                .iter()
                .any(|done| done.contains(index))
            {
                continue;
            }
            match predecessors.entry(index) {
                Entry::Vacant(entry) => {
                    entry.insert(pod);
                }
                Entry::Occupied(mut entry) if attempt(entry.get()) <= attempt(pod) => {
                    entry.insert(pod);
                }
                Entry::Occupied(_) => {}
            }
        }
        predecessors
    }

    /// The pods whose end has yet to be counted and, in an indexed job, can be.
    pub(crate) fn tracked(&self) -> impl Iterator<Item = &'a Arc<Pod>> {
        let pods = self.pods.iter();
        pods.filter(|pod| tracking::is_tracked(pod) && self.has_place(pod))
    }

    /// Whether the pod stands for one of the wanted completions at all.
    pub(crate) fn has_place(&self, pod: &Pod) -> bool {
        !self.is_indexed() || tracking::index(pod).is_some_and(|index| index < self.completions())
    }

    /// Whether the pod counts as failed: also one that is deleted before its end, unless the job waits
    /// to see how it ends.
    pub(crate) fn is_failed(&self, pod: &Pod) -> bool {
        health::phase(pod) == "Failed" || (!self.replaces_only_failed() && tracking::is_stopping(pod))
    }

    pub(crate) fn reaction(&self, pod: &Pod) -> Reaction {
        failure_policy::reaction(self.spec.pod_failure_policy.as_ref(), pod)
    }

    pub(crate) fn uncounted(&self) -> UncountedTerminatedPods {
        self.status.uncounted_terminated_pods.clone().unwrap_or_default()
    }

    pub(crate) fn is_indexed(&self) -> bool {
        self.spec.completion_mode.as_deref() == Some("Indexed")
    }

    /// How many completions there are to be; for jobs that say so.
    pub(crate) fn completions(&self) -> u32 {
        self.spec
            .completions
            .unwrap_or_default()
            .try_into()
            .unwrap_or_default()
    }

    pub(crate) fn parallelism(&self) -> usize {
        self.spec.parallelism.unwrap_or(1).try_into().unwrap_or_default()
    }

    pub(crate) fn backoff_limit(&self) -> usize {
        self.spec
            .backoff_limit
            .unwrap_or(6)
            .try_into()
            .unwrap_or_default()
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        self.job.metadata.deletion_timestamp.is_some()
    }

    /// Whether a pod gets its successor only after its end, and not when it is asked to stop.
    pub(crate) fn replaces_only_failed(&self) -> bool {
        self.spec.pod_replacement_policy.as_deref() == Some("Failed")
            || self.spec.pod_failure_policy.is_some()
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&JobCondition> {
        let mut conditions = self.status.conditions.iter().flatten();
        conditions.find(|condition| condition.type_ == kind)
    }

    pub(crate) fn is_true(&self, kind: &str) -> bool {
        self.condition(kind)
            .is_some_and(|condition| condition.status == "True")
    }

    /// Since when the job runs; a suspended job begins anew when it is resumed.
    pub(crate) fn started_at(&self) -> Option<Timestamp> {
        let known = self.status.start_time.as_ref().map(|time| time.0);
        match self.is_suspended() {
            true => known,
            false if self.is_true("Suspended") => Some(self.now),
            false => known.or(Some(self.now)),
        }
    }
}

pub(crate) fn is_success(pod: &Pod) -> bool {
    health::phase(pod) == "Succeeded"
}

pub(crate) fn indexes_of(pods: &[&Arc<Pod>]) -> Indexes {
    pods.iter().filter_map(|pod| tracking::index(pod)).collect()
}

fn total(counted: Option<i32>, uncounted: Option<&Vec<String>>) -> usize {
    usize::try_from(counted.unwrap_or_default()).unwrap_or_default() + uncounted.map_or(0, Vec::len)
}

/// Orders pods of one index.
fn attempt(pod: &Pod) -> (i32, Timestamp) {
    let failures = tracking::failures(pod).saturating_add(tracking::ignored_failures(pod));
    (failures, tracking::finished_at(pod))
}
