//! Placing the pods of an MxJob together, which the original left to chance.

use std::borrow::Cow;

use resources::{
    kinds::MX_JOB,
    names::{annotations, mxnet_labels},
};
use serde_json::{Value, json};

use super::{
    running::{self, Name},
    spec::MxJob,
};
use crate::{
    BatchJob, Delete, Existing, Gang, Observed, Settings,
    children::{Membership, needs_of},
    job::Identity,
};

pub(super) const POD_GROUP: &str = "PodGroup";

/// As the other children are named: jobs of other kinds may have the same name.
fn name(job: &MxJob) -> String {
    format!("{}-{}", job.identity.name, job.runtime_id)
}

fn size(job: &MxJob) -> u32 {
    job.replicas.iter().map(|replica| replica.count).sum()
}

/// Whether its pods need each other.
fn is_gang(job: &MxJob) -> bool {
    job.is_distributed() && size(job) > 1
}

/// The object that tells a gang scheduler how many pods belong together.
pub(super) fn pod_group(job: &MxJob, settings: &Settings) -> Option<Value> {
    let api_version = match settings.gang {
        Gang::Volcano if is_gang(job) => "scheduling.volcano.sh/v1beta1",
        Gang::SchedulerPlugins { .. } if is_gang(job) => "scheduling.x-k8s.io/v1alpha1",
        _ => return None,
    };
    let templates = job.replicas.iter();
    let needs = needs_of(templates.map(|replica| (&replica.template, replica.count)));
    let mut spec = json!({"minMember": size(job)});
    if settings.gang == Gang::Volcano || !needs.is_empty() {
        spec["minResources"] = json!(needs);
    }
    if settings.gang == Gang::Volcano {
        let queue = job.identity.annotations.get(annotations::VOLCANO_QUEUE);
        let queue = queue.filter(|queue| !queue.is_empty());
        spec["queue"] = json!(queue.map_or("default", String::as_str));
    }
    let metadata = json!({
        "name": name(job),
        "namespace": job.identity.namespace,
        "labels": {mxnet_labels::GROUP: "", mxnet_labels::RUNTIME_ID: job.runtime_id},
        "ownerReferences": [job.identity.owner_reference()],
    });
    Some(json!({"apiVersion": api_version, "kind": POD_GROUP, "metadata": metadata, "spec": spec}))
}

/// A pod says which group it is of.
pub(super) fn join(job: &MxJob, role: &str, settings: &Settings, template: &mut Value) {
    if is_gang(job) {
        let membership = Membership {
            kind: MX_JOB.kind,
            group: &name(job),
            size: size(job),
            task: Some(role.to_lowercase()),
        };
        membership.decorate(settings, template);
    }
}

/// Its kind and name, where there is to be one.
pub(super) fn reference(job: &MxJob, settings: &Settings) -> Option<(&'static str, String)> {
    pod_group(job, settings).map(|_| (POD_GROUP, name(job)))
}

/// A job that has begun without a group goes on without: its first pods are of none, and a group that misses them
/// would hold a place for nobody.
pub(super) fn as_begun<'s>(
    identity: &Identity,
    observed: &Observed,
    settings: &'s Settings,
) -> Cow<'s, Settings> {
    let is_alone = |batch: &BatchJob| {
        let name = Name::read(&identity.name, &batch.name);
        let group = name.map(|name| format!("{}-{}", identity.name, name.runtime_id));
        batch.group(&settings.gang) != group.as_deref()
    };
    let knows_groups = matches!(settings.gang, Gang::Volcano | Gang::SchedulerPlugins { .. });
    if !knows_groups || !running::batch_jobs(identity, observed).any(is_alone) {
        return Cow::Borrowed(settings);
    }
    Cow::Owned(Settings {
        gang: Gang::None,
        ..settings.clone()
    })
}

/// The group that its batch Jobs have to wait for: Volcano takes pods when it has let theirs in.
pub(super) fn queued(job: &MxJob, observed: &Observed, settings: &Settings) -> Option<String> {
    let (_, name) = reference(job, settings).filter(|_| settings.gang == Gang::Volcano)?;
    let mut groups = own_groups(&job.identity, observed);
    let group = groups.find(|group| group.name == name);
    let phase = group.and_then(|group| group.phase.as_deref());
    let waits = ["", "Pending"].contains(&phase.unwrap_or_default());
    waits.then_some(name)
}

/// Groups that a specification of before has left, and nobody is of.
pub(super) fn left_over(job: &MxJob, observed: &Observed, settings: &Settings) -> Vec<Delete> {
    let wanted = reference(job, settings);
    let is_wanted = |group: &Existing| wanted.as_ref().is_some_and(|(_, name)| *name == group.name);
    let is_of = |batch: &BatchJob, group: &Existing| {
        let names = batch.groups.as_ref();
        names.is_some_and(|names| [&names.volcano, &names.scheduler_plugins].contains(&&group.name))
    };
    let has_members =
        |group: &Existing| running::batch_jobs(&job.identity, observed).any(|batch| is_of(batch, group));
    let groups = own_groups(&job.identity, observed);
    let groups = groups.filter(|group| !is_wanted(group) && !has_members(group));
    groups.map(removal).collect()
}

fn own_groups<'a>(identity: &'a Identity, observed: &'a Observed) -> impl Iterator<Item = &'a Existing> {
    let groups = observed.others.iter().filter(|other| other.kind == POD_GROUP);
    groups.filter(|group| group.controller.as_deref() == Some(identity.uid.as_str()))
}

/// Who has ended needs no place, but its batch Jobs may not have ended with it.
pub(super) fn give_back(identity: &Identity, observed: &Observed) -> Vec<Delete> {
    let goes_on = |batch: &BatchJob| batch.succeeded == 0 && !batch.is_over();
    if running::batch_jobs(identity, observed).any(goes_on) {
        return Vec::new();
    }
    own_groups(identity, observed).map(removal).collect()
}

fn removal(group: &Existing) -> Delete {
    Delete {
        kind: POD_GROUP,
        name: group.name.clone(),
        uid: group.uid.clone(),
        force: false,
        tell_failed: false,
    }
}
