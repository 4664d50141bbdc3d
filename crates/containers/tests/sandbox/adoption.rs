//! A sandbox outlives whoever started it.

use std::{fs, time::Duration};

use containers::client::{Error, Sandbox};

use super::pod::{Pod, within};

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
    let sandbox = Sandbox::start(&super::pod::binary(), &dir, &spec).await.unwrap();
    sandbox.stop().await.unwrap();
}
