//! The server is killed; its pods are not.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, as_everybody, condition, container, eventually, eventually_or, shared_folder},
    leftovers::{self, Held},
};

#[tokio::test]
async fn pods_run_on_without_their_server_and_are_found_again() {
    as_everybody(async |mut cluster| {
        let count = "i=0; while true; do echo $i; i=$((i+1)); sleep 0.02; done";
        let pod = cluster
            .run("counts", count, json!({"terminationGracePeriodSeconds": 1}))
            .await;
        cluster.until_text(&pod, "\n5\n").await;
        let before = cluster
            .until("counts", "ready", |pod| condition(pod, "Ready") == "True")
            .await;
        cluster.kill();
        let reached = cluster.text(&pod, "main", 0).lines().count();
        eventually("the pod goes on", async || {
            cluster.text(&pod, "main", 0).lines().count() > reached + 20
        })
        .await;
        cluster.start_again().await;
        let after = cluster
            .until("counts", "ready", |pod| condition(pod, "Ready") == "True")
            .await;
        assert_eq!(container(&after, "main")["restartCount"], 0);
        assert_eq!(
            container(&after, "main")["state"]["running"],
            container(&before, "main")["state"]["running"]
        );
        let lines: Vec<usize> = cluster
            .text(&pod, "main", 0)
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect();
        assert!(lines.iter().copied().eq(0..lines.len()), "the log has no gap");
        let pods: Api<Pod> = cluster.api();
        pods.delete("counts", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("counts").await;
    })
    .await;
}

#[tokio::test]
async fn an_end_that_no_server_saw_is_told_by_the_next() {
    as_everybody(async |mut cluster| {
        let flag = shared_folder();
        let script = "while [ ! -e /flag/go ]; do sleep 0.02; done; echo bye; exit 5";
        let pod = cluster
            .run(
                "ends",
                script,
                json!({
                    "volumes": [{"name": "flag", "hostPath": {"path": flag.path()}}],
                    "containers": [{"volumeMounts": [{"name": "flag", "mountPath": "/flag"}]}],
                }),
            )
            .await;
        cluster.until_phase("ends", "Running").await;
        cluster.kill();
        std::fs::write(flag.path().join("go"), "").unwrap();
        cluster.until_text(&pod, "bye").await;
        cluster.start_again().await;
        let failed = cluster.until_phase("ends", "Failed").await;
        assert_eq!(container(&failed, "main")["state"]["terminated"]["exitCode"], 5);
    })
    .await;
}

/// Rounds of killing; more with `TRAINYARD_CRASHES`.
fn rounds() -> u64 {
    let wanted = std::env::var_os("TRAINYARD_CRASHES");
    wanted.and_then(|count| count.to_str()?.parse().ok()).unwrap_or(8)
}

/// A pod that holds one of everything that can be held.
fn grasping(mark: &str, gpus: bool) -> Value {
    let mut resources = json!({"limits": {"memory": "256Mi", "cpu": "1"}});
    if gpus {
        resources["limits"]["nvidia.com/gpu"] = json!("1");
    }
    json!({
        "terminationGracePeriodSeconds": 1,
        "volumes": [
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "disk", "emptyDir": {}},
        ],
        "containers": [
            {
                "resources": resources,
                "volumeMounts": [{"name": "memory", "mountPath": "/memory"}, {"name": "disk", "mountPath": "/disk"}],
            },
            {"name": "second", "image": "host", "command": ["sleep", mark]},
        ],
    })
}

async fn has_gpus(cluster: &Cluster) -> bool {
    let nodes: Api<Node> = Api::all(cluster.client());
    let nodes = nodes.list(&ListParams::default()).await.unwrap();
    json!(nodes.items.first().map(|node| &node.status))["allocatable"]["nvidia.com/gpu"]
        .as_str()
        .is_some_and(|count| count != "0")
}

#[tokio::test]
async fn a_server_killed_at_any_step_of_a_pods_life_leaves_nothing_behind() {
    as_everybody(async |mut cluster| {
        let data_dir = cluster.data_dir();
        // A number that no other process of this machine sleeps for.
        let mark = format!("9{}{}", std::process::id(), u8::from(cluster.is_root()));
        // The network comes up with the first pod.
        cluster.run("first", "true", json!({})).await;
        cluster.until_phase("first", "Succeeded").await;
        let pods: Api<Pod> = cluster.api();
        pods.delete("first", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("first").await;
        let mut uids = Vec::new();
        let folders = || std::fs::read_dir(data_dir.join("pods")).map_or(0, Iterator::count);
        eventually("no folder is left", async || folders() == 0).await;
        let before = Held::count(&data_dir, &uids, &mark);
        let gpus = has_gpus(&cluster).await;
        // Each round kills a little later: while pods are scheduled, prepared, started, stopped.
        for round in 0..rounds() {
            let name = format!("pod-{round}");
            let pause = Duration::from_millis(round % 8 * 15);
            let script = format!("echo up; sleep {mark}");
            let pod = cluster.run(&name, &script, grasping(&mark, gpus)).await;
            uids.extend(pod.uid());
            tokio::time::sleep(pause).await;
            cluster.kill();
            cluster.start_again().await;
            cluster.until_phase(&name, "Running").await;
            assert_eq!(container(&cluster.pod(&name).await, "main")["restartCount"], 0);
            let pods: Api<Pod> = cluster.api();
            pods.delete(&name, &DeleteParams::default()).await.unwrap();
            tokio::time::sleep(pause).await;
            cluster.kill();
            cluster.start_again().await;
            cluster.until_gone::<Pod>(&name).await;
        }
        let held = || Held::count(&data_dir, &uids, &mark);
        eventually_or(
            "nothing is left",
            async || held().is_within(&before),
            || format!("before: {before:#?}\nnow: {:#?}", held()),
        )
        .await;
        cluster.down();
        leftovers::assert_none(&data_dir);
    })
    .await;
}

#[tokio::test]
async fn a_sandbox_that_is_killed_costs_its_containers_one_restart() {
    as_everybody(async |cluster| {
        let policy = json!({"restartPolicy": "Always", "terminationGracePeriodSeconds": 1});
        let pod = cluster.run("lost", "echo up; sleep 1000", policy).await;
        cluster.until_text(&pod, "up").await;
        let state = cluster
            .data_dir()
            .join("pods")
            .join(pod.uid().unwrap())
            .join("state.json");
        let state: serde_json::Value = serde_json::from_slice(&std::fs::read(state).unwrap()).unwrap();
        let sandbox = i32::try_from(state["pid"].as_i64().unwrap()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(sandbox).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        let again = cluster
            .until("lost", "restarted", |pod| {
                container(pod, "main")["restartCount"] == 1 && condition(pod, "Ready") == "True"
            })
            .await;
        let last = &container(&again, "main")["lastState"]["terminated"];
        assert_eq!(last["exitCode"], 137);
        cluster.until_event("lost", "SandboxChanged").await;
    })
    .await;
}
