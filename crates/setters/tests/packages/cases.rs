//! Our own cases: a package, a command line, what it prints and what becomes of the files. Each file of `testdata` is
//! one; `UPDATE_GOLDENS=1` writes what happens now.

use std::{collections::BTreeMap, fs, path::Path};

use crate::arguments;

/// The parts of a case: `=== NAME` and the lines up to the next.
fn parts(text: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("=== ") {
            Some(name) => parts.push((name.trim().to_owned(), String::new())),
            None => {
                if let Some((_, body)) = parts.last_mut() {
                    body.push_str(line);
                }
            }
        }
    }
    parts
}

/// The commands of a case, one after the other on the files the one before has left.
fn play(case: &str) -> String {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut played = String::new();
    for (name, body) in parts(case) {
        if let Some(file) = name.strip_prefix("file ") {
            played += &format!("=== {name}\n{body}");
            files.insert(file.to_owned(), body.into_bytes());
            continue;
        }
        let Some(command) = name.strip_prefix("run ") else {
            continue;
        };
        let words: Vec<&str> = command.split_whitespace().collect();
        let done = arguments::run(&words, &files);
        played += &format!("=== {name}\n{}", done.output);
        if let Some(problem) = &done.problem {
            played += &format!("error: {problem}\n");
        }
        if !done.is_success && done.problem.is_none() {
            played += "nothing was found\n";
        }
        for (path, text) in &done.files {
            if files.get(path) != Some(text) {
                let before = files
                    .get(path)
                    .map(|text| String::from_utf8_lossy(text).into_owned());
                played += &format!(
                    "--- {path}\n{}",
                    changes(&before.unwrap_or_default(), &String::from_utf8_lossy(text))
                );
            }
        }
        files = done.files;
    }
    played
}

/// The lines that are not in the other text.
fn changes(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(one, other)| one == other)
        .count();
    let rest = before.len().min(after.len()) - same;
    let same_end = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    let gone = before[same..before.len() - same_end]
        .iter()
        .map(|line| format!("-{line}\n"));
    let new = after[same..after.len() - same_end]
        .iter()
        .map(|line| format!("+{line}\n"));
    gone.chain(new).collect()
}

#[test]
fn commands_do_to_our_packages_what_they_always_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let case = fs::read_to_string(&path).unwrap();
        let played = play(&case);
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            fs::write(&path, &played).unwrap();
        } else {
            assert!(
                played == case,
                "{} should be\n{case}\nbut is\n{played}",
                path.display()
            );
        }
    }
}
