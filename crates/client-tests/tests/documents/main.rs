//! Documents as sessions: each command that a page tells its reader to type, typed on an empty home, and each output
//! that a page shows.

#![expect(clippy::print_stdout, reason = "a failed test shows which user ran it")]

use std::path::{Path, PathBuf};

use client_tests::{Newcomer, Page, Release, User, check, kubectl, needed, on_path};

#[test]
fn the_readme() {
    let program = &Page::read(&document("docs/quick-start.md")).files[0];
    played("README.md", "readme", &[("first/train.py", &program.1)]);
}

#[test]
fn the_quick_start() {
    let page = Page::read(&document("docs/quick-start.md"));
    let files: Vec<_> = page
        .files
        .iter()
        .map(|(name, text)| (format!("first/{name}"), text))
        .collect();
    assert_eq!(files.len(), 1, "{page:?}");
    played("docs/quick-start.md", "quick_start", &[(&files[0].0, files[0].1)]);
}

#[test]
fn a_package_with_an_env_file_and_an_image_of_ones_own() {
    session("env_file", &[]);
}

#[test]
fn packages_with_setters_in_the_words_of_kustomize() {
    session("setters", &[]);
}

#[test]
fn a_pod_on_a_workstation() {
    session("workstation", &[]);
}

#[test]
fn the_examples_of_tasks() {
    session("tasks", &[]);
}

/// Plays the session of a document, as every kind of user. `files` are what the reader has or saves.
#[track_caller]
fn played(document_name: &str, name: &str, files: &[(&str, &str)]) {
    session(name, files);
    Page::read(&document(document_name)).assert_played_by(&session_file(name));
}

/// Plays a session in the home of a new user who has these files besides a clone, as every kind of user.
#[track_caller]
fn session(name: &str, files: &[(&str, &str)]) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    if needed(on_path("python3")).is_none() {
        return;
    }
    for user in User::all() {
        println!("run by {user:?}");
        let newcomer = Newcomer::new(user);
        for (path, text) in files {
            newcomer.write(path, text);
        }
        check(&newcomer.terminal(&[("kubectl", &kubectl)]), &session_file(name));
    }
}

fn session_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/documents/{name}.session"))
}

fn document(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name)
}
