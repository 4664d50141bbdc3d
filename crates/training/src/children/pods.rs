//! The pod of a replica: the user's template, named, labelled, and told who its peers are.

use resources::names::annotations;
use serde_json::{Value, json};

use super::{groups, jax, metadata, mpi, mxnet, paddle, pytorch, tensorflow, xgboost};
use crate::{
    Settings,
    job::{Framework, Job, Replica},
    template,
};

pub(crate) fn pod(job: &Job, replica: &Replica, index: u32, settings: &Settings) -> Value {
    let mut template = template(job, replica, index, settings);
    let mut meta = metadata::metadata(job, &job.child_name(replica.role, index));
    for field in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][field].is_null() {
            meta[field] = template["metadata"][field].take();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"].take()})
}

/// The template of a replica's pod with everything the operator adds.
pub(crate) fn template(job: &Job, replica: &Replica, index: u32, settings: &Settings) -> Value {
    let mut template = replica.template.clone();
    let labels = metadata::labels(job, replica, index);
    if !template["metadata"].is_object() {
        template["metadata"] = json!({});
    }
    let written = template::map(&mut template["metadata"], "labels");
    written.extend(labels);
    for old in &job.old_labels {
        old.write(job, replica, index, written);
    }
    template["spec"]["restartPolicy"] = json!(job.restart_policy_of_pod(replica));
    add_environment(job, replica, index, settings, &mut template);
    let main = main_container(job, &template);
    settings
        .accelerators
        .equip(&mut template, computing_container(job, &main));
    keep_last_words(&mut template, &main);
    groups::decorate(job, replica.role, settings, &mut template);
    if job.restarts_together() {
        let restart = job.status.restarts.as_ref().map_or(0, |restarts| restarts.gang);
        let restart = json!(restart.to_string());
        template::map(&mut template["metadata"], "annotations")
            .insert(annotations::RESTART.to_owned(), restart);
    }
    template
}

fn add_environment(job: &Job, replica: &Replica, index: u32, settings: &Settings, template: &mut Value) {
    let role = replica.role;
    match &job.framework {
        Framework::TensorFlow { dynamic, .. } => {
            let config = tensorflow::config(job, *dynamic, role, index, settings);
            if let (Some(config), Some(container)) =
                (config, template::container_mut(template, job.kind.container))
            {
                template::append_env(container, [("TF_CONFIG".to_owned(), config)]);
            }
        }
        Framework::PyTorch { elastic, processes } => {
            let variables = pytorch::variables(job, elastic.as_ref(), processes.as_deref(), role, index);
            everywhere(template, &variables);
            pytorch::wait_for_master(job, role, settings, template);
        }
        Framework::Mxnet => everywhere(template, &mxnet::variables(job, role, index)),
        Framework::XgBoost => everywhere(template, &xgboost::variables(job, role, index)),
        Framework::Paddle { .. } => paddle::add_variables(job, role, index, template),
        Framework::Jax => everywhere(template, &jax::variables(job, index)),
        Framework::Mpi(mpi) => mpi::complete(job, mpi, role, index, settings, template),
    }
}

/// Variables that every container gets.
fn everywhere(template: &mut Value, variables: &[(&str, String)]) {
    for container in template::containers_mut(template) {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        template::append_env(container, variables);
    }
}

/// The container whose end is the replica's end.
pub(crate) fn main_container(job: &Job, template: &Value) -> String {
    let container = template::container(template, job.kind.container);
    container
        .and_then(|container| container["name"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// The container that computes, and that accelerators are for: where MPI runs its commands, if the user says so.
pub(crate) fn computing_container<'a>(job: &'a Job, main: &'a str) -> &'a str {
    let named = job.mpi().and_then(|mpi| mpi.main_container.as_deref());
    named.unwrap_or(main)
}

/// The last lines of a crashed program become part of its pod's status, so that the job can quote
/// them even when its logs are gone.
fn keep_last_words(template: &mut Value, container: &str) {
    if let Some(container) = template::container_mut(template, container)
        && container["terminationMessagePolicy"].is_null()
    {
        container["terminationMessagePolicy"] = json!("FallbackToLogsOnError");
    }
}
