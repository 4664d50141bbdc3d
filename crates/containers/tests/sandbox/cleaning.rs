//! Nothing is left behind, whatever happens.

use std::{fs, path::Path, time::Duration};

use containers::client;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::pod::{Pod, within};

/// Processes of this user whose command line holds the mark.
fn processes(mark: &str) -> usize {
    let commands = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    commands
        .filter(|command| String::from_utf8_lossy(command).contains(mark))
        .count()
}

fn mounts() -> usize {
    fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .count()
}

#[tokio::test]
async fn killing_the_sandbox_kills_everything_in_it() {
    let before = mounts();
    let pod = Pod::new().await;
    // A program that changes its user loses the parent-death signal, daemons lose their parent.
    let script = "setsid sleep 4711.1 & (setsid sleep 4711.2 &) ; echo up; exec sleep 4711.3";
    for name in ["one", "two"] {
        pod.sandbox
            .start_container(&pod.container(name, script))
            .await
            .unwrap();
        pod.wait_for_log(name, "up").await;
    }
    let mark = "sleep\x004711.";
    within(async {
        while processes(mark) < 6 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    kill(Pid::from_raw(pod.sandbox.pid()), Signal::SIGKILL).unwrap();
    within(async {
        while processes(mark) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let state = within(client::bury(pod.sandbox.dir())).await.unwrap();
    assert!(
        state.containers["one"].is_running(),
        "nobody was there to see the end"
    );
    assert!(
        !state.control_groups.iter().any(|folder| folder.exists()),
        "{:?}",
        state.control_groups
    );
    assert_eq!(mounts(), before);
    // Whatever was mounted in the folder was so only for the sandbox.
    fs::remove_dir_all(pod.folder.path()).unwrap();
}

#[tokio::test]
async fn a_stopped_sandbox_leaves_only_its_files() {
    let pod = Pod::new().await;
    pod.sandbox
        .start_container(&pod.container("main", "exec sleep 4712.1"))
        .await
        .unwrap();
    let groups = pod.sandbox.state().await.unwrap().control_groups;
    within(pod.sandbox.stop()).await.unwrap();
    assert!(!groups.iter().any(|folder| folder.exists()), "{groups:?}");
    assert_eq!(processes("4712.1"), 0);
    let mut files: Vec<_> = fs::read_dir(pod.sandbox.dir())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "mounts",
            "sandbox.json",
            "sandbox.lock",
            "sandbox.log",
            "state.json"
        ]
    );
    assert_eq!(
        fs::read_to_string(pod.sandbox.dir().join("sandbox.log")).unwrap(),
        ""
    );
    assert!(Path::new("/dev/null").exists());
}
