//! Placing the pods of a job together: the PodGroup, and what each pod says of it.

use resources::names::{annotations, labels};
use serde_json::{Value, json};

use super::metadata;
use crate::{
    Gang, Settings,
    job::{Job, MpiVersion},
    template,
};

/// The object that tells a gang scheduler how many pods belong together.
pub(super) fn pod_group(job: &Job, settings: &Settings) -> Option<Value> {
    let scheduling = &job.policy.scheduling;
    let mut spec = json!({"minMember": members(job)});
    if let Some(resources) = &scheduling.min_resources {
        spec["minResources"] = json!(resources);
    }
    let api_version = match settings.gang {
        Gang::None | Gang::Embedded => return None,
        Gang::Volcano => {
            spec["queue"] = json!(queue(job));
            if let Some(class) = priority_class(job) {
                spec["priorityClassName"] = json!(class);
            }
            "scheduling.volcano.sh/v1beta1"
        }
        Gang::SchedulerPlugins { .. } => {
            if let Some(seconds) = scheduling.schedule_timeout_seconds {
                spec["scheduleTimeoutSeconds"] = json!(seconds);
            }
            "scheduling.x-k8s.io/v1alpha1"
        }
    };
    let mut meta = metadata::metadata(job, job.name());
    if !job.identity.annotations.is_empty() {
        meta["annotations"] = json!(job.identity.annotations);
    }
    Some(json!({"apiVersion": api_version, "kind": "PodGroup", "metadata": meta, "spec": spec}))
}

/// The one of the policy; of v2beta1 else that of the launcher, or of the workers.
fn priority_class(job: &Job) -> Option<&str> {
    let named = job.policy.scheduling.priority_class.as_deref();
    let is_v2beta1 = job.mpi().is_some_and(|mpi| mpi.version == MpiVersion::V2Beta1);
    let mut of_templates = job
        .replicas
        .iter()
        .filter(|_| is_v2beta1)
        .filter_map(|replica| replica.template["spec"]["priorityClassName"].as_str());
    named
        .filter(|class| !class.is_empty())
        .or_else(|| of_templates.find(|class| !class.is_empty()))
}

fn queue(job: &Job) -> String {
    let annotated = job.identity.annotations.get(annotations::VOLCANO_QUEUE).cloned();
    annotated
        .or_else(|| job.policy.scheduling.queue.clone())
        .unwrap_or_else(|| "default".to_owned())
}

/// How many pods must have a place for any to get one.
pub(crate) fn members(job: &Job) -> u32 {
    let wanted = job
        .policy
        .scheduling
        .min_available
        .and_then(|count| u32::try_from(count).ok());
    // A launcher that is made when its workers are ready cannot be waited for by them.
    let late = u32::from(job.mpi().is_some_and(|mpi| mpi.launcher_waits));
    wanted.unwrap_or_else(|| job.total().saturating_sub(late))
}

pub(super) fn decorate(job: &Job, role: &str, settings: &Settings, template: &mut Value) {
    let scheduler = match &settings.gang {
        Gang::None => return,
        Gang::Embedded => {
            let size = members(job);
            if size > 1 {
                // Jobs of other kinds may have the same name.
                let group = format!("{}-{}", job.kind.kind.to_lowercase(), job.name());
                annotate(template, annotations::POD_GROUP, &group);
                annotate(template, annotations::POD_GROUP_SIZE, &size.to_string());
            }
            return;
        }
        Gang::Volcano => {
            annotate(template, annotations::VOLCANO_GROUP, job.name());
            annotate(template, annotations::VOLCANO_TASK, &role.to_lowercase());
            "volcano"
        }
        Gang::SchedulerPlugins { scheduler } => {
            let labels = template::map(&mut template["metadata"], "labels");
            labels.insert(labels::POD_GROUP.to_owned(), json!(job.name()));
            scheduler
        }
    };
    // A scheduler that the user chose is not taken away, and one without a name is the cluster's own.
    let chosen = template["spec"]["schedulerName"].as_str().unwrap_or_default();
    if chosen.is_empty() && !scheduler.is_empty() {
        template["spec"]["schedulerName"] = json!(scheduler);
    }
}

fn annotate(template: &mut Value, name: &str, value: &str) {
    template::map(&mut template["metadata"], "annotations").insert(name.to_owned(), json!(value));
}
