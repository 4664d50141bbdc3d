//! `trainyard pipeline check`: what is wrong with workflows, before anything runs.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use serde_json::json;

use super::source::{Checked, Complaint, Sources};
use crate::{
    Answer, Output, Surroundings,
    jobs::{
        place::{self, Place},
        wait_for,
    },
};

/// Say what is wrong with workflows, templates and cron workflows, and at which line
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Templates that are not in the files are looked for in the cluster, with --cluster.

Examples:
  trainyard pipeline check train.yaml templates.yaml
  trainyard pipeline check --cluster train.yaml

Exit codes: 0 nothing is wrong, 1 something is; 2 the files could not be read"))]
pub(crate) struct Arguments {
    /// Files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Look for templates in the cluster, too
    #[arg(long)]
    cluster: bool,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let sources = Sources::read(&arguments.files)?;
    let checked = wait_for(async {
        let cluster = if arguments.cluster {
            Some(arguments.place.connect(surroundings).await?)
        } else {
            None
        };
        sources.check(cluster.as_ref()).await
    })?;
    match arguments.answer.output {
        Output::Json => println!("{:#}", as_json(&checked)),
        Output::Text => {
            for complaint in &checked.complaints {
                println!("{complaint}");
            }
            for source in &checked.unknown {
                eprintln!(
                    "note: template `{}` is in none of the files; --cluster looks for it in the cluster",
                    source.name
                );
            }
            if checked.complaints.is_empty() {
                eprintln!("nothing is wrong with {} objects", sources.objects.len());
            }
        }
    }
    Ok(if checked.complaints.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn as_json(checked: &Checked) -> serde_json::Value {
    let told = |complaint: &Complaint| {
        json!({
            "file": complaint.file,
            "line": complaint.line,
            "field": complaint.field,
            "message": complaint.message,
        })
    };
    json!({
        "problems": checked.complaints.iter().map(told).collect::<Vec<_>>(),
        "unknownTemplates": checked.unknown.iter().map(|source| &source.name).collect::<Vec<_>>(),
    })
}
