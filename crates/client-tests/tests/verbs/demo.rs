//! `demo`, by everybody, from nothing to nothing.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::{Command, Stdio},
};

use client_tests::{Output, Server, Shell, User, binary, run};
use serde_json::Value;

const NOBODY: u32 = 65_534;

fn trainyard(user: User, home: &Path, arguments: &[&str]) -> Output {
    run(&mut command(user, home, arguments), "")
}

fn command(user: User, home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .current_dir(home)
        .env("HOME", home)
        .env_remove("KUBECONFIG")
        .env_remove("TRAINYARD_DATA_DIR")
        .env_remove("XDG_DATA_HOME");
    if user == User::Nobody {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Runs the demo, and does something when it has said this; its code, and all that it has said.
fn disturbed(home: &Path, said: &str, disturb: impl FnOnce(u32)) -> (Option<i32>, String) {
    let mut demo = command(User::Us, home, &["demo", "--workers", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(demo.stderr.take().expect("it is piped"));
    let mut all = String::new();
    while !all.contains(said) {
        assert_ne!(lines.read_line(&mut all).expect("it is text"), 0, "{all}");
    }
    disturb(demo.id());
    lines.read_to_string(&mut all).expect("it is text");
    (demo.wait().expect("it ends").code(), all)
}

#[test]
fn the_demo_trains_and_leaves_nothing_but_data() {
    for user in User::all() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        if user == User::Nobody {
            chown(home, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let demo = trainyard(user, home, &["demo"]);
        assert_eq!(demo.code, 0, "{user:?}: {}{}", demo.stdout, demo.stderr);
        assert!(demo.stdout.contains("step  300 of 300"), "{}", demo.stdout);
        assert!(
            demo.stdout
                .contains("4 workers learnt together to read digits: 9"),
            "{}",
            demo.stdout
        );
        assert!(demo.stdout.contains("What to try next:"), "{}", demo.stdout);
        assert!(demo.stderr.contains("4 of 4 workers run"), "{}", demo.stderr);
        assert_eq!(
            trainyard(user, home, &["status"]).code,
            1,
            "the cluster is stopped"
        );
        let data = home.join(".local/share/trainyard");
        assert_eq!(
            fs::read_dir(data.join("pods")).unwrap().count(),
            0,
            "no pod is left"
        );
    }
}

#[test]
fn the_demo_uses_the_cluster_that_runs_and_says_when_too_little_was_learnt() {
    let server = Server::start_with_pods(User::Us);
    let shell = Shell::new(&server, &[("trainyard", binary())]);
    let demo = format!(
        "trainyard demo --workers 2 --data-dir {}",
        server.data_dir().display()
    );
    let learnt: Value = serde_json::from_str(&shell.ok(&format!("{demo} -o json"))).unwrap();
    assert!(learnt["accuracy"].as_f64() > Some(0.9), "{learnt}");
    let demo = shell.run(&format!("{demo} --target-accuracy 1"));
    assert_eq!(demo.code, 1, "{demo:?}");
    assert!(demo.stderr.contains("100.0 % were wanted"), "{}", demo.stderr);
    assert_eq!(server.status()["pid"], server.pid(), "the cluster goes on");
    let jobs: Value = serde_json::from_str(&shell.ok("trainyard ps -a -o json")).unwrap();
    assert_eq!(jobs, Value::Array(Vec::new()), "the job is removed");
}

#[test]
fn a_demo_that_is_interrupted_leaves_no_job_and_no_cluster_whenever_it_is() {
    for (signal, code, said) in [
        ("-HUP", 129, "starting the embedded cluster"),
        ("-INT", 130, "starting the embedded cluster"),
        ("-TERM", 143, "2 of 2 workers run"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let (ended, all) = disturbed(home, said, |demo| {
            run(Command::new("kill").args([signal, &demo.to_string()]), "");
        });
        assert_eq!(ended, Some(code), "{all}");
        assert!(all.contains("nothing of the demo is left behind"), "{all}");
        assert_eq!(trainyard(User::Us, home, &["status"]).code, 1, "{all}");
        let up = trainyard(User::Us, home, &["up", "--detach", "--listen", "127.0.0.1:0"]);
        let jobs = trainyard(User::Us, home, &["ps", "-a", "-o", "json"]);
        trainyard(User::Us, home, &["down"]);
        assert_eq!(jobs.stdout.trim(), "[]", "{up:?} {jobs:?}");
    }
}

#[test]
fn a_cluster_that_the_demo_has_started_goes_on_while_others_use_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let (ended, all) = disturbed(home, "2 of 2 workers run", |_| {
        let words = ["run", "--detach", "--name", "mine", "--", "sleep", "1000"];
        let run = trainyard(User::Us, home, &words);
        assert_eq!(run.code, 0, "{run:?}");
    });
    let status = trainyard(User::Us, home, &["status"]);
    trainyard(User::Us, home, &["down"]);
    assert_eq!(ended, Some(0), "{all}");
    assert!(
        all.contains("the cluster goes on, as there is more on it: PyTorchJob/mine"),
        "{all}"
    );
    assert_eq!(status.code, 0, "{status:?}");
}
