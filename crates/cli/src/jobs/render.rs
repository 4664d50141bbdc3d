//! `trainyard render`: what a training job is made of, without a cluster.

mod documents;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use manifests::yaml;
use serde_json::{Value, json};
use training::{Delivery, Gang, Settings};

use crate::{Surroundings, accelerators, advised, operator::choices};
use documents::{Document, Reading};

/// Print the pods, services and other objects that training jobs would be made of, without a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard render -f job.yaml
  trainyard render -f job.yaml -o json | jq '.items[].metadata.name'
  kubectl get pytorchjob digits -o yaml | trainyard render -f -
  trainyard render -f job.yaml --agent-image registry.example/trainyard:1
                              as on a cluster whose nodes do not have this program
  trainyard render -f job.yaml --gang-scheduler-name coscheduler --cluster-domain cluster.local
                              as by an operator that has these flags

Owners have a uid only where the job has one. Objects that are no training jobs are passed over.

Exit codes: 0 printed, 1 a job is refused, and nothing is printed; 2 it could not be read")]
pub(crate) struct Arguments {
    /// A manifest in YAML or JSON; `-` is standard input
    #[arg(
        short,
        long = "filename",
        value_name = "FILE",
        required_unless_present = "paths",
        conflicts_with = "paths"
    )]
    filenames: Vec<PathBuf>,

    /// The same without `-f`
    #[arg(value_name = "FILE", hide = true)]
    paths: Vec<PathBuf>,

    /// The namespace of jobs that name none
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// Who places the pods of a job together, as an operator finds it on a cluster
    #[arg(long, value_name = "WHO", value_enum, default_value_t)]
    gang: Placer,

    /// The same as the operator is told it: volcano, none, or the name of a scheduler with the coscheduling plugin
    #[arg(long, value_name = "NAME", conflicts_with = "gang")]
    gang_scheduler_name: Option<choices::Gang>,

    /// The domain of the cluster, for names that TensorFlow and MPI are given
    #[arg(long, value_name = "DOMAIN", env = "CUSTOM_CLUSTER_DOMAIN")]
    cluster_domain: Option<String>,

    /// The image that brings this program into containers, instead of the machine they are on
    #[arg(long, value_name = "IMAGE")]
    agent_image: Option<String>,

    /// What containers get that ask for a resource: accelerators, their volumes and variables
    #[arg(long, value_name = "FILE")]
    controller_config_file: Option<PathBuf>,

    /// The form of the objects
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,
}

/// Whose groups of pods are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Placer {
    /// The scheduler of the embedded cluster
    #[default]
    Embedded,
    /// Volcano, by its PodGroups
    Volcano,
    /// The coscheduling plugin, by its PodGroups; pods stay with the scheduler they have
    SchedulerPlugins,
    /// Nobody
    None,
}

/// How objects are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let settings = settings(arguments)?;
    let mut reading = Reading::default();
    for path in arguments.filenames.iter().chain(&arguments.paths) {
        documents::read(path, &mut reading)?;
    }
    for passed in &reading.passed_over {
        eprintln!("passed over: {passed}");
    }
    if reading.jobs.is_empty() && reading.refusals.is_empty() {
        return Err(advised(
            "there is no training job to render",
            format!("`{} render --help` has examples", surroundings.program()),
        ));
    }
    let (children, mut refusals) = render(&reading.jobs, &arguments.namespace, &settings);
    refusals.splice(0..0, reading.refusals);
    for document in &reading.jobs {
        for warning in training::warnings(&document.value) {
            eprintln!("warning: {document}: {warning}");
        }
    }
    if refusals.is_empty() {
        print!("{}", printed(&children, arguments.output));
        return Ok(ExitCode::SUCCESS);
    }
    for refusal in &refusals {
        eprintln!("error: {refusal}");
    }
    Ok(ExitCode::from(1))
}

fn settings(arguments: &Arguments) -> Result<Settings> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let accelerators = accelerators::read(arguments.controller_config_file.as_deref())?;
    let mut settings = cluster::training_settings(&program, accelerators);
    settings.gang = gang(arguments);
    settings.cluster_domain = arguments
        .cluster_domain
        .clone()
        .filter(|domain| !domain.is_empty());
    if let Some(image) = &arguments.agent_image {
        settings.delivery = Delivery::Image(image.clone());
    }
    Ok(settings)
}

