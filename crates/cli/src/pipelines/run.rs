//! `trainyard pipeline run`: a workflow is checked, submitted and followed to its end.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    folder,
    follow::{Shown, follow},
    name_of,
    source::{Sources, Written},
    verdict,
};
use crate::{
    Answer, Output, Surroundings, advised,
    jobs::{
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// Check a workflow, run it, and watch its steps
///
/// WorkflowTemplates and ClusterWorkflowTemplates in the files are applied first, a CronWorkflow is applied and
/// not waited for.
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard pipeline run train.yaml
  trainyard pipeline run train.yaml -p epochs=5 -p target=0.9
  trainyard pipeline run templates.yaml train.yaml --detach
  trainyard pipeline run --from train-template -p epochs=5

Exit codes: 0 it has succeeded, or begun with --detach; 1 it has failed; 2 it was not run"))]
pub(crate) struct Arguments {
    /// Files; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "from")]
    files: Vec<PathBuf>,

    /// Run the WorkflowTemplate of this name
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "files")]
    from: Option<String>,

    /// A parameter of the workflow
    #[arg(short, long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,

    /// What the workflow is called, instead of the name in its file
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The template it begins with, instead of the one in its file
    #[arg(long, value_name = "TEMPLATE")]
    entrypoint: Option<String>,

    /// Return when it is submitted
    #[arg(long)]
    detach: bool,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(super) fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("NAME=VALUE is meant".to_owned()),
    }
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let mut sources = match &arguments.from {
        Some(template) => from_template(template),
        None => Sources::read(&arguments.files)?,
    };
    for written in &mut sources.objects {
        if written.object["kind"] == "Workflow" {
            change(&mut written.object, arguments)?;
        }
    }
    carry_out(&arguments.place, surroundings, async |cluster| {
        let checked = sources.check(Some(&cluster)).await?;
        if !checked.complaints.is_empty() {
            for complaint in &checked.complaints {
                eprintln!("{complaint}");
            }
            return Err(advised(
                match checked.complaints.len() {
                    1 => "the workflow was not submitted: something is wrong with it".to_owned(),
                    count => format!("the workflow was not submitted: {count} things are wrong with it"),
                },
                "the places are above",
            ));
        }
        let shown = match arguments.answer.output {
            Output::Json => Shown::Json,
            Output::Text => Shown::for_output(surroundings),
        };
        let mut code = ExitCode::SUCCESS;
        for written in in_order(&sources) {
            let Some(submitted) = submit(&cluster, written).await? else {
                continue;
            };
            if arguments.detach {
                match shown {
                    Shown::Json => println!("{submitted:#}"),
                    _ => println!("{}", name_of(&submitted)),
                }
                continue;
            }
            eprintln!("workflow `{}` is submitted", name_of(&submitted));
            let ended = follow(&cluster, submitted, shown).await?;
            if verdict(&ended) != ExitCode::SUCCESS {
                code = verdict(&ended);
            }
        }
        Ok(code)
    })
}

fn from_template(name: &str) -> Sources {
    let object = json!({
        "apiVersion": workflows::names::API_VERSION,
        "kind": "Workflow",
        "metadata": {"generateName": format!("{name}-")},
        "spec": {"workflowTemplateRef": {"name": name}},
    });
    let mut sources = Sources::default();
    sources.objects.push(Written {
        file: PathBuf::from(format!("workflowtemplate/{name}")),
        begins: 1,
        object,
    });
    sources
}

/// What the command line says instead of the file.
fn change(workflow: &mut Value, arguments: &Arguments) -> Result<()> {
    let spec = &mut workflow["spec"];
    if !spec.is_object() {
        // The check says so.
        return Ok(());
    }
    for (name, value) in &arguments.parameters {
        let is_from_template = !spec["workflowTemplateRef"].is_null();
        if !spec["arguments"]["parameters"].is_array() {
            spec["arguments"]["parameters"] = json!([]);
        }
        let Some(known) = spec["arguments"]["parameters"].as_array_mut() else {
            continue;
        };
        match known.iter_mut().find(|known| known["name"] == name.as_str()) {
            Some(known) => {
                known["value"] = json!(value);
                if let Some(fields) = known.as_object_mut() {
                    fields.remove("valueFrom");
                }
            }
            None if is_from_template => known.push(json!({"name": name, "value": value})),
            None => {
                let names: Vec<&str> = known.iter().filter_map(|known| known["name"].as_str()).collect();
                return Err(advised(
                    format!("the workflow has no parameter `{name}`"),
                    if names.is_empty() {
                        "it has none at all".to_owned()
                    } else {
                        format!("it has {}", names.join(", "))
                    },
                ));
            }
        }
    }
    if let Some(entrypoint) = &arguments.entrypoint {
        spec["entrypoint"] = json!(entrypoint);
    }
    if let Some(name) = &arguments.name {
        let meta = &mut workflow["metadata"];
        meta["name"] = json!(name);
        if let Some(meta) = meta.as_object_mut() {
            meta.remove("generateName");
        }
    }
    Ok(())
}

/// Templates before those that use them.
fn in_order(sources: &Sources) -> Vec<&Written> {
    let kinds = [
        "ClusterWorkflowTemplate",
        "WorkflowTemplate",
        "CronWorkflow",
        "Workflow",
    ];
    kinds.iter().flat_map(|kind| sources.of_kind(kind)).collect()
}

/// The workflow as it is stored; nothing where something else was applied.
async fn submit(cluster: &Cluster, written: &Written) -> Result<Option<Value>> {
    let mut object = written.object.clone();
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let plural = format!("{}s", kind.to_lowercase());
    if kind == "Workflow" {
        let namespace = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or(&cluster.namespace);
        if namespace != cluster.namespace {
            return Err(advised(
                format!(
                    "the workflow is for namespace {namespace}, and the command for {}",
                    cluster.namespace
                ),
                format!("say `--namespace {namespace}`"),
            ));
        }
        let stored = cluster
            .api
            .create(&folder(&plural, &cluster.namespace), &object)
            .await?;
        return Ok(Some(stored));
    }
    object["apiVersion"] = json!(workflows::names::API_VERSION);
    let folder = if kind == "ClusterWorkflowTemplate" {
        format!("/apis/{}/{plural}", workflows::names::API_VERSION)
    } else {
        folder(&plural, &cluster.namespace)
    };
    let path = format!("{folder}/{}?fieldManager=trainyard&force=true", name_of(&object));
    cluster.api.apply(&path, &object).await?;
    eprintln!("{} `{}` is applied", kind.to_lowercase(), name_of(&object));
    Ok(None)
}
