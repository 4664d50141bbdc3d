//! Placing the pods of a job together: the PodGroup, and what each pod says of it.

use std::collections::BTreeMap;

use kinds::quantity::Quantity;
use resources::names::{annotations, labels};
use serde_json::{Value, json};

use super::metadata;
use crate::{
    Gang, Settings,
    job::{Job, MpiVersion, Replica},
    template,
};

/// The object that tells a gang scheduler how many pods belong together.
pub(super) fn pod_group(job: &Job, settings: &Settings) -> Option<Value> {
    let scheduling = &job.policy.scheduling;
    let resources = match &scheduling.min_resources {
        Some(resources) => json!(resources),
        None => json!(needs(job)),
    };
    let mut spec = json!({"minMember": members(job)});
    if settings.gang == Gang::Volcano || resources != json!({}) {
        spec["minResources"] = resources;
    }
    let is_of_mpi_operator = of_mpi_operator(job);
    let api_version = match settings.gang {
        Gang::None | Gang::Embedded => return None,
        Gang::Volcano => {
            // Volcano has a default of its own, which training-operator writes.
            let default = (!is_of_mpi_operator).then_some("default");
            if let Some(queue) = queue(job).or(default) {
                spec["queue"] = json!(queue);
            }
            if let Some(class) = priority_class(job) {
                spec["priorityClassName"] = json!(class);
            }
            "scheduling.volcano.sh/v1beta1"
        }
        Gang::SchedulerPlugins { .. } => {
            let default = is_of_mpi_operator.then_some(0);
            if let Some(seconds) = scheduling.schedule_timeout_seconds.or(default) {
                spec["scheduleTimeoutSeconds"] = json!(seconds);
            }
            "scheduling.x-k8s.io/v1alpha1"
        }
    };
    let mut meta = metadata::metadata(job, job.name());
    if !job.identity.annotations.is_empty() && !is_of_mpi_operator {
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

fn queue(job: &Job) -> Option<&str> {
    let named = job.policy.scheduling.queue.as_ref();
    let annotated = job.identity.annotations.get(annotations::VOLCANO_QUEUE);
    let mut queues = [named, annotated].into_iter().flatten();
    queues.find(|queue| !queue.is_empty()).map(String::as_str)
}

/// Whether groups are what mpi-operator makes of them: it copies less, names no tasks, and makes pods at once.
pub(crate) fn of_mpi_operator(job: &Job) -> bool {
    job.mpi().is_some_and(|mpi| mpi.version != MpiVersion::V1)
}

/// How many pods must have a place for any to get one.
pub(crate) fn members(job: &Job) -> u32 {
    let wanted = job
        .policy
        .scheduling
        .min_available
        .and_then(|count| u32::try_from(count).ok());
    let present = job.replicas.iter().filter(|replica| !comes_late(job, replica));
    wanted.unwrap_or_else(|| present.map(|replica| replica.count).sum())
}

/// A launcher that is made when its workers are ready cannot be waited for by them.
fn comes_late(job: &Job, replica: &Replica) -> bool {
    replica.role == "Launcher" && job.mpi().is_some_and(|mpi| mpi.launcher_waits)
}

/// What as many pods need, those that lead before their workers.
fn needs(job: &Job) -> BTreeMap<&str, String> {
    let mut left = members(job);
    let present = job.replicas.iter().filter(|replica| !comes_late(job, replica));
    let (workers, leaders): (Vec<&Replica>, Vec<&Replica>) =
        present.partition(|replica| replica.role == "Worker");
    let in_turn = leaders.into_iter().chain(workers);
    needs_of(in_turn.map(|replica| {
        let count = replica.count.min(left);
        left -= count;
        (&replica.template, count)
    }))
}

/// What so many pods of these templates need.
pub(crate) fn needs_of<'t>(templates: impl Iterator<Item = (&'t Value, u32)>) -> BTreeMap<&'t str, String> {
    let mut needs: BTreeMap<&str, Quantity> = BTreeMap::new();
    for (template, count) in templates.filter(|(_, count)| *count > 0) {
        for (name, amount) in requests(template) {
            let sum = needs.entry(name).or_insert(Quantity::ZERO);
            *sum = sum.plus(amount.times(count));
        }
    }
    let needs = needs.into_iter();
    needs.map(|(name, amount)| (name, amount.to_string())).collect()
}

/// What a pod asks for, by container. Who sets a limit alone asks for as much.
fn requests(template: &Value) -> impl Iterator<Item = (&str, Quantity)> {
    let containers = template["spec"]["containers"].as_array();
    let resources = containers.into_iter().flatten().map(|it| &it["resources"]);
    resources.flat_map(|resources| {
        let list = |field: &str| resources[field].as_object().into_iter().flatten();
        let is_unasked = |name: &String| resources["requests"][name].is_null();
        let limits = list("limits").filter(move |(name, _)| is_unasked(name));
        // What is no quantity is refused when the pod is made.
        let read = |(name, amount)| Some((String::as_str(name), quantity(amount)?));
        list("requests").chain(limits).filter_map(read)
    })
}

fn quantity(amount: &Value) -> Option<Quantity> {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    Quantity::parse(&text).ok()
}

pub(super) fn decorate(job: &Job, role: &str, settings: &Settings, template: &mut Value) {
    let membership = Membership {
        kind: job.kind.kind,
        group: job.name(),
        size: members(job),
        task: (!of_mpi_operator(job)).then(|| role.to_lowercase()),
    };
    membership.decorate(settings, template);
}

/// That a pod belongs to a group.
pub(crate) struct Membership<'a> {
    /// The kind of the job: those of other kinds may have the same name.
    pub(crate) kind: &'a str,
    pub(crate) group: &'a str,
    pub(crate) size: u32,
    /// What Volcano calls the role.
    pub(crate) task: Option<String>,
}

impl Membership<'_> {
    /// As the scheduler that places groups reads it.
    pub(crate) fn decorate(&self, settings: &Settings, template: &mut Value) {
        let scheduler = match &settings.gang {
            Gang::None => return,
            Gang::Embedded => {
                if self.size > 1 {
                    let group = format!("{}-{}", self.kind.to_lowercase(), self.group);
                    annotate(template, annotations::POD_GROUP, &group);
                    annotate(template, annotations::POD_GROUP_SIZE, &self.size.to_string());
                }
                return;
            }
            Gang::Volcano => {
                annotate(template, annotations::VOLCANO_GROUP, self.group);
                if let Some(task) = &self.task {
                    annotate(template, annotations::VOLCANO_TASK, task);
                }
                "volcano"
            }
            Gang::SchedulerPlugins { scheduler } => {
                let labels = template::map(&mut template["metadata"], "labels");
                labels.insert(labels::POD_GROUP.to_owned(), json!(self.group));
                scheduler
            }
        };
        // A scheduler that the user chose is not taken away, and one without a name is the cluster's own.
        let chosen = template["spec"]["schedulerName"].as_str().unwrap_or_default();
        if chosen.is_empty() && !scheduler.is_empty() {
            template["spec"]["schedulerName"] = json!(scheduler);
        }
    }
}

fn annotate(template: &mut Value, name: &str, value: &str) {
    template::map(&mut template["metadata"], "annotations").insert(name.to_owned(), json!(value));
}
