//! `trainyard pipeline`: workflows that are checked, run, followed and changed.

mod change;
mod check;
mod follow;
mod list;
mod run;
mod source;
mod tree;

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use resources::workflows::{GROUP, VERSION};
use serde_json::Value;
use workflows::node::Phase;

use crate::{
    Surroundings,
    jobs::place::{self, Cluster},
};

/// Run pipelines: Argo's Workflows, checked before they begin
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard pipeline check train.yaml             what is wrong with it, at which line
  trainyard pipeline run train.yaml -p epochs=5   run it, and watch its steps
  trainyard pipeline show train-x7k2p             what has become of it
  trainyard pipeline retry train-x7k2p            go on from what has succeeded

Exit codes: 0 done, 1 the workflow has failed, or the answer is no; 2 it could not be done"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(run::Arguments),
    Check(check::Arguments),
    List(list::Arguments),
    Show(follow::ShowArguments),
    Watch(follow::WatchArguments),
    Stop(change::StopArguments),
    Terminate(change::TerminateArguments),
    Suspend(change::SuspendArguments),
    Resume(change::ResumeArguments),
    Retry(change::RetryArguments),
    Resubmit(change::ResubmitArguments),
    Rm(change::RmArguments),
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, surroundings),
        Command::Check(arguments) => check::run(arguments, surroundings),
        Command::List(arguments) => list::run(arguments, surroundings),
        Command::Show(arguments) => follow::show(arguments, surroundings),
        Command::Watch(arguments) => follow::watch(arguments, surroundings),
        Command::Stop(arguments) => change::stop(arguments, surroundings),
        Command::Terminate(arguments) => change::terminate(arguments, surroundings),
        Command::Suspend(arguments) => change::suspend(arguments, surroundings),
        Command::Resume(arguments) => change::resume(arguments, surroundings),
        Command::Retry(arguments) => change::retry(arguments, surroundings),
        Command::Resubmit(arguments) => change::resubmit(arguments, surroundings),
        Command::Rm(arguments) => change::rm(arguments, surroundings),
    }
}

/// The path of a kind's objects in a namespace.
fn folder(plural: &str, namespace: &str) -> String {
    format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}")
}

fn path(cluster: &Cluster, name: &str) -> String {
    format!(
        "{}/{}",
        folder("workflows", &cluster.namespace),
        crate::jobs::api::escaped(name)
    )
}

/// A workflow by its name; `@latest` is the one that was made last.
async fn find(cluster: &Cluster, name: &str) -> Result<Value> {
    if name == "@latest" {
        let all = cluster.api.list(&folder("workflows", &cluster.namespace)).await?;
        let made = |workflow: &Value| {
            workflow["metadata"]["creationTimestamp"]
                .as_str()
                .map(str::to_owned)
        };
        return all
            .unwrap_or_default()
            .into_iter()
            .max_by_key(made)
            .ok_or_else(|| anyhow!("there are no workflows in namespace {}", cluster.namespace));
    }
    match cluster.api.find(&path(cluster, name)).await? {
        Some(workflow) => Ok(workflow),
        None => Err(crate::advised(
            format!("there is no workflow `{name}` in namespace {}", cluster.namespace),
            format!("`{}` shows which there are", cluster.command("pipeline list")),
        )),
    }
}

fn name_of(workflow: &Value) -> &str {
    workflow["metadata"]["name"].as_str().unwrap_or_default()
}

fn phase_of(workflow: &Value) -> Phase {
    use serde::Deserialize as _;
    Phase::deserialize(&workflow["status"]["phase"]).unwrap_or_default()
}

/// How a command ends that was about the end of a workflow.
fn verdict(workflow: &Value) -> ExitCode {
    match phase_of(workflow) {
        Phase::Succeeded => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}
