//! Where there are no namespaces, plain processes do.

use containers::{spec::Network, tier::Tier};

use super::pod::{Pod, within};

async fn plain() -> Pod {
    Pod::with(|spec| {
        spec.tier = Tier::Process;
        spec.network = Network::Host;
    })
    .await
}

#[tokio::test]
async fn output_exit_codes_and_exec_work() {
    let pod = plain().await;
    let (text, exit) = pod.script("echo plain; exit 3").await;
    assert_eq!((text.as_str(), exit.code), ("plain\n", 3));
    pod.sandbox
        .start_container(&pod.container("main", "exec sleep 1000"))
        .await
        .unwrap();
    assert_eq!(
        pod.exec(&["sh", "-c", "echo hi; exit 2"]).await.unwrap().1.code,
        2
    );
    pod.stop().await;
}

#[tokio::test]
async fn what_a_container_leaves_behind_ends_with_it() {
    let pod = plain().await;
    let (text, _) = pod.script("sleep 4713 & echo $!").await;
    let left: i32 = text.trim().parse().unwrap();
    within(async {
        while std::path::Path::new(&format!("/proc/{left}")).exists() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    })
    .await;
}
