//! Everything that is there of a job but the job itself.

use jiff::Timestamp;
use k8s_openapi::api::{
    autoscaling::v2::HorizontalPodAutoscaler,
    core::v1::{ConfigMap, Secret, Service, ServiceAccount},
    rbac::v1::{Role, RoleBinding},
};
use reconcile::{Cached as _, Key};
use resources::kinds::{MPI_JOB, MX_JOB};
use training::{BatchJob, Existing, Gang, Observed, Phase, Pod, Refusal, Settings, names};

use crate::{
    launched,
    pod_groups::{PluginsGroup, VolcanoGroup},
    seen::Watched,
    stored_job::StoredJob,
    world::World,
};

/// The children of a job, and whatever has the name of one.
pub(crate) fn observe(
    world: &World,
    job: &StoredJob,
    settings: &Settings,
    refusals: Vec<Refusal>,
) -> Observed {
    let mut observed = Observed {
        pods: pods_of(world, job.uid()),
        former: Vec::new(),
        jobs: jobs_of(world, job.uid()),
        others: Vec::new(),
        refusals,
    };
    let fallen = world.fallen.of(job, &observed.pods);
    observed.pods.extend(fallen);
    for batch in &observed.jobs {
        observed.pods.extend(pods_of(world, &batch.uid));
    }
    observed.former = former_launchers(world, job);
    for (kind, name) in names(&job.object, settings) {
        let key = Key::new(job.namespace(), &name);
        match kind {
            "Pod" => observed
                .pods
                .extend(in_the_way(world.pods.get(&key).map(|pod| pod.form()), job)),
            "Job" => observed.jobs.extend(
                world
                    .jobs
                    .get(&key)
                    .map(|found| found.form())
                    .filter(|found| is_foreign(found.controller.as_deref(), job)),
            ),
            kind => observed
                .others
                .extend(existing(world, &settings.gang, kind, &key)),
        }
    }
    add_lost_services(world, job, &mut observed);
    add_lost_groups(world, job, &settings.gang, &mut observed);
    observed
}

/// Services of replicas that the job no longer has: what has a name of its own is found by it.
fn add_lost_services(world: &World, job: &StoredJob, observed: &mut Observed) {
    let controlled = world.services.controlled_by(job.uid());
    let known = observed
        .others
        .iter()
        .filter(|other| other.kind == "Service" && !is_foreign(other.controller.as_deref(), job));
    if controlled.len() <= known.count() {
        return;
    }
    let found: Vec<Existing> = controlled.iter().map(|service| service.form()).collect();
    observed
        .others
        .retain(|other| other.kind != "Service" || is_foreign(other.controller.as_deref(), job));
    observed.others.extend(found);
}

/// Groups of an MxJob whose name is not theirs any more: it has a part that can be written over.
fn add_lost_groups(world: &World, job: &StoredJob, gang: &Gang, observed: &mut Observed) {
    if job.object["kind"] != MX_JOB.kind {
        return;
    }
    let found = match gang {
        Gang::None | Gang::Embedded => return,
        Gang::Volcano => controlled::<VolcanoGroup>(world, job.uid()),
        Gang::SchedulerPlugins { .. } => controlled::<PluginsGroup>(world, job.uid()),
    };
    let is_known = |group: &Existing| observed.others.iter().any(|other| other.uid == group.uid);
    let lost: Vec<Existing> = found.into_iter().filter(|group| !is_known(group)).collect();
    observed.others.extend(lost);
}

fn controlled<K: Watched<Form = Existing>>(world: &World, uid: &str) -> Vec<Existing> {
    let controlled = K::informer(world).controlled_by(uid);
    controlled.iter().map(|found| found.form()).collect()
}

/// Whether something of another owner has the name of a child.
pub(crate) fn has_foreign(observed: &Observed, job: &StoredJob) -> bool {
    let others = observed.others.iter().map(|other| &other.controller);
    let jobs = observed.jobs.iter().map(|batch| &batch.controller);
    let uids: Vec<&str> = observed.jobs.iter().map(|batch| batch.uid.as_str()).collect();
    let pods = observed.pods.iter().map(|pod| &pod.controller);
    let mut pods = pods.filter(|controller| !controller.as_deref().is_some_and(|uid| uids.contains(&uid)));
    others
        .chain(jobs)
        .any(|controller| is_foreign(controller.as_deref(), job))
        || pods.any(|controller| is_foreign(controller.as_deref(), job))
}

/// Whether a pod of the job has a node, or had one: what it needs beside pods is needed by now.
pub(crate) fn has_begun(world: &World, uid: &str) -> bool {
    let pods = world.pods.controlled_by(uid);
    let has_begun = |pod: Pod| pod.has_node || pod.phase != Phase::Pending;
    pods.iter().any(|pod| has_begun(pod.form()))
}

