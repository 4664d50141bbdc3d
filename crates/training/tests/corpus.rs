//! What becomes of every training manifest of the corpus of real inputs: the children, their containers,
//! variables and volumes in their order are in `corpus.txt`, which `UPDATE_GOLDENS=1` writes anew.
//! `cargo xtask corpus` runs this where there is a corpus, which is no part of the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use manifests::yaml;
use resources::Kind;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use training::{Settings, check, render};

fn corpus() -> PathBuf {
    let folder = std::env::var_os("TRAINYARD_CORPUS").expect("TRAINYARD_CORPUS says where the corpus is");
    folder.into()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            files.push(path);
        }
    }
}

/// Training jobs of a file; what is no YAML (templates of charts) has none.
fn jobs(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let documents = yaml::parse_documents(&text).unwrap_or_default();
    let is_job = |value: &Value| {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        Kind::of(text("apiVersion"), text("kind")).is_some()
    };
    documents
        .into_iter()
        .map(|document| document.value)
        .filter(is_job)
        .collect()
}

/// Packages that are only whole when their variables are filled in, and patches of such.
fn is_unfinished(job: &Value) -> bool {
    let text = job.to_string();
    text.contains("$(MODEL_NAME)") || text.contains("\"image\":\"$(") || !text.contains("\"image\"")
}

/// Changes with anything in the child. The corpus is others' work, so what it says itself cannot be kept here.
fn fingerprint(child: &Value) -> String {
    let digest = Sha256::digest(child.to_string());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// A child in a few words: enough to see which name, variable or volume is gone or in another place, with what tells
/// that anything else is.
fn outline(child: &Value) -> String {
    let kind = child["kind"].as_str().unwrap_or_default();
    let name = child["metadata"]["name"].as_str().unwrap_or_default();
    let mut text = format!("  {kind} {name} {}\n", fingerprint(child));
    let spec = match kind {
        // The others of a role are like its first.
        "Pod" if name.ends_with(|last: char| ('1'..='9').contains(&last)) => return text,
        "Pod" => &child["spec"],
        "Job" => &child["spec"]["template"]["spec"],
        _ => return text,
    };
    for field in ["initContainers", "containers"] {
        for container in spec[field].as_array().into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            text.push_str(&format!("    {name}: {}\n", names(&container["env"])));
        }
    }
    text.push_str(&format!("    volumes: {}\n", names(&spec["volumes"])));
    text
}

fn names(list: &Value) -> String {
    let names = list.as_array().into_iter().flatten();
    let names = names.filter_map(|item| item["name"].as_str());
    names.collect::<Vec<_>>().join(" ")
}

/// What becomes of a job.
fn story(file: &Path, job: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let title = format!(
        "{} {} {}\n",
        file.display(),
        text(&job["kind"]),
        text(&job["metadata"]["name"])
    );
    let errors = check(job);
    let children = render(job, &Settings::default());
    assert_eq!(children.is_err(), !errors.is_empty());
    match children {
        Ok(children) => children
            .iter()
            .fold(title, |story, child| story + &outline(child)),
        Err(_) if is_unfinished(job) => format!("{title}  refused: a fragment\n"),
        Err(errors) => format!("{title}  refused: {}\n", errors[0]),
    }
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn the_manifests_of_the_corpus_give_what_they_always_gave() {
    let folder = corpus();
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let stories = files.iter().flat_map(|file| {
        let name = file.strip_prefix(&folder).unwrap_or(file);
        jobs(file).into_iter().map(move |job| story(name, &job))
    });
    let actual: String = stories.collect();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus.txt");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&golden, &actual).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let differs = |(actual, expected): &(&str, &str)| actual != expected;
    let first = actual.lines().zip(expected.lines()).find(differs);
    assert!(actual == expected, "it is other from here on: {first:?}");
}
