//! What nobody may see: headers of callbacks and tokens are in no answer, no log, and no file that others can read.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use client_tests::{Receiver, is_real};
use serde_json::json;

use crate::{Service, countdown, until};

const KEY: &str = "k3y-that-nobody-may-see";

#[test]
fn secrets_are_in_no_answer_no_log_and_no_open_file() {
    let service = Service::start();
    let receiver = Receiver::start();
    service.register_countdown("countdown");
    let mut values = countdown("countdown", 1);
    values["endpoints"] = json!([{
        "endpoint": receiver.url("/v1/callback"),
        "type": "event",
        "headers": {"x-api-key": KEY},
    }]);
    let tried = service.post("/v1/tasks?dryRun=true", &values);
    assert!(!tried.body.contains(KEY), "{tried:?}");
    let task = service.post("/v1/tasks", &values).expect(201);
    assert!(!task.to_string().contains(KEY), "{task}");
    let name = task["name"].as_str().unwrap();
    until("the first callback", || {
        let calls = receiver.calls();
        (!calls.is_empty()).then_some(()).ok_or_else(String::new)
    });
    // What is refused is not shown either.
    values["taskDef"] = json!("none");
    let refused = service.post("/v1/tasks", &values);
    assert!(!refused.body.contains(KEY), "{refused:?}");
    for path in [
        "/v1/tasks".to_owned(),
        format!("/v1/tasks/{name}"),
        format!("/v1/tasks/{name}/events"),
        "/v1/deliveries".to_owned(),
        "/v1/audit".to_owned(),
        "/v1/tokens".to_owned(),
    ] {
        let answer = service.get(&path);
        assert_eq!(answer.status, 200, "{answer:?}");
        for secret in [KEY, service.token.as_str()] {
            assert!(!answer.body.contains(secret), "{path}: {}", answer.body);
        }
    }
    if is_real() {
        return;
    }
    let mut log = String::new();
    for entry in fs::read_dir(service.server.home()).unwrap().flatten() {
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log")
        {
            log.push_str(&fs::read_to_string(entry.path()).unwrap());
        }
    }
    for secret in [KEY, service.token.as_str()] {
        assert!(!log.contains(secret), "{log}");
        let mut found = 0;
        search(&service.data_dir(), secret.as_bytes(), &mut found);
        // The token has a file of its own, which is how we know that the search finds what is there.
        assert!(found > 0 || secret == KEY, "the token was not found");
    }
}

/// Counts the files that have a text, which none but their owner may read.
fn search(folder: &Path, text: &[u8], found: &mut usize) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // The file systems of pods are theirs, and this machine's.
            if entry.file_name() != "pods" && entry.file_name() != "images" {
                search(&entry.path(), text, found);
            }
        } else if kind.is_file()
            && let Ok(bytes) = fs::read(entry.path())
            && bytes.windows(text.len()).any(|window| window == text)
        {
            *found += 1;
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} is {mode:o}", entry.path().display());
        }
    }
}