fn gang(arguments: &Arguments) -> Gang {
    if let Some(choices::Gang(gang)) = &arguments.gang_scheduler_name {
        return gang.clone();
    }
    match arguments.gang {
        Placer::Embedded => Gang::Embedded,
        Placer::Volcano => Gang::Volcano,
        // A scheduler with the plugin may have any name, so that an operator that finds it names none.
        Placer::SchedulerPlugins => Gang::SchedulerPlugins {
            scheduler: String::new(),
        },
        Placer::None => Gang::None,
    }
}

/// The children of all jobs, and what is wrong with those that are refused, with file, document and field.
fn render(jobs: &[Document], namespace: &str, settings: &Settings) -> (Vec<Value>, Vec<String>) {
    let (mut children, mut refusals) = (Vec::new(), Vec::new());
    for document in jobs {
        let mut job = document.value.clone();
        if job["metadata"]["namespace"].is_null() && job["metadata"].is_object() {
            job["metadata"]["namespace"] = json!(namespace);
        }
        match training::render(&job, settings) {
            Ok(made) => children.extend(made),
            Err(errors) => refusals.extend(errors.iter().map(|error| format!("{document}: {error}"))),
        }
    }
    (children, refusals)
}

fn printed(children: &[Value], format: Format) -> String {
    match format {
        Format::Yaml => children
            .iter()
            .map(|child| format!("---\n{}", yaml::to_string(child)))
            .collect(),
        Format::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": children});
            format!("{list:#}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> (Vec<Value>, Vec<String>) {
        let mut reading = Reading::default();
        documents::sort("job.yaml", text, &mut reading).unwrap();
        let (children, mut refusals) = render(&reading.jobs, "lab", &Settings::default());
        refusals.extend(reading.refusals);
        (children, refusals)
    }

    const JOB: &str = "
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: waves}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: jax, image: host}]}}
";

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// What is made of a job by a command with these words.
    fn rendered_by(words: &[&str], job: &str) -> Vec<Value> {
        let words = [&["render", "job.yaml"], words].concat();
        let arguments = <Command as clap::Parser>::parse_from(words).arguments;
        let mut reading = Reading::default();
        documents::sort("job.yaml", job, &mut reading).unwrap();
        let (children, refusals) = render(&reading.jobs, "lab", &settings(&arguments).unwrap());
        assert_eq!(refusals, [""; 0]);
        children
    }

    #[test]
    fn pods_have_the_scheduler_that_the_operator_gives_them() {
        let scheduler = |words: &[&str]| {
            let children = rendered_by(words, JOB);
            let pod = children.iter().find(|child| child["kind"] == "Pod").unwrap();
            pod["spec"]["schedulerName"].clone()
        };
        assert_eq!(scheduler(&["--gang=scheduler-plugins"]), Value::Null);
        assert_eq!(scheduler(&["--gang=volcano"]), "volcano");
        assert_eq!(scheduler(&["--gang-scheduler-name=volcano"]), "volcano");
        assert_eq!(scheduler(&["--gang-scheduler-name=coscheduler"]), "coscheduler");
        assert_eq!(scheduler(&["--gang-scheduler-name=none"]), Value::Null);
    }

    #[test]
    fn names_have_the_domain_of_the_cluster_where_it_is_given() {
        let job = JOB
            .replace("JAXJob", "TFJob")
            .replace("jaxReplicaSpecs", "tfReplicaSpecs")
            .replace("name: jax", "name: tensorflow");
        let names = |words: &[&str]| Value::Array(rendered_by(words, &job)).to_string();
        assert!(!names(&[]).contains(".lab.svc.cluster.local"));
        assert!(names(&["--cluster-domain=cluster.local"]).contains(".lab.svc.cluster.local:2222"));
    }

    #[test]
    fn a_job_without_a_namespace_gets_the_one_asked_for() {
        let (children, refusals) = rendered(JOB);
        assert_eq!(refusals, [""; 0]);
        let places: Vec<_> = children
            .iter()
            .map(|child| child["metadata"]["namespace"].as_str())
            .collect();
        assert_eq!(places, [Some("lab"); 4]);
    }

    #[test]
    fn a_refusal_names_file_document_and_field() {
        let wrong = JOB.replace("replicas: 2", "replicas: -1");
        let (children, refusals) = rendered(&format!("{JOB}---\n{wrong}"));
        assert_eq!(children.len(), 4, "the other job is fine");
        assert_eq!(
            refusals,
            [
                "job.yaml: document 2 (line 12), JAXJob \"waves\": spec.jaxReplicaSpecs.Worker.replicas: Invalid value: -1: spec.jaxReplicaSpecs.Worker.replicas in body should be greater than or equal to 0"
            ]
        );
    }
}
