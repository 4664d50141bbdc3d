//! ControllerRevisions: the templates a StatefulSet or DaemonSet had, kept so that it can go back. What to
//! keep is decided here, `history` does it.

pub(crate) mod history;

use std::sync::Arc;

use k8s_openapi::{
    api::{apps::v1::ControllerRevision, core::v1::PodTemplateSpec},
    apimachinery::pkg::{
        apis::meta::v1::{ObjectMeta, OwnerReference},
        runtime::RawExtension,
    },
};
use serde_json::{Value, json};

use crate::hash;

/// The label with the hash of a revision's data, on the revisions of a StatefulSet and of a DaemonSet.
pub(crate) const STATEFUL_HASH: &str = "controller.kubernetes.io/hash";
pub(crate) const DAEMON_HASH: &str = "controller-revision-hash";

/// The longest part of the owner's name in the name of a revision.
const LONGEST_PREFIX: usize = 223;

/// The strategic merge patch that gives an owner this template.
pub(crate) fn data(template: &PodTemplateSpec) -> Value {
    let mut template = json!(template);
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

/// The template a revision keeps.
pub(crate) fn template(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    let data = &revision.data.as_ref()?.0;
    serde_json::from_value(data.pointer("/spec/template")?.clone()).ok()
}

/// A revision named after its data; after a collision the count gives another name.
pub(crate) fn make(
    owner: &OwnerReference,
    meta: &ObjectMeta,
    template: &PodTemplateSpec,
    hash_label: &str,
    number: i64,
    collisions: i32,
) -> ControllerRevision {
    let data = data(template);
    let hash = hash::of_revision(&data, collisions);
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.clone());
    let mut labels = labels.unwrap_or_default();
    labels.insert(hash_label.into(), hash.clone());
    let prefix = owner.name.get(..LONGEST_PREFIX).unwrap_or(&owner.name);
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{prefix}-{hash}")),
            namespace: meta.namespace.clone(),
            labels: Some(labels),
            annotations: meta.annotations.clone(),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(data)),
        revision: number,
    }
}

/// From the oldest to the newest.
pub(crate) fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    revisions.sort_by_key(|revision| {
        let created = revision.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (revision.revision, created, revision.metadata.name.clone())
    });
}

/// How the present template becomes the newest revision.
#[derive(Debug, PartialEq)]
pub(crate) enum Update {
    /// It is the newest already.
    Keep(Arc<ControllerRevision>),
    /// It was there before: its revision becomes the newest again.
    Renumber(Arc<ControllerRevision>, i64),
    Create(Box<ControllerRevision>),
}

impl Update {
    pub(crate) fn revision(&self) -> &ControllerRevision {
        match self {
            Self::Keep(revision) | Self::Renumber(revision, _) => revision,
            Self::Create(revision) => revision,
        }
    }
}

/// Finds the revision of a new one's data among the known, which are sorted.
pub(crate) fn update(known: &[Arc<ControllerRevision>], new: ControllerRevision) -> Update {
    let equal = known.iter().rposition(|revision| revision.data == new.data);
    match equal {
        Some(position) if position + 1 == known.len() => Update::Keep(known[position].clone()),
        Some(position) => Update::Renumber(known[position].clone(), new.revision),
        None => Update::Create(Box::new(new)),
    }
}

/// The number after the newest.
pub(crate) fn next(known: &[Arc<ControllerRevision>]) -> i64 {
    known.last().map_or(1, |newest| newest.revision + 1)
}

/// The oldest of those nobody uses, beyond the number that is kept to go back to.
pub(crate) fn surplus(
    known: &[Arc<ControllerRevision>],
    limit: Option<i32>,
    is_used: impl Fn(&ControllerRevision) -> bool,
) -> Vec<Arc<ControllerRevision>> {
    let Ok(limit) = usize::try_from(limit.unwrap_or(10)) else {
        return Vec::new();
    };
    let unused = known.iter().filter(|revision| !is_used(revision));
    let unused: Vec<_> = unused.cloned().collect();
    let surplus = unused.len().saturating_sub(limit);
    unused.into_iter().take(surplus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(number: i64, image: &str) -> ControllerRevision {
        let template = json!({"metadata": {"labels": {"app": "db"}},
            "spec": {"containers": [{"name": "c", "image": image}]}});
        let owner = OwnerReference {
            name: "db".into(),
            ..OwnerReference::default()
        };
        let template = serde_json::from_value(template).unwrap();
        make(
            &owner,
            &ObjectMeta::default(),
            &template,
            STATEFUL_HASH,
            number,
            0,
        )
    }

    #[test]
    fn a_revision_keeps_its_template_and_is_named_after_it() {
        let revision = revision(1, "a");
        let hash = &revision.metadata.labels.as_ref().unwrap()[STATEFUL_HASH];
        assert_eq!(revision.metadata.name, Some(format!("db-{hash}")));
        let image = template(&revision).unwrap().spec.unwrap().containers[0]
            .image
            .clone();
        assert_eq!(image.as_deref(), Some("a"));
    }

    #[test]
    fn a_template_that_was_there_before_becomes_the_newest_again() {
        let known = [Arc::new(revision(1, "a")), Arc::new(revision(2, "b"))];
        assert_eq!(update(&known, revision(3, "b")), Update::Keep(known[1].clone()));
        assert_eq!(
            update(&known, revision(3, "a")),
            Update::Renumber(known[0].clone(), 3)
        );
        assert!(matches!(update(&known, revision(3, "c")), Update::Create(_)));
        assert_eq!(next(&known), 3);
    }
}
