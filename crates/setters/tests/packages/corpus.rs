//! The commands against the cases recorded from kustomize: exit status, standard output byte for byte, and the files
//! left behind, as YAML and setter comments. `cargo xtask corpus` says where they are.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use manifests::yaml::parse_documents;
use serde_json::Value;

use crate::arguments;

type Files = BTreeMap<String, Vec<u8>>;

fn corpus(suite: &str) -> PathBuf {
    let folder = std::env::var_os("TRAINYARD_CORPUS").expect("TRAINYARD_CORPUS says where the corpus is");
    Path::new(&folder).join("kustomize").join(suite)
}

fn collect(folder: &Path, prefix: &str, files: &mut Files) {
    for entry in fs::read_dir(folder)
        .expect("the folder can be read")
        .filter_map(Result::ok)
    {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).expect("the file can be read"));
        }
    }
}

fn files(folder: &Path) -> Files {
    let mut files = Files::new();
    collect(folder, "", &mut files);
    files
}

/// The setter comments of a text, without the spaces in them.
fn comments(text: &str) -> Vec<String> {
    let comment = |line: &str| {
        let at = line
            .find("# {")
            .or_else(|| line.find("#{"))
            .or_else(|| line.find("# kpt-set:"))?;
        let text = line[at + 1..].trim();
        let is_marker = text.ends_with('}') || text.starts_with("kpt-set:");
        is_marker.then(|| text.replace(' ', ""))
    };
    text.lines().filter_map(comment).collect()
}

fn is_same(expected: &[u8], actual: &[u8]) -> bool {
    let (expected, actual) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(actual));
    let values = |text: &str| -> Option<Vec<Value>> {
        let documents = parse_documents(text).ok()?;
        Some(documents.into_iter().map(|document| document.value).collect())
    };
    expected == actual
        || (values(&expected).is_some()
            && values(&expected) == values(&actual)
            && comments(&expected) == comments(&actual))
}

fn differences(expected: &Files, actual: &Files) -> Vec<String> {
    let mut differences = Vec::new();
    for (path, text) in expected {
        match actual.get(path) {
            None => differences.push(format!("{path} is missing")),
            Some(other) if !is_same(text, other) => differences.push(format!(
                "{path} should be\n{}\nbut is\n{}",
                String::from_utf8_lossy(text),
                String::from_utf8_lossy(other)
            )),
            Some(_) => {}
        }
    }
    let unexpected = actual.keys().filter(|path| !expected.contains_key(*path));
    differences.extend(unexpected.map(|path| format!("{path} is not expected")));
    differences
}

struct Case {
    folder: PathBuf,
    facts: Value,
    input: Files,
}

impl Case {
    fn read(folder: PathBuf) -> Self {
        let facts = fs::read(folder.join("case.json")).expect("the case can be read");
        Self {
            facts: serde_json::from_slice(&facts).expect("the case is JSON"),
            input: files(&folder.join("input")),
            folder,
        }
    }

    fn arguments(&self) -> Vec<&str> {
        let arguments = self.facts["argv"].as_array().expect("a case has arguments");
        arguments.iter().filter_map(Value::as_str).collect()
    }

    fn differences(&self, facts: &Value, expected: &str, output: bool) -> Vec<String> {
        let done = arguments::run(&self.arguments(), &self.input);
        let mut differences = Vec::new();
        if done.is_success != (facts["rc"] == 0) {
            let problem = done.problem.clone().unwrap_or_default();
            differences.push(format!("the status should be {}: {problem}", facts["rc"]));
        }
        if output {
            let expected = fs::read_to_string(self.folder.join("expected-stdout.txt")).unwrap_or_default();
            if expected != done.output {
                differences.push(format!("it should print\n{expected}but prints\n{}", done.output));
            }
        }
        let expected = if facts["changed"] == true {
            files(&self.folder.join(expected))
        } else {
            self.input.clone()
        };
        differences.extend(self::differences(&expected, &done.files));
        differences
    }
}

fn check(suite: &str, differences: impl Fn(&Case) -> Vec<String>) {
    let mut folders: Vec<PathBuf> = fs::read_dir(corpus(suite))
        .expect("the corpus can be read")
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    let mut failed = Vec::new();
    assert!(!folders.is_empty(), "there are no cases");
    for folder in folders {
        let case = Case::read(folder);
        let differences = differences(&case);
        if !differences.is_empty() {
            failed.push(format!(
                "{}: {:?}\n{}",
                case.folder.display(),
                case.arguments(),
                differences.join("\n")
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn setter_commands_of_the_corpus_do_what_kustomize_did() {
    check("cfg", |case| case.differences(&case.facts, "expected", true));
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn edits_of_the_corpus_do_what_one_kustomize_did() {
    check("edit", |case| {
        let versions = ["v5.5.0", "v3.8.4"];
        let of =
            |version: &&str| case.differences(&case.facts[*version], &format!("expected-{version}"), false);
        let mut differences = versions.iter().map(of);
        let first = differences.next().unwrap_or_default();
        if first.is_empty() || differences.any(|other| other.is_empty()) {
            Vec::new()
        } else {
            first
        }
    });
}
