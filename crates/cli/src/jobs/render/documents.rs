//! Manifests from files: which of their documents are training jobs, and where each of them stands.

use std::{fmt, fs, io::Read as _, path::Path};

use anyhow::{Context as _, Result};
use manifests::yaml;
use resources::{Kind, kinds};
use serde_json::Value;

/// An object and where it was found.
#[derive(Clone, Debug)]
pub(super) struct Document {
    file: String,
    /// Which of the file's, counted from one.
    number: usize,
    line: u64,
    pub(super) value: Value,
}

/// Everything that was found so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) jobs: Vec<Document>,
    /// What is no training job, in words.
    pub(super) passed_over: Vec<String>,
    /// What was meant to be one and cannot be, in words.
    pub(super) refusals: Vec<String>,
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let kind = text(&self.value["kind"]).unwrap_or_else(|| "an object without a kind".to_owned());
        write!(
            f,
            "{}: document {} (line {}), {kind}",
            self.file, self.number, self.line
        )?;
        match text(&self.value["metadata"]["name"]) {
            Some(name) => write!(f, " {name:?}"),
            None => Ok(()),
        }
    }
}

/// Reads a file, or standard input where it is called `-`.
pub(super) fn read(path: &Path, reading: &mut Reading) -> Result<()> {
    let (name, text) = if path == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        ("standard input".to_owned(), read.map(|_| text))
    } else {
        (path.display().to_string(), fs::read_to_string(path))
    };
    let text = text.with_context(|| format!("cannot read `{name}`"))?;
    sort(&name, &text, reading)
}

pub(super) fn sort(file: &str, text: &str, reading: &mut Reading) -> Result<()> {
    let documents = yaml::parse_documents(text).with_context(|| format!("`{file}` is not YAML"))?;
    for (index, document) in documents.into_iter().enumerate() {
        let found = Document {
            file: file.to_owned(),
            number: index + 1,
            line: document.line,
            value: document.value,
        };
        let repeated = document.duplicates.iter().map(|key| format!("{found}: {key}"));
        reading.refusals.extend(repeated);
        place(found, reading);
    }
    Ok(())
}

fn place(document: Document, reading: &mut Reading) {
    let text = |field: &str| document.value[field].as_str().unwrap_or_default();
    if text("apiVersion") == "v1" && text("kind") == "List" {
        let items = document.value["items"].as_array().cloned().unwrap_or_default();
        for value in items {
            place(
                Document {
                    value,
                    ..document.clone()
                },
                reading,
            );
        }
    } else if Kind::of(text("apiVersion"), text("kind")).is_some() {
        reading.jobs.push(document);
    } else if let Some(known) = versions_of(text("kind")) {
        let refusal = format!(
            "{document}: apiVersion: Unsupported value: {:?}: supported values: {known}",
            text("apiVersion")
        );
        reading.refusals.push(refusal);
    } else {
        reading.passed_over.push(format!("{document} is no training job"));
    }
}

/// The versions of a training kind that has this name.
fn versions_of(kind: &str) -> Option<String> {
    let rows = kinds::ALL.iter().filter(|row| row.kind == kind);
    let versions = rows.flat_map(|row| {
        row.versions
            .iter()
            .map(|version| format!("\"{}/{version}\"", row.group))
    });
    let versions: Vec<String> = versions.collect();
    (!versions.is_empty()).then(|| versions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, jobs: usize, passed_over: &[&str], refusals: &[&str]) {
        let mut reading = Reading::default();
        sort("f", text, &mut reading).unwrap();
        assert_eq!(reading.jobs.len(), jobs);
        assert_eq!(reading.passed_over, passed_over);
        assert_eq!(reading.refusals, refusals);
    }

    #[test]
    fn documents_are_sorted_by_what_they_are() {
        check(
            "kind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: kubeflow.org/v1\nkind: TFJob\n---\n# nothing\n---\na: 1\n",
            1,
            &[
                "f: document 1 (line 1), ConfigMap \"c\" is no training job",
                "f: document 3 (line 9), an object without a kind is no training job",
            ],
            &[],
        );
    }

    #[test]
    fn lists_are_looked_into() {
        let list =
            "apiVersion: v1\nkind: List\nitems: [{apiVersion: kubeflow.org/v1, kind: TFJob}, {kind: Pod}]\n";
        check(list, 1, &["f: document 1 (line 1), Pod is no training job"], &[]);
    }

    #[test]
    fn a_kind_in_a_version_it_does_not_have_and_a_key_twice_are_refused() {
        check(
            "apiVersion: kubeflow.org/v7\nkind: MPIJob\nkind: MPIJob\n",
            0,
            &[],
            &[
                "f: document 1 (line 1), MPIJob: line 3: key \"kind\" already set in map",
                "f: document 1 (line 1), MPIJob: apiVersion: Unsupported value: \"kubeflow.org/v7\": supported values: \"kubeflow.org/v2beta1\", \"kubeflow.org/v1\", \"kubeflow.org/v1alpha2\"",
            ],
        );
    }
}
