//! A server of another make behind the same ports: here it is this program once more.

use std::{fs, path::Path, process::Command};

use client_tests::{binary, run};

use crate::{Served, measured, refused, trained, until};

fn behind(model: &Path) -> Served {
    let program = binary().display().to_string();
    let mut words = vec!["--server-program", &program, "--"];
    words.extend(["serve", "{model_dir}", "--name", "{model_name}"]);
    words.extend(["--port", "{grpc_port}", "--port", "{rest_port}"]);
    Served::spawn(model, &words)
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let line = format!("PPid:\t{parent}");
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.lines().any(|found| found == line)
        })
        .collect()
}

#[track_caller]
fn only_child(served: &Served) -> u32 {
    let [child] = children(served.child.id())[..] else {
        panic!("it has not one child")
    };
    child
}

fn is_there(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn another_server_is_asked_and_started_again_when_it_dies() {
    let model = trained().copy();
    let mut served = behind(&model.path());
    assert_eq!(served.block["model"], "digits");
    let rest = served.get("/v1/models/digits");
    assert!(rest.contains("AVAILABLE"), "{rest}");
    assert!(served.get("/readyz").starts_with("HTTP/1.1 200"));
    let all = ["-n", "20", "-w", "0", "-b", "10", "-q"];
    measured(&served.address(), &all).success();
    let first = only_child(&served);
    signal(first, "-KILL");
    // Nothing is lost that a client asks for again.
    measured(&served.address(), &[&all[..], &["--retries", "30"]].concat()).success();
    let second = only_child(&served);
    assert_ne!(first, second);
    // Whoever is killed cannot end anything, and still nothing stays behind.
    served.kill();
    until("the server stays behind", || !is_there(second));
}

#[test]
fn another_server_ends_with_ours() {
    let model = trained().copy();
    let served = behind(&model.path());
    let child = only_child(&served);
    assert_eq!(served.stop(), Some(0));
    assert!(!is_there(child));
}

#[test]
fn a_server_that_does_not_start_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |words: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("serve").arg(folder.path()).args(["--port", "0"]);
        run(command.args(words), "")
    };
    for (words, told) in [
        (
            &["--server-program", "false"][..],
            "the server `false` ended (exit status: 1)",
        ),
        (
            &["--server-program", "/no/such/server"][..],
            "cannot run `/no/such/server`: No such file or directory",
        ),
        (
            &["--server-program", "sleep", "--start-timeout", "1", "--", "60"][..],
            "the server `sleep` cannot be asked after 1 seconds",
        ),
        (
            &["--server-program", "x", "--max-batch", "3"][..],
            "cannot be used with",
        ),
    ] {
        refused(&serve(words), &[told]);
    }
}
