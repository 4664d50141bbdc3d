//! `trainyard pkg check`: what is wrong with a package, before a cluster sees it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use package_check::{Finding, Severity};
use packages::Place;
use serde_json::{Value, json};
use setters::{Problem, unset_setters};

use super::{
    build::{Restrictor, absolute, shown},
    complaint::Complaint,
    disk::Disk,
    folder::Folder,
};
use crate::{Answer, Output, Surroundings};

/// Where setters are defined.
const DEFINITIONS: [&str; 2] = ["Krmfile", "Kptfile"];

/// Check a package before it is applied: types, fields, names, references, setters
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard pkg check overlays/team-a
  trainyard pkg check --strict -o json | jq -r '.[] | \"\\(.file):\\(.line): \\(.message)\"'

The package is built, and its objects are held against the rules the API server has for their kinds: built-in
ones, training jobs, and those whose definitions are in the package. No cluster is asked. What a pod names and
the package does not have is a warning, since the cluster may have it.

Exit codes: 0 nothing is wrong, though there may be warnings; 1 something is; 2 wrong usage")]
pub(super) struct Arguments {
    /// The folder of the kustomization
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// Take warnings for errors
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    restrictor: Restrictor,

    #[command(flatten)]
    answer: Answer,
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let folder = absolute(&arguments.dir)?;
    let (findings, count) = match packages::trace(&Disk, &folder, &arguments.restrictor.options()) {
        Err(error) => (vec![error.into()], 0),
        Ok(traced) => {
            for warning in &traced.warnings {
                eprintln!("{warning}");
            }
            let mut findings = unset(&traced.files, surroundings)?;
            findings.extend(package_check::check(&traced.objects));
            (findings, traced.objects.len())
        }
    };
    match arguments.answer.output {
        Output::Json => {
            let findings = findings.iter().map(|finding| as_json(finding, surroundings));
            println!("{:#}", findings.collect::<Value>());
        }
        Output::Text => tell(&findings, count, surroundings),
    }
    let is_wrong = |finding: &Finding| arguments.strict || finding.severity == Severity::Error;
    Ok(ExitCode::from(u8::from(findings.iter().any(is_wrong))))
}

/// Required setters that are not set, of every package that the build has read from.
fn unset(files: &[PathBuf], surroundings: &Surroundings) -> Result<Vec<Finding>> {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let mut findings = Vec::new();
    for dir in folders {
        let name = PathBuf::from(match shown(dir, surroundings) {
            name if name.is_empty() => ".".to_owned(),
            name => name,
        });
        let folder = Folder::with(&name, &DEFINITIONS)?;
        let problems = unset_setters(folder.package()).unwrap_or_else(|problem| vec![problem]);
        findings.extend(problems.into_iter().map(|problem| of_setter(dir, problem)));
    }
    Ok(findings)
}

fn of_setter(dir: &Path, problem: Problem) -> Finding {
    let place = problem.file.map(|file| {
        let (line, column) = problem.place.unwrap_or_default();
        Place {
            file: dir.join(file),
            line: u32::try_from(line).unwrap_or_default(),
            column: u32::try_from(column).unwrap_or_default(),
        }
    });
    Finding {
        severity: Severity::Error,
        place,
        subject: None,
        field: None,
        message: problem.message,
        hint: problem.hint,
    }
}

fn tell(findings: &[Finding], count: usize, surroundings: &Surroundings) {
    for finding in findings {
        println!("{}: {}", word(finding.severity), told(finding, surroundings));
        if let Some(hint) = &finding.hint {
            println!("hint: {hint}");
        }
        println!("");
    }
    let number = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (number(Severity::Error), number(Severity::Warning));
    println!(
        "{}, {} in {}",
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(count, "object")
    );
}

fn told(finding: &Finding, surroundings: &Surroundings) -> String {
    let subject = finding.subject.as_ref();
    let subject = subject.map(|subject| format!("{} `{}`: ", subject.kind, subject.name));
    let field = finding.field.as_ref().map(|field| format!("{field}: "));
    let place = finding.place.as_ref();
    let text = place.and_then(|place| fs::read_to_string(&place.file).ok());
    Complaint {
        message: subject.unwrap_or_default() + &field.unwrap_or_default() + &finding.message,
        file: place.map(|place| shown(&place.file, surroundings)),
        place: place
            .filter(|place| place.line > 0)
            .map(|place| (place.line.into(), place.column.into())),
        text: text.as_deref(),
        hint: None,
    }
    .shown()
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn as_json(finding: &Finding, surroundings: &Surroundings) -> Value {
    let place = finding.place.as_ref();
    let written = place.filter(|place| place.line > 0);
    let object = finding.subject.as_ref().map(|subject| {
        json!({
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
        })
    });
    json!({
        "severity": word(finding.severity),
        "file": place.map(|place| shown(&place.file, surroundings)),
        "line": written.map(|place| place.line),
        "column": written.map(|place| place.column),
        "object": object,
        "field": finding.field,
        "message": finding.message,
        "hint": finding.hint,
    })
}
