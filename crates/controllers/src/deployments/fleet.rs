//! The ReplicaSets of a deployment: the one for its template, and those of former templates.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet, ReplicaSetStatus},
    core::v1::PodTemplateSpec,
};

pub(crate) const TEMPLATE_HASH: &str = "pod-template-hash";

/// Copies of the sets, changed by planning into what they should become.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub new: Option<ReplicaSet>,
    /// From the oldest to the youngest.
    pub old: Vec<ReplicaSet>,
}

impl Fleet {
    pub(crate) fn of(deployment: &Deployment, sets: &[Arc<ReplicaSet>]) -> Self {
        let template = deployment.spec.as_ref().map(|spec| &spec.template);
        let mut old: Vec<ReplicaSet> = sets.iter().map(|set| (**set).clone()).collect();
        old.sort_by_key(age);
        let new = old
            .iter()
            .position(|set| is_same_template(template, set_template(set)));
        let new = new.map(|position| old.remove(position));
        Self { new, old }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut ReplicaSet> {
        self.old.iter_mut().chain(&mut self.new)
    }

    /// How many pods the sets are to have.
    pub(crate) fn replicas(&self) -> i32 {
        self.all().map(replicas).sum()
    }

    pub(crate) fn available(&self) -> i32 {
        self.all().map(available).sum()
    }
}

/// Sorts from the oldest to the youngest.
pub(crate) fn age(set: &ReplicaSet) -> impl Ord + use<> {
    let created = set.metadata.creation_timestamp.as_ref().map(|time| time.0);
    (created, set.metadata.name.clone())
}

pub(crate) fn replicas(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

pub(crate) fn available(set: &ReplicaSet) -> i32 {
    count(set, |status| status.available_replicas)
}

pub(crate) fn count(set: &ReplicaSet, field: impl Fn(&ReplicaSetStatus) -> Option<i32>) -> i32 {
    set.status.as_ref().and_then(field).unwrap_or_default()
}

/// How many pods a set has, by its own account.
pub(crate) fn actual(set: &ReplicaSet) -> i32 {
    set.status
        .as_ref()
        .map(|status| status.replicas)
        .unwrap_or_default()
}

pub(crate) fn set_template(set: &ReplicaSet) -> Option<&PodTemplateSpec> {
    set.spec.as_ref()?.template.as_ref()
}

/// Whether two templates make the same pods: the label with the hash is the sets' own affair.
pub(crate) fn is_same_template(one: Option<&PodTemplateSpec>, other: Option<&PodTemplateSpec>) -> bool {
    let plain = |template: Option<&PodTemplateSpec>| {
        let mut template = template.cloned().unwrap_or_default();
        let mut meta = template.metadata.take().unwrap_or_default();
        let mut labels = meta.labels.take().unwrap_or_default();
        labels.remove(TEMPLATE_HASH);
        meta.labels = Some(labels);
        meta.annotations.get_or_insert_default();
        template.metadata = Some(meta);
        template
    };
    plain(one) == plain(other)
}
