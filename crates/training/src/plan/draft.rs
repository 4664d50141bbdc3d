//! A plan in the making: the children that are missing or too many, and the status so far.

use std::collections::{BTreeMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use resources::{JobStatus, ReplicaStatus, conditions::CREATED};
use serde_json::Value;

use super::{
    Delete, Event, Plan,
    launcher::{is_alive, workers_run},
    mend,
};
use crate::{
    Child, Gang, Observed, Settings,
    account::{Account, Role},
    children, conditions,
    job::Job,
    observed::{Phase, Pod},
    restarts, why,
};

/// A pod of a lost node that still counts as stopping after this long is given up.
const LOST: SignedDuration = SignedDuration::from_mins(5);

pub(crate) struct Draft<'a> {
    pub job: &'a Job,
    pub observed: &'a Observed,
    pub settings: &'a Settings,
    pub now: Timestamp,
    pub status: JobStatus,
    pub delete_job: bool,
    pub(super) make: Vec<Child>,
    pub(super) delete: Vec<Delete>,
    events: Vec<Event>,
    wake_at: Option<Timestamp>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(job: &'a Job, observed: &'a Observed, settings: &'a Settings, now: Timestamp) -> Self {
        Self {
            job,
            observed,
            settings,
            now,
            status: job.status.clone(),
            delete_job: false,
            make: Vec::new(),
            delete: Vec::new(),
            events: Vec::new(),
            wake_at: None,
        }
    }

    pub(crate) fn set(&mut self, kind: &str, status: bool, reason: &str, message: &str) -> bool {
        conditions::set(
            &mut self.status.conditions,
            kind,
            status,
            reason,
            message,
            self.now,
        )
    }

    pub(crate) fn tell(&mut self, severity: &'static str, reason: &str, message: &str) {
        self.events.push(Event {
            severity,
            reason: reason.to_owned(),
            message: message.to_owned(),
        });
    }

    pub(crate) fn wake(&mut self, at: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Counts, and leaves the status out where it is what the job has already.
    pub(super) fn finish(mut self, account: &Account<'_>, object: &Value) -> Plan {
        let late = self.launcher_waits();
        // Of a specification that cannot be read nothing is known; what was counted last stays.
        if !self.job.replicas.is_empty() {
            let roles = account.roles.iter();
            let counted =
                roles.filter(|role| !late || role.replica.role != "Launcher" || role.launcher.is_some());
            let mut statuses: BTreeMap<String, ReplicaStatus> = counted
                .map(|role| (role.replica.role.to_owned(), self.replica_status(role)))
                .collect();
            if self.is_doubted() {
                // A role that is missing by mistake is not forgotten.
                for (role, status) in std::mem::take(&mut self.status.replica_statuses) {
                    statuses.entry(role).or_insert(status);
                }
            }
            self.status.replica_statuses = statuses;
            if !self.has_ended() {
                self.count_vanished_launcher(account);
            }
            self.status.progress = Some(account.progress());
        }
        self.status.observed_generation = Some(self.job.identity.generation);
        // Of a job that was refused there is nothing whose version could change.
        if let Some(mpi) = self.job.mpi()
            && conditions::find(&self.status.conditions, CREATED).is_some()
        {
            self.status.mpi_version = Some(mpi.version.name().to_owned());
        }
        let status = serde_json::to_value(&self.status).unwrap_or_default();
        Plan {
            make: self.make,
            delete: self.delete,
            status: (object["status"] != status).then_some(status),
            events: self.events,
            delete_job: self.delete_job,
            wake_at: self.wake_at,
        }
    }

    /// What a launcher has used of the restarts is counted by its job once it makes room for another.
    fn replica_status(&self, role: &Role<'_>) -> ReplicaStatus {
        let mut status = role.status(self.job);
        let known = self.status.restarts.as_ref();
        let is_replaced = |launcher| restarts::is_launcher_replaced(self.job, known, launcher);
        if role.launcher.is_some_and(is_replaced) {
            status.failed = 0;
        }
        status
    }

    /// Makes what is missing and deletes what is too much.
    pub(super) fn bring_in_line(&mut self, account: &Account<'_>) {
        let job = self.job;
        let replaced = account.pods().filter(|pod| restarts::is_replaced(job, pod));
        let misled = account.pods().filter(|pod| waits_for_too_many(job, pod));
        for pod in account.surplus.iter().copied().chain(replaced).chain(misled) {
            self.delete_pod(pod);
        }
        self.delete_lost_addresses();
        self.delete_replaced_launcher(account);
        self.give_up_lost_launchers(account);
        // Half a job is worse than none: it is made when every name is free.
        if let Some(conflict) = self.conflict(account) {
            self.tell("Warning", "ErrResourceExists", &conflict);
            return;
        }
        self.make_supports(account);
        if !self.has_former_launcher(account) {
            self.suspend_launcher(account, false);
        }
        self.make_services(account);
        self.make_replicas(account);
    }

    /// A replica that is there is reached by its Service, which somebody may have deleted.
    fn make_services(&mut self, account: &Account<'_>) {
        let others = self.observed.others.iter();
        let there: HashSet<&str> = others
            .filter(|other| other.kind == "Service")
            .map(|other| other.name.as_str())
            .collect();
        for role in &account.roles {
            for index in (0_u32..)
                .zip(&role.places)
                .filter_map(|(index, place)| place.map(|_| index))
            {
                if !there.contains(self.job.child_name(role.replica.role, index).as_str()) {
                    let service = children::service(self.job, role.replica, index);
                    self.make.extend(service.map(Child::create));
                }
            }
        }
    }

    /// What leads to replicas that the job has no more.
    fn delete_lost_addresses(&mut self) {
        if self.job.kind.port.is_none() {
            return;
        }
        let own = self.observed.others.iter().filter(|other| self.is_own(other));
        let services: Vec<&str> = own
            .filter(|other| other.kind == "Service")
            .map(|service| service.name.as_str())
            .collect();
        if services.len() <= self.job.total() as usize {
            // The names of all are of no interest where there cannot be one too many.
            return;
        }
        let replicas = self.job.replicas.iter();
        let wanted: HashSet<String> = replicas
            .flat_map(|replica| (0..replica.count).map(|index| self.job.child_name(replica.role, index)))
            .collect();
        for name in services.into_iter().filter(|name| !wanted.contains(*name)) {
            self.delete_if_there("Service", name);
        }
    }

    fn make_replicas(&mut self, account: &Account<'_>) {
        let missing: Vec<(&Role<'_>, u32)> = account.roles.iter().flat_map(missing).collect();
        if missing.is_empty() {
            return;
        }
        // Failures of this moment are not in the status that the pods would be made by.
        if self.status.restarts != self.job.status.restarts && self.job.restarts_together() {
            return;
        }
        let restarts = self.status.restarts.as_ref();
        if let Some(until) = restarts.and_then(|restarts| restarts::waits_until(restarts, self.now)) {
            self.wake(until);
            return;
        }
        if self.waits_for_pod_group() {
            return;
        }
        let has_former = self.has_former_launcher(account);
        // A gang is made again when all of it is gone.
        let is_old = |pod: &Pod| restarts::is_replaced(self.job, pod);
        if self.job.restarts_together() && (has_former || account.pods().any(is_old)) {
            return;
        }
        let is_early = |role: &Role<'_>| has_former && role.replica.role == "Launcher";
        for (role, index) in missing.into_iter().filter(|(role, _)| !is_early(role)) {
            self.make_replica(account, role, index);
        }
    }

    /// Volcano takes pods when it has let their group in.
    pub(super) fn waits_for_pod_group(&self) -> bool {
        if children::of_mpi_operator(self.job) {
            return false;
        }
        let group = self.existing("PodGroup", self.job.name());
        let phase = group.and_then(|group| group.phase.as_deref()).unwrap_or_default();
        self.settings.gang == Gang::Volcano && ["", "Pending"].contains(&phase)
    }

    fn make_replica(&mut self, account: &Account<'_>, role: &Role<'_>, index: u32) {
        let is_launcher = role.replica.role == "Launcher";
        if is_launcher && self.launcher_waits() && !workers_run(account) {
            return;
        }
        if let Some(service) = children::service(self.job, role.replica, index) {
            self.make_or_mend(Child::create(service));
        }
        let object = children::replica_object(self.job, role.replica, index, self.settings);
        self.make.push(Child::create(object));
    }

    pub(crate) fn make_supports(&mut self, account: &Account<'_>) {
        for child in children::supports(self.job, self.settings, &account.running_workers()) {
            // A group asks for room, of which a job that stands still needs none.
            if child.kind() != "PodGroup" || !self.job.policy.suspend {
                self.make_or_mend(child);
            }
        }
    }

    fn make_or_mend(&mut self, child: Child) {
        match self.existing(child.kind(), child.name()) {
            None => self.make.push(child),
            Some(existing) if self.is_own(existing) => {
                self.make.extend(mend::mend(existing, &child));
            }
            Some(_) => {}
        }
    }

    fn is_own(&self, existing: &crate::Existing) -> bool {
        existing.controller.as_deref() == Some(self.job.identity.uid.as_str())
    }

    fn existing(&self, kind: &str, name: &str) -> Option<&'a crate::Existing> {
        self.observed
            .others
            .iter()
            .find(|existing| existing.kind == kind && existing.name == name)
    }

    /// Somebody else's object with the name of a child, in the words of the originals.
    pub(crate) fn conflict(&self, account: &Account<'_>) -> Option<String> {
        let others = self.observed.others.iter();
        let foreign =
            others.filter(|other| other.controller.as_deref() != Some(self.job.identity.uid.as_str()));
        let foreign = foreign.map(|other| (other.kind.clone(), other.name.clone()));
        let (kind, name) = account.conflicts.iter().cloned().chain(foreign).next()?;
        let owner = self.job.kind.kind;
        Some(format!(
            "Resource {name:?} of Kind {kind:?} already exists and is not managed by {owner}"
        ))
    }

    pub(crate) fn delete_pod(&mut self, pod: &Pod) {
        if !self.is_written_down(pod) {
            return;
        }
        if pod.is_deleted() && !self.is_given_up(pod) {
            return;
        }
        self.delete.push(Delete {
            kind: "Pod",
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            force: pod.is_deleted(),
            tell_failed: pod.is_deleted() && is_alive(pod) && !self.is_own_pod(pod),
        });
    }

    /// Whether the job has made it itself, and not its batch Job.
    fn is_own_pod(&self, pod: &Pod) -> bool {
        pod.controller.as_deref() == Some(self.job.identity.uid.as_str())
    }

    /// The Services of replicas of which nothing is to stay, whatever has become of their pods.
    pub(crate) fn delete_addresses(&mut self, stays: impl Fn(&str) -> bool) {
        if self.job.kind.port.is_none() {
            return;
        }
        let others = self.observed.others.iter();
        let own = others.filter(|other| other.kind == "Service" && self.is_own(other));
        let left: Vec<Delete> = own
            .filter(|service| !stays(&service.name))
            .map(|service| Delete {
                kind: "Service",
                name: service.name.clone(),
                uid: service.uid.clone(),
                force: false,
                tell_failed: false,
            })
            .collect();
        self.delete.extend(left);
    }

    /// Whether a pod that is asked to stop never will, as its node is lost.
    pub(super) fn is_given_up(&mut self, pod: &Pod) -> bool {
        let Some(deleted) = pod.deleted.filter(|_| pod.is_disrupted) else {
            return false;
        };
        let given_up = self.give_up_at(deleted);
        if given_up > self.now {
            self.wake(given_up);
        }
        given_up <= self.now
    }

    fn give_up_at(&self, deleted: Timestamp) -> Timestamp {
        deleted.saturating_add(LOST).unwrap_or(self.now)
    }

    /// That a pod should have stopped by now, and until when that is waited for.
    pub(super) fn lost(&mut self, account: &Account<'_>) -> Option<String> {
        if self.is_doubted() {
            // Nobody is replaced, and so nobody is given up.
            return None;
        }
        let (job, now) = (self.job, self.now);
        let counted = account.pods().filter(|pod| {
            let is_launched = pod.controller.as_deref() != Some(job.identity.uid.as_str());
            is_launched || restarts::is_replaced_by(job, self.status.restarts.as_ref(), pod)
        });
        let stopping = counted
            .chain(&self.observed.former)
            .filter(|pod| pod.is_disrupted && is_alive(pod))
            .filter_map(|pod| Some((pod.deleted?, pod)))
            .filter(|(deleted, _)| self.give_up_at(*deleted) > now);
        let (deleted, pod) = stopping.min_by_key(|(deleted, _)| *deleted)?;
        if deleted > now {
            self.wake(deleted);
            return None;
        }
        Some(why::lost(job, pod, self.give_up_at(deleted)))
    }

    /// Whether a launcher still runs whose batch Job is gone, because somebody has deleted it: there are never two. Or
    /// what it has used is not stored yet, which is what the next may not use.
    fn has_former_launcher(&mut self, account: &Account<'_>) -> bool {
        let former = self.observed.former.iter();
        let is_unwritten = former.filter(|pod| !self.is_written_down(pod)).count() > 0;
        if is_unwritten || self.used_by_vanished_launcher(account) > 0 {
            return true;
        }
        let former = self.observed.former.iter();
        let alive = former.filter(|pod| is_alive(pod));
        alive.filter(|pod| !self.is_given_up(pod)).count() > 0
    }

    /// What the kubelet has restarted in a pod is told by the pod alone, so it is written down before the pod goes.
    /// Whether that is done.
    pub(super) fn is_written_down(&mut self, pod: &Pod) -> bool {
        let job = self.job;
        if pod.restarts == 0 || self.has_ended() || restarts::is_replaced(job, pod) {
            return true;
        }
        if !restarts::is_replaced_by(job, self.status.restarts.as_ref(), pod) {
            let known = self.status.restarts.get_or_insert_default();
            known.count += pod.restarts;
            known.cause = why::ending(job, pod);
            known.replaced.push(pod.uid.clone());
        }
        false
    }

    pub(crate) fn delete_pod_group(&mut self) {
        if !matches!(self.settings.gang, Gang::None | Gang::Embedded) {
            let name = self.job.name().to_owned();
            self.delete_if_there("PodGroup", &name);
        }
    }

    fn delete_if_there(&mut self, kind: &'static str, name: &str) {
        if let Some(existing) = self.existing(kind, name)
            && self.is_own(existing)
        {
            self.delete.push(Delete {
                kind,
                name: name.to_owned(),
                uid: existing.uid.clone(),
                force: false,
                tell_failed: false,
            });
        }
    }
}

/// The job has become smaller since the pod was made, which has no place yet and would never get one.
fn waits_for_too_many(job: &Job, pod: &Pod) -> bool {
    let is_waiting = pod.phase == Phase::Pending && pod.unscheduled.is_some();
    // A batch Job would make the same pod again.
    let is_own = pod.controller.as_deref() == Some(job.identity.uid.as_str());
    is_waiting && is_own && pod.group_size.is_some_and(|size| size > children::members(job))
}

/// The numbers of a role that have nobody.
fn missing<'a, 'b>(role: &'a Role<'b>) -> Vec<(&'a Role<'b>, u32)> {
    let is_batch = role.places.is_empty() && role.replica.count > 0;
    if is_batch {
        return if role.launcher.is_some() {
            Vec::new()
        } else {
            vec![(role, 0)]
        };
    }
    let numbers = role
        .places
        .iter()
        .enumerate()
        .filter(|(_, place)| place.is_none());
    numbers.map(|(index, _)| (role, index as u32)).collect()
}
