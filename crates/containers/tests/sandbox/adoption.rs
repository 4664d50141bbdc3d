//! A sandbox outlives whoever started it.

use std::{fs, time::Duration};

use containers::{
    client::{Error, Sandbox},
    spec,
};

use this_program::Program;

use super::pod::{Pod, binary, tier, within};

#[tokio::test]
async fn another_client_finds_the_sandbox_and_what_it_missed() {
    let pod = Pod::new().await;
    let script = "i=0; while [ $i -lt 300 ]; do echo tick $i; i=$((i+1)); sleep 0.002; done; exit 4";
    pod.sandbox
        .start_container(&pod.container("main", script))
        .await
        .unwrap();
    // Whoever watches goes away in the middle of it, several times.
    for _ in 0..5 {
        let mut states = pod.sandbox.states().await.unwrap();
        states.next().await.unwrap();
        let attachment = pod.sandbox.attach("main").await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop((states, attachment));
    }
    let adopted = Sandbox::adopt(pod.sandbox.dir()).await.unwrap();
    assert_eq!(adopted.pid(), pod.sandbox.pid());
    assert_eq!(pod.ended("main").await.end.unwrap().exit.code, 4);
    let expected: String = (0..300).map(|number| format!("tick {number}\n")).collect();
    assert_eq!(pod.text("main"), expected);
    // The end is in the file as well, for whoever comes later.
    let written = containers::client::last_state(pod.sandbox.dir()).await.unwrap();
    assert_eq!(written, adopted.state().await.unwrap());
}

#[tokio::test]
async fn a_sandbox_is_nobodys_child() {
    let pod = Pod::new().await;
    let status = fs::read_to_string(format!("/proc/{}/status", pod.sandbox.pid())).unwrap();
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:\t"))
        .unwrap();
    assert_ne!(parent, std::process::id().to_string());
}

#[tokio::test]
async fn starts_of_one_folder_that_overlap_leave_one_sandbox() {
    let pod = Pod::new().await;
    let dir = pod.sandbox.dir();
    let spec: spec::Sandbox = serde_json::from_slice(&fs::read(dir.join("sandbox.json")).unwrap()).unwrap();
    let program = Program::at(binary());
    let start = || Sandbox::start(&program, dir, &spec);
    // One of them may find its own gone by the time it asks for it.
    let _ = within(async { tokio::join!(start(), start(), start()) }).await;
    let place = dir.display().to_string();
    let left = || {
        let lines = fs::read_dir("/proc").unwrap().flatten();
        let lines = lines.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.contains(&place)).count()
    };
    within(async {
        // Those that were killed are gone a moment later.
        while left() != 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let living = Sandbox::adopt(dir).await.unwrap();
    assert_ne!(living.pid(), pod.sandbox.pid());
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_any_more_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec::Sandbox::new("unwanted".to_owned(), tier());
    fs::write(
        folder.path().join("sandbox.json"),
        serde_json::to_vec(&spec).unwrap(),
    )
    .unwrap();
    let launcher = std::process::Command::new(binary())
        .arg("__sandbox")
        .arg(folder.path())
        .arg("1")
        .output()
        .unwrap();
    assert!(!launcher.status.success());
    let said = String::from_utf8_lossy(&launcher.stderr).into_owned();
    assert!(said.contains("whoever asked for it is gone"), "{said}");
    assert!(!folder.path().join("state.json").exists());
}

#[tokio::test]
async fn a_stopped_sandbox_cannot_be_adopted_but_its_state_can_be_read() {
    let pod = Pod::new().await;
    pod.sandbox
        .start_container(&pod.container("main", "exec sleep 1000"))
        .await
        .unwrap();
    within(pod.sandbox.stop()).await.unwrap();
    let state = containers::client::last_state(pod.sandbox.dir()).await.unwrap();
    assert_eq!(
        state.containers["main"].end.as_ref().unwrap().exit.signal,
        Some(9)
    );
    within(async {
        while let Ok(sandbox) = Sandbox::adopt(pod.sandbox.dir()).await {
            drop(sandbox);
        }
    })
    .await;
    assert!(matches!(
        Sandbox::adopt(pod.sandbox.dir()).await,
        Err(Error::Gone { .. })
    ));
}

#[tokio::test]
async fn long_paths_are_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("x".repeat(100)).join("y".repeat(100));
    let spec = containers::spec::Sandbox::new("long", super::pod::tier());
    let sandbox = Sandbox::start(&Program::at(super::pod::binary()), &dir, &spec)
        .await
        .unwrap();
    sandbox.stop().await.unwrap();
}
