//! `trainyard pipeline list`: the workflows of a namespace.

use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{folder, name_of, phase_of};
use crate::{
    Answer, Output, Surroundings,
    jobs::{
        carry_out,
        place::{self, Place},
        table::{age, table},
    },
};

/// List workflows, the latest first
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls", after_help = place::explained("Exit codes: 0 listed, 2 it could not be done"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    carry_out(&arguments.place, surroundings, async |cluster| {
        let found = cluster.api.list(&folder("workflows", &cluster.namespace)).await?;
        let mut workflows = found.unwrap_or_default();
        workflows.sort_by_key(|workflow| std::cmp::Reverse(text(&workflow["metadata"]["creationTimestamp"])));
        match arguments.answer.output {
            Output::Json => println!("{:#}", workflows.iter().map(told).collect::<Value>()),
            Output::Text if workflows.is_empty() => eprintln!("there are no workflows"),
            Output::Text => print!("{}", shown(&workflows, Timestamp::now())),
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn told(workflow: &Value) -> Value {
    let status = &workflow["status"];
    json!({
        "name": name_of(workflow),
        "phase": phase_of(workflow).text(),
        "progress": status["progress"],
        "startedAt": status["startedAt"],
        "finishedAt": status["finishedAt"],
        "message": status["message"],
    })
}

fn shown(workflows: &[Value], now: Timestamp) -> String {
    let rows: Vec<[String; 5]> = workflows
        .iter()
        .map(|workflow| {
            let (meta, status) = (&workflow["metadata"], &workflow["status"]);
            let phase = match phase_of(workflow).text() {
                "" => "New",
                phase => phase,
            };
            [
                name_of(workflow).to_owned(),
                phase.to_owned(),
                text(&status["progress"]),
                age(text(&meta["creationTimestamp"]).parse().ok(), now),
                text(&status["message"]),
            ]
        })
        .collect();
    table(["NAME", "PHASE", "PROGRESS", "AGE", "MESSAGE"], &rows)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
