//! Limits, where control groups can be written.

use containers::spec::{Cpu, Limits, ResourceLimit};

use super::pod::{Pod, within};

async fn has_control_groups(pod: &Pod) -> bool {
    let has = !pod.sandbox.state().await.unwrap().control_groups.is_empty();
    if !has {
        println!("skipped: no control group can be written by this user");
    }
    has
}

#[tokio::test]
async fn too_much_memory_is_told() {
    let pod = Pod::new().await;
    if !has_control_groups(&pod).await {
        return;
    }
    let mut container = pod.container("main", "exec tail /dev/zero");
    container.limits = Limits {
        memory_bytes: Some(32 << 20),
        ..Limits::default()
    };
    within(pod.sandbox.start_container(&container)).await.unwrap();
    let end = pod.ended("main").await.end.unwrap();
    assert_eq!((end.exit.code, end.out_of_memory), (137, true));
    pod.stop().await;
}

#[tokio::test]
async fn a_container_sees_its_own_limit() {
    let pod = Pod::new().await;
    if !has_control_groups(&pod).await {
        return;
    }
    let script = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; \
                  echo 1 > /sys/fs/cgroup/cgroup.procs; find /sys/fs/cgroup -name trainyard";
    let mut container = pod.container("main", script);
    container.limits.memory_bytes = Some(32 << 20);
    let (text, _) = pod.run(&container).await;
    assert!(
        text.starts_with("33554432\n") && !text.contains("trainyard"),
        "{text}"
    );
}

#[tokio::test]
async fn usage_is_counted_and_processes_are_limited() {
    let pod = Pod::new().await;
    if !has_control_groups(&pod).await {
        return;
    }
    let mut container = pod.container("main", "sleep 1000 & sleep 1000 & wait");
    let cpu = Some(Cpu {
        quota: 50_000,
        period: 100_000,
    });
    container.limits = Limits {
        pids: Some(3),
        cpu,
        cpu_shares: Some(512),
        memory_bytes: None,
    };
    pod.sandbox.start_container(&container).await.unwrap();
    within(async {
        loop {
            let usage = pod.sandbox.usage().await.unwrap();
            if usage["main"].pids == 3 {
                assert!(
                    usage["main"].cpu_nanoseconds > 0 && usage["main"].memory_bytes > 0,
                    "{usage:?}"
                );
                return;
            }
        }
    })
    .await;
    container.name = "fourth".to_owned();
    container.argv[2] = "sleep 1000 & sleep 1000 & sleep 1000 & echo no limit".to_owned();
    let (text, _) = pod.run(&container).await;
    assert!(!text.contains("no limit"), "{text}");
    pod.stop().await;
}

#[tokio::test]
async fn resource_limits_hold() {
    let pod = Pod::new().await;
    let mut container = pod.container("main", "ulimit -n");
    container.resource_limits = vec![ResourceLimit {
        name: "nofile".to_owned(),
        soft: 77,
        hard: 77,
    }];
    assert_eq!(pod.run(&container).await.0, "77\n");
}

#[tokio::test]
async fn usage_is_known_without_control_groups() {
    let pod = Pod::new().await;
    pod.sandbox
        .start_container(&pod.container("main", "sleep 1000 & echo up; wait"))
        .await
        .unwrap();
    pod.wait_for_log("main", "up").await;
    let usage = pod.sandbox.usage().await.unwrap();
    assert!(
        usage["main"].pids >= 2 && usage["main"].memory_bytes > 100_000,
        "{usage:?}"
    );
}
