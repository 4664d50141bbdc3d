//! The pods a job makes.

use k8s_openapi::{
    api::{
        batch::v1::Job,
        core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod, PodSpec},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::Resource as _;

use super::{failure_policy::Reaction, observed::Observed, tracking};
use crate::pods::make;

/// The server appends five characters to the stem of a name, and a name has at most 63.
const LONGEST_STEM: usize = 58;

pub(crate) fn pod(observed: &Observed<'_>, index: Option<u32>) -> Pod {
    let mut pod = make::from_template(&observed.spec.template, owner_reference(observed.job));
    if !tracking::is_tracked(&pod) {
        let finalizers = pod.metadata.finalizers.get_or_insert_default();
        finalizers.push(tracking::FINALIZER.to_owned());
    }
    if let Some(index) = index {
        take_place(&mut pod, observed, index);
    }
    pod
}

pub(crate) fn owner_reference(job: &Job) -> OwnerReference {
    OwnerReference {
        block_owner_deletion: Some(true),
        ..job.controller_owner_ref(&()).unwrap_or_default()
    }
}

/// Tells the pod and its containers which of the completions they are.
fn take_place(pod: &mut Pod, observed: &Observed<'_>, index: u32) {
    let job = observed.job.metadata.name.as_deref().unwrap_or_default();
    let meta = &mut pod.metadata;
    meta.generate_name = Some(stem(job, index));
    let place = (tracking::INDEX.to_owned(), index.to_string());
    meta.labels.get_or_insert_default().extend([place.clone()]);
    let annotations = meta.annotations.get_or_insert_default();
    annotations.extend([place]);
    if observed.failed_indexes.is_some() {
        let (failures, ignored) = inherited_failures(observed, index);
        annotations.insert(tracking::FAILURES.to_owned(), failures.to_string());
        if ignored > 0 {
            annotations.insert(tracking::IGNORED_FAILURES.to_owned(), ignored.to_string());
        }
    }
    let spec: &mut PodSpec = pod.spec.get_or_insert_default();
    spec.hostname = Some(format!("{job}-{index}"));
    let init = spec.init_containers.iter_mut().flatten();
    for container in init.chain(&mut spec.containers) {
        tell_index(container);
    }
}

fn stem(job: &str, index: u32) -> String {
    let end = format!("-{index}-");
    // Names are ASCII.
    let room = LONGEST_STEM.saturating_sub(end.len()).min(job.len());
    format!("{}{end}", &job[..room])
}

/// How often pods of this index have failed: what its last pod knew, and that pod itself.
fn inherited_failures(observed: &Observed<'_>, index: u32) -> (i32, i32) {
    let Some(pod) = observed.predecessors.get(&index) else {
        return (0, 0);
    };
    let (failures, ignored) = (tracking::failures(pod), tracking::ignored_failures(pod));
    match observed.reaction(pod) {
        Reaction::Ignore => (failures, ignored.saturating_add(1)),
        _ => (failures.saturating_add(1), ignored),
    }
}

fn tell_index(container: &mut Container) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    let variables = container.env.get_or_insert_default();
    if variables.iter().any(|variable| variable.name == NAME) {
        return;
    }
    let field = ObjectFieldSelector {
        field_path: format!("metadata.labels['{}']", tracking::INDEX),
        ..ObjectFieldSelector::default()
    };
    variables.push(EnvVar {
        name: NAME.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(field),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_before_the_index() {
        assert_eq!(stem("train", 7), "train-7-");
        let long = stem(&"x".repeat(60), 1234);
        assert_eq!(long.len(), LONGEST_STEM);
        assert!(long.ends_with("x-1234-"));
    }
}
