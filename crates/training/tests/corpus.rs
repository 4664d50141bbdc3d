//! Every training manifest of the corpus of real inputs renders, or is refused with a reason. The
//! corpus lies beside the repository, or where `TRAINYARD_CORPUS` says; without it nothing is checked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use manifests::yaml;
use resources::Kind;
use serde_json::Value;
use training::{Settings, check, render};

fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("TRAINYARD_CORPUS").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
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

#[test]
fn the_manifests_of_the_corpus_render() {
    let Some(folder) = corpus() else { return };
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let mut rendered = 0;
    let mut refused = Vec::new();
    for file in files {
        for job in jobs(&file) {
            // Any input, also a fragment, gets an answer.
            let errors = check(&job);
            let children = render(&job, &Settings::default());
            assert_eq!(children.is_err(), !errors.is_empty());
            match children {
                Ok(children) => {
                    assert!(
                        children.len() >= 2
                            || job["spec"]["jobMode"] == "local"
                            || job["apiVersion"] == "mlkube.io/v1beta1"
                    );
                    rendered += 1;
                }
                Err(_) if is_unfinished(&job) => {}
                Err(errors) => refused.push(format!("{}: {}", file.display(), errors[0])),
            }
        }
    }
    println!("{rendered} jobs rendered; refused:\n{}", refused.join("\n"));
    assert!(
        rendered >= 10,
        "only {rendered} jobs rendered; refused:\n{}",
        refused.join("\n")
    );
}
