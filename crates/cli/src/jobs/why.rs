//! `trainyard why`: every cause that keeps a job, or anything with pods, from being what its user wants.

mod causes;
mod exits;
mod observe;
mod of_cluster;
mod of_job;
mod of_message;
mod of_pod;
mod of_queue;
mod of_task;
mod of_workflow;
mod subject;

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    carry_out,
    place::{self, Cluster, Place},
};
use crate::{Answer, Output, Surroundings};
pub(crate) use causes::{Cause, Class};
use causes::{Explanation, explain};

/// Tell why a job, task or workflow waits, fails or is restarted, and what to do about it
///
/// Joins what the job, its pods, the scheduler, events, volumes, quotas and queues say, the most telling first.
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard why digits              a training job of any kind
  trainyard why pytorchjob/digits
  trainyard why pod/digits-worker-0
  trainyard why task/count-down     a task of the task service
  trainyard why workflow/digits-x7  a pipeline
  trainyard why deployment/web -n lab -o json

KIND may be any training kind, task, workflow, pod, job, deployment, replicaset, statefulset,
daemonset or persistentvolumeclaim.

Kinds that you may not look at are named; everything else is looked at.

Exit codes: 0 nothing stands in its way, 1 something does, or there is no such thing;
2 that could not be found out, as where you may not look at pods"))]
pub(crate) struct Arguments {
    /// A name, or KIND/NAME
    #[arg(value_name = "[KIND/]NAME")]
    reference: String,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let explanation = explanation(&cluster, &arguments.reference).await?;
        match arguments.answer.output {
            Output::Json => println!("{:#}", as_json(&explanation)),
            Output::Text => print!("{}", as_text(&explanation)),
        }
        Ok(ExitCode::from(code(&explanation)))
    })
}

/// Without a look at pods nobody can say that all is well.
fn code(explanation: &Explanation) -> u8 {
    if explanation.is_trouble() {
        1
    } else if explanation.unseen.contains(&observe::PODS) {
        2
    } else {
        0
    }
}

/// What is to be said about something.
pub(crate) async fn explanation(cluster: &Cluster, reference: &str) -> Result<Explanation> {
    let observed = observe::observe(cluster, reference).await?;
    Ok(explain(&observed, &|words| cluster.command(words)))
}

pub(crate) fn as_text(explanation: &Explanation) -> String {
    let mut text = format!("{} is {}", explanation.subject, explanation.state);
    // What the causes say need not be said before them.
    let is_told = explanation
        .causes
        .iter()
        .any(|cause| cause.class < Class::Restarted);
    match explanation.detail.as_str() {
        detail if !detail.is_empty() && !is_told => text += &format!(": {detail}\n"),
        _ => text.push('\n'),
    }
    if explanation.causes.is_empty() && !explanation.is_trouble() {
        text += if explanation.unseen.is_empty() {
            "\nNothing stands in its way.\n"
        } else {
            "\nNothing that can be seen stands in its way.\n"
        };
    }
    for (index, cause) in explanation.causes.iter().enumerate() {
        text += &format!("\n{}. {}\n", index + 1, sentence(cause));
        if let Some(advice) = &cause.advice {
            text += &format!("   hint: {advice}\n");
        }
    }
    if !explanation.unseen.is_empty() {
        text += &format!(
            "\nnote: you may not look at {} there\n",
            explanation.unseen.join(", ")
        );
    }
    text
}

/// A cause with the pods that it is about.
pub(crate) fn sentence(cause: &Cause) -> String {
    match cause.who.as_slice() {
        [] => cause.what.clone(),
        names => format!("{}: {}", listed(names), cause.what),
    }
}

/// `worker-0, worker-1 and 6 more`.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn as_json(explanation: &Explanation) -> Value {
    let cause = |cause: &causes::Cause| {
        json!({
            "class": cause.class.name(),
            "who": cause.who,
            "what": cause.what,
            "advice": cause.advice,
        })
    };
    json!({
        "subject": explanation.subject,
        "state": explanation.state,
        "message": explanation.message,
        "causes": explanation.causes.iter().map(cause).collect::<Value>(),
        "unseen": explanation.unseen,
    })
}