fn pods_of(world: &World, uid: &str) -> Vec<Pod> {
    let pods = world.pods.controlled_by(uid);
    pods.iter().map(|pod| pod.form()).collect()
}

/// Pods of a launcher's batch Job that is gone, which anybody may delete, or has another uid now.
fn former_launchers(world: &World, job: &StoredJob) -> Vec<Pod> {
    if job.object["kind"] != MPI_JOB.kind {
        return Vec::new();
    }
    let batch_job = launched::batch_job(job.namespace(), job.name());
    let current = world.jobs.get(&batch_job);
    let current = current.as_ref().map(|batch_job| batch_job.uid());
    let pods = world.launched.of(&batch_job).into_iter();
    let pods = pods.filter_map(|name| world.pods.get(&Key::new(job.namespace(), &name)));
    let former = pods.map(|pod| pod.form());
    let former = former.filter(|pod| pod.controller.as_deref() != current);
    former.map(|pod| without_debts(pod, job)).collect()
}

/// A pod that is older than the job was made for another of its name, whose restarts are not this one's.
fn without_debts(mut pod: Pod, job: &StoredJob) -> Pod {
    let made = job.object["metadata"]["creationTimestamp"].as_str();
    let made: Option<Timestamp> = made.and_then(|time| time.parse().ok());
    if pod.created.zip(made).is_some_and(|(pod, job)| pod < job) {
        pod.restarts = 0;
    }
    pod
}

fn jobs_of(world: &World, uid: &str) -> Vec<BatchJob> {
    let jobs = world.jobs.controlled_by(uid);
    jobs.iter().map(|job| job.form()).collect()
}

fn in_the_way(pod: Option<Pod>, job: &StoredJob) -> Option<Pod> {
    pod.filter(|pod| is_foreign(pod.controller.as_deref(), job))
}

fn is_foreign(controller: Option<&str>, job: &StoredJob) -> bool {
    controller != Some(job.uid())
}

fn existing(world: &World, gang: &Gang, kind: &str, key: &Key) -> Option<Existing> {
    match kind {
        "ConfigMap" => find::<ConfigMap>(world, key),
        "HorizontalPodAutoscaler" => find::<HorizontalPodAutoscaler>(world, key),
        "PodGroup" if *gang == Gang::Volcano => find::<VolcanoGroup>(world, key),
        "PodGroup" => find::<PluginsGroup>(world, key),
        "Role" => find::<Role>(world, key),
        "RoleBinding" => find::<RoleBinding>(world, key),
        "Secret" => find::<Secret>(world, key),
        "Service" => find::<Service>(world, key),
        "ServiceAccount" => find::<ServiceAccount>(world, key),
        _ => None,
    }
}

fn find<K: Watched<Form = Existing>>(world: &World, key: &Key) -> Option<Existing> {
    K::informer(world).get(key).map(|found| found.form())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::stored_job::KeptJob;

    fn job() -> StoredJob {
        let kept: KeptJob =
            serde_json::from_value(json!({"metadata": {"name": "j", "uid": "ours"}})).unwrap();
        StoredJob::of(Arc::new(kept))
    }

    fn owned(uid: &str) -> Value {
        json!({"metadata": {"name": "j-worker-0", "uid": uid, "ownerReferences": [{"uid": uid, "controller": true}]}})
    }

    #[test]
    fn what_a_job_controls_itself_or_by_a_batch_job_is_not_foreign() {
        let mut batch = BatchJob::read(&owned("ours"));
        batch.uid = "batch".to_owned();
        let observed = Observed {
            pods: vec![Pod::read(&owned("ours")), Pod::read(&owned("batch"))],
            former: Vec::new(),
            jobs: vec![batch],
            others: vec![Existing::read("Service", &owned("ours"))],
            refusals: Vec::new(),
        };
        assert!(!has_foreign(&observed, &job()));
    }

    #[test]
    fn what_belongs_to_another_or_to_nobody_is_in_the_way() {
        let nobodys = json!({"metadata": {"name": "j-config"}});
        for observed in [
            Observed {
                pods: vec![Pod::read(&owned("theirs"))],
                ..Observed::default()
            },
            Observed {
                jobs: vec![BatchJob::read(&owned("theirs"))],
                ..Observed::default()
            },
            Observed {
                others: vec![Existing::read("ConfigMap", &nobodys)],
                ..Observed::default()
            },
        ] {
            assert!(has_foreign(&observed, &job()), "{observed:?}");
        }
    }
}
