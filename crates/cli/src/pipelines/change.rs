//! Commands that change a workflow that is there.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use workflows::change as changes;

use super::{
    find, folder,
    follow::{Shown, follow},
    name_of, path, phase_of, verdict,
};
use crate::{
    Answer, Output, Surroundings, advised,
    jobs::{
        api::escaped,
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// A change is decided on what was read; when somebody else was faster it is decided again.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);
/// So long a pod may take to be gone.
const PATIENCE: Duration = Duration::from_mins(2);

/// Which workflow, and how it is told of.
#[derive(Debug, clap::Args)]
struct Target {
    /// The workflow; `@latest` is the one that was made last
    name: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

/// Stop a workflow: its steps end, handlers of its end still run
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it is being stopped, 1 it has ended already; 2 it could not be done"))]
pub(crate) struct StopArguments {
    #[command(flatten)]
    target: Target,
}

/// End a workflow at once, without the handlers of its end
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it is being ended, 1 it has ended already; 2 it could not be done"))]
pub(crate) struct TerminateArguments {
    #[command(flatten)]
    target: Target,
}

/// Let a workflow begin nothing new
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it is suspended, 1 it has ended already; 2 it could not be done"))]
pub(crate) struct SuspendArguments {
    #[command(flatten)]
    target: Target,
}

/// Let a workflow go on that is suspended, or whose steps wait for somebody
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it goes on, 1 it does not wait for anybody; 2 it could not be done"))]
pub(crate) struct ResumeArguments {
    /// A value that a step waits for
    #[arg(short, long = "parameter", value_name = "NAME=VALUE", value_parser = super::run::parameter)]
    parameters: Vec<(String, String)>,

    #[command(flatten)]
    target: Target,
}

/// Let a workflow that has failed go on from what has succeeded
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it goes on, or has succeeded with --watch; 1 it has not failed, or fails again; 2 it could not be done"))]
pub(crate) struct RetryArguments {
    /// Watch it until it has ended
    #[arg(long)]
    watch: bool,

    #[command(flatten)]
    target: Target,
}

/// Run a workflow once more, from its beginning
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 it is submitted, or has succeeded with --watch; 1 it has failed; 2 it could not be done"))]
pub(crate) struct ResubmitArguments {
    /// Watch it until it has ended
    #[arg(long)]
    watch: bool,

    #[command(flatten)]
    target: Target,
}

/// Remove workflows, with their pods and everything that belongs to them
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Exit codes: 0 removed, 2 it could not be done"))]
pub(crate) struct RmArguments {
    /// The workflows
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(super) fn stop(arguments: &StopArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let change = json!({"spec": {"shutdown": "Stop"}});
    set(&arguments.target, surroundings, &change, "is being stopped")
}

pub(super) fn terminate(arguments: &TerminateArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let change = json!({"spec": {"shutdown": "Terminate"}});
    set(&arguments.target, surroundings, &change, "is being ended")
}

pub(super) fn suspend(arguments: &SuspendArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let change = json!({"spec": {"suspend": true}});
    set(&arguments.target, surroundings, &change, "is suspended")
}

fn set(target: &Target, surroundings: &Surroundings, change: &Value, word: &str) -> Result<ExitCode> {
    carry_out(&target.place, surroundings, async |cluster| {
        let workflow = find(&cluster, &target.name).await?;
        if phase_of(&workflow).is_completed() {
            return Ok(refuse(
                &workflow,
                &format!("it has ended already: it is {}", phase_of(&workflow).text()),
            ));
        }
        let changed = cluster
            .api
            .merge(&path(&cluster, name_of(&workflow)), change)
            .await?;
        tell(target.answer, &changed, word);
        Ok(ExitCode::SUCCESS)
    })
}

pub(super) fn resume(arguments: &ResumeArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let target = &arguments.target;
    let values: BTreeMap<String, String> = arguments.parameters.iter().cloned().collect();
    carry_out(&target.place, surroundings, async |cluster| {
        for _ in 0..TRIES {
            let workflow = find(&cluster, &target.name).await?;
            let changed = match changes::resume(&workflow, &values, Timestamp::now()) {
                Ok(changed) => changed,
                Err(error) => return Ok(refuse(&workflow, &error.to_string())),
            };
            if let Some(stored) = store(&cluster, &changed).await? {
                tell(target.answer, &stored, "goes on");
                return Ok(ExitCode::SUCCESS);
            }
            sleep(PAUSE).await;
        }
        bail!("the workflow changes all the time; try again")
    })
}

pub(super) fn retry(arguments: &RetryArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let target = &arguments.target;
    carry_out(&target.place, surroundings, async |cluster| {
        for _ in 0..TRIES {
            let workflow = find(&cluster, &target.name).await?;
            let retried = match changes::retry(&workflow, Timestamp::now()) {
                Ok(retried) => retried,
                Err(error) => return Ok(refuse(&workflow, &error.to_string())),
            };
            // A new pod has the name of the one that failed.
            for pod in &retried.pods {
                remove_pod(&cluster, pod, &workflow).await?;
            }
            if let Some(stored) = store(&cluster, &retried.object).await? {
                return go_on(
                    &cluster,
                    stored,
                    arguments.watch,
                    target.answer,
                    "goes on",
                    surroundings,
                )
                .await;
            }
            sleep(PAUSE).await;
        }
        bail!("the workflow changes all the time; try again")
    })
}

pub(super) fn resubmit(arguments: &ResubmitArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let target = &arguments.target;
    carry_out(&target.place, surroundings, async |cluster| {
        let workflow = find(&cluster, &target.name).await?;
        let again = changes::resubmit(&workflow);
        let stored = cluster
            .api
            .create(&folder("workflows", &cluster.namespace), &again)
            .await?;
        go_on(
            &cluster,
            stored,
            arguments.watch,
            target.answer,
            "is submitted",
            surroundings,
        )
        .await
    })
}

async fn go_on(
    cluster: &Cluster,
    workflow: Value,
    is_watched: bool,
    answer: Answer,
    word: &str,
    surroundings: &Surroundings,
) -> Result<ExitCode> {
    if !is_watched {
        tell(answer, &workflow, word);
        return Ok(ExitCode::SUCCESS);
    }
    let shown = match answer.output {
        Output::Json => Shown::Json,
        Output::Text => Shown::for_output(surroundings),
    };
    let ended = follow(cluster, workflow, shown).await?;
    Ok(verdict(&ended))
}

pub(super) fn rm(arguments: &RmArguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        // Nothing is removed unless all of them are there.
        let mut workflows = Vec::new();
        for name in &arguments.names {
            workflows.push(find(&cluster, name).await?);
        }
        for workflow in &workflows {
            let options = json!({
                "propagationPolicy": "Background",
                "preconditions": {"uid": workflow["metadata"]["uid"]},
            });
            cluster
                .api
                .delete(&path(&cluster, name_of(workflow)), &options)
                .await?;
            tell(arguments.answer, workflow, "is removed");
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What is stored; nothing where somebody else was faster.
async fn store(cluster: &Cluster, workflow: &Value) -> Result<Option<Value>> {
    match cluster
        .api
        .replace(&path(cluster, name_of(workflow)), workflow)
        .await
    {
        Ok(stored) => Ok(Some(stored)),
        Err(error) if error.is_conflict() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn remove_pod(cluster: &Cluster, name: &str, workflow: &Value) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/pods/{}", cluster.namespace, escaped(name));
    let since = Instant::now();
    let mut is_asked = false;
    while let Some(pod) = cluster.api.find(&path).await? {
        let owners = pod["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten();
        let mut owners = owners.map(|owner| &owner["uid"]);
        if !owners.any(|uid| *uid == workflow["metadata"]["uid"]) {
            return Ok(());
        }
        if !is_asked {
            let options = json!({"preconditions": {"uid": pod["metadata"]["uid"]}});
            match cluster.api.delete(&path, &options).await {
                Ok(_) => {}
                Err(error) if error.is_absent() || error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
            is_asked = true;
        }
        if since.elapsed() > PATIENCE {
            return Err(advised(
                format!("pod `{name}` does not go"),
                "a finalizer may hold it; the workflow is as it was",
            ));
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

fn tell(answer: Answer, workflow: &Value, word: &str) {
    match answer.output {
        Output::Json => println!("{:#}", json!({"name": name_of(workflow), "action": word})),
        Output::Text => println!("workflow `{}` {word}", name_of(workflow)),
    }
}

fn refuse(workflow: &Value, why: &str) -> ExitCode {
    eprintln!("error: workflow `{}`: {why}", name_of(workflow));
    ExitCode::from(1)
}
