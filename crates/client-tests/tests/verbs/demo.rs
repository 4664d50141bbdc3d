//! `demo`, by everybody, from nothing to nothing.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::Command,
};

use client_tests::{Output, Server, Shell, User, binary, run};
use serde_json::Value;

const NOBODY: u32 = 65_534;

fn trainyard(user: User, home: &Path, arguments: &[&str]) -> Output {
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
    run(&mut command, "")
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
