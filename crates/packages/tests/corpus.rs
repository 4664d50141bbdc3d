//! Every build of the corpus of packages: the same bytes as the reference, the same warnings, an error
//! where it has one. `cargo xtask corpus` says where it is. `TRAINYARD_CORPUS_CASE` picks the cases whose names contain it.

#[path = "support/disk.rs"]
mod disk;

use std::{fs, path::Path};

use disk::Disk;
use packages::{LoadRestrictor, Options, build};
use serde_json::Value;

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn every_package_of_the_corpus_builds_as_in_the_reference() {
    let corpus = std::env::var_os("TRAINYARD_CORPUS").expect("TRAINYARD_CORPUS says where the corpus is");
    let corpus = Path::new(&corpus).join("kustomize/build");
    let wanted = std::env::var_os("TRAINYARD_CORPUS_CASE").unwrap_or_default();
    let wanted = wanted.to_string_lossy();
    let entries = fs::read_dir(&corpus).expect("the corpus can be read");
    let mut cases: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    cases.retain(|case| case.to_string_lossy().contains(&*wanted));
    cases.sort();
    let mut failures = Vec::new();
    for case in &cases {
        if let Err(failure) = check(case) {
            let name = case.file_name().unwrap_or_default().to_string_lossy();
            failures.push(format!("== {name}\n{failure}"));
        }
    }
    println!("{} of {} cases", cases.len() - failures.len(), cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(case: &Path) -> Result<(), String> {
    let text = fs::read(case.join("case.json")).map_err(|error| error.to_string())?;
    let description: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let folder = case.join(description["dir"].as_str().unwrap_or_default());
    let arguments = description["args"].as_array().into_iter().flatten();
    let is_free = arguments
        .filter_map(Value::as_str)
        .any(|argument| argument.contains("LoadRestrictionsNone"));
    let options = Options {
        load_restrictor: if is_free {
            LoadRestrictor::None
        } else {
            LoadRestrictor::RootOnly
        },
    };
    let built = build(&Disk, &folder, &options);
    if description["expect"] == "error" {
        return match built {
            Ok(_) => Err("it builds, but must not".to_owned()),
            Err(_) => Ok(()),
        };
    }
    let built = built.map_err(|error| {
        let place = error.place.map(|place| place.to_string()).unwrap_or_default();
        format!("{place}: {}", error.message)
    })?;
    let expected = fs::read_to_string(case.join("expected.yaml")).map_err(|error| error.to_string())?;
    difference(&expected, &built.to_yaml())
}

fn difference(expected: &str, actual: &str) -> Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let first = expected
        .iter()
        .zip(&actual)
        .position(|(left, right)| left != right)
        .unwrap_or(expected.len().min(actual.len()));
    let show = |lines: &[&str]| {
        let from = first.saturating_sub(4).min(lines.len());
        lines[from..(first + 6).min(lines.len())].join("\n    ")
    };
    Err(format!(
        "line {}:\n  expected\n    {}\n  got\n    {}",
        first + 1,
        show(&expected),
        show(&actual)
    ))
}
