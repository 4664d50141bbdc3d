//! `trainyard template check`: what is wrong with a template, before anybody publishes it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use render_worker::{CheckRequest, OwnedDefinition};
use serde_json::{Value, json};
use templates::{Code, Finding, Level, Problem};

use super::{
    super::file,
    local::{Shelf, pool},
};
use crate::{Answer, Output, advised};

/// Check templates before they are published; no cluster is asked
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard template check -f countdown-task.yaml.j2
  trainyard template check -f countdown-task.yaml.j2 --definition countdown.json
                                  tried with the definition's example, and held against what it describes
  trainyard template check -f train.yaml.j2 --include labels.yaml.j2 --strict
  trainyard template check -f train.yaml.j2 -o json | jq -r '.[] | \"\\(.file):\\(.line): \\(.detail)\"'

A template is read, tried with the example of the definition or with values made up from what it uses, and looked
through: values nobody gives, texts of users in programs of shells (`shell-text`), labels that not every text can be,
objects that tasks may not have unless the template is trusted. Includes are found by the name of their file, up to
its first dot.

Exit codes: 0 nothing is wrong, though there may be warnings; 1 something is; 2 the command could not do its work")]
pub(super) struct Arguments {
    /// Jinja text, or JSON or YAML with it as `template`, or a TaskTemplate; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    filenames: Vec<PathBuf>,

    /// A template that these include
    #[arg(long = "include", value_name = "FILE")]
    includes: Vec<PathBuf>,

    /// The definition that uses it, in JSON or YAML
    #[arg(long, value_name = "FILE")]
    definition: Option<PathBuf>,

    /// Take warnings for errors
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    answer: Answer,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let shelf = Shelf::new(&arguments.filenames, &arguments.includes)?;
    let (definition, system_values) = match &arguments.definition {
        Some(path) => {
            let definition = file::unwrapped(file::mapping(path)?, "TaskDefinition");
            (Some(owned(&definition)), system_values(&definition)?)
        }
        None => (None, json!({})),
    };
    let mut findings = Vec::new();
    let pool = pool()?;
    for local in shelf.first(arguments.filenames.len()) {
        let request = CheckRequest {
            template: local.name.clone(),
            text: local.text.clone(),
            includes: shelf.includes(local),
            definition: definition.clone(),
            system_values: system_values.clone(),
            allowed: local.allowed.clone(),
        };
        let found = crate::jobs::wait_for(async { Ok(pool.check(request).await) })?;
        let found = match found {
            Ok(found) => found,
            Err(problems) if problems.iter().any(|problem| problem.code == Code::Worker) => {
                return Err(failed(&problems));
            }
            Err(problems) => problems.into_iter().map(Finding::unreadable).collect(),
        };
        for mut finding in found {
            shelf.put_file(finding.problem.place.as_mut());
            findings.push((local.shown().to_owned(), finding));
        }
    }
    match arguments.answer.output {
        Output::Json => println!("{:#}", findings.iter().map(as_json).collect::<Value>()),
        Output::Text => tell(&findings, arguments.filenames.len()),
    }
    let is_wrong = |level| match level {
        Level::Error => true,
        Level::Warning => arguments.strict,
        Level::Note => false,
    };
    let any = findings.iter().any(|(_, finding)| is_wrong(finding.level));
    Ok(ExitCode::from(u8::from(any)))
}

fn owned(definition: &Value) -> OwnedDefinition {
    let text = |name: &str| definition[name].as_str().unwrap_or_default().to_owned();
    OwnedDefinition {
        description: text("user_values_description"),
        example: text("user_values_example"),
        schema: definition
            .get("values_schema")
            .filter(|schema| schema.is_object())
            .cloned(),
    }
}

fn system_values(definition: &Value) -> Result<Value> {
    let text = definition["system_values"].as_str().unwrap_or_default();
    templates::yaml("system_values", text).map_err(|problems| failed(&problems))
}

fn failed(problems: &[Problem]) -> anyhow::Error {
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    advised(shown.join("\n"), "nothing was checked")
}

fn tell(findings: &[(String, Finding)], files: usize) {
    for (file, finding) in findings {
        // What has no place is at least of a file.
        let of = match finding.problem.place {
            None if files > 1 => format!("{file}: "),
            _ => String::new(),
        };
        println!("{of}{finding}\n");
    }
    let number = |level| findings.iter().filter(|(_, it)| it.level == level).count();
    println!(
        "{}, {}, {} in {}",
        counted(number(Level::Error), "error"),
        counted(number(Level::Warning), "warning"),
        counted(number(Level::Note), "note"),
        counted(files, "template")
    );
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// As the service answers it, with the file.
fn as_json((file, finding): &(String, Finding)) -> Value {
    let problem = &finding.problem;
    let mut shown = json!({
        "file": file,
        "severity": finding.level,
        "rule": finding.rule,
        "detail": problem.message,
    });
    if let Some(place) = &problem.place {
        shown["file"] = json!(place.template);
        shown["line"] = json!(place.line);
        shown["column"] = json!(place.column);
    }
    for (name, text) in [("snippet", &problem.snippet), ("hint", &problem.hint)] {
        if let Some(text) = text {
            shown[name] = json!(text);
        }
    }
    shown
}
