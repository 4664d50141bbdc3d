//! How pods are stopped.

use std::time::Instant;

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::cluster::{Cluster, as_everybody, container, eventually, shared_folder};

#[tokio::test]
async fn a_deleted_pod_runs_its_hook_hears_the_signal_and_goes() {
    as_everybody(async |cluster| {
        let told = shared_folder();
        let pod = cluster
            .run(
                "polite",
                "trap 'echo > /told/signal; exit 0' TERM; echo up; while true; do sleep 0.05; done",
                json!({
                    "terminationGracePeriodSeconds": 60,
                    "volumes": [{"name": "told", "hostPath": {"path": told.path()}}],
                    "containers": [{
                        "volumeMounts": [{"name": "told", "mountPath": "/told"}],
                        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "echo > /told/hook"]}}},
                    }],
                }),
            )
            .await;
        cluster.until_text(&pod, "up").await;
        let started = Instant::now();
        let pods: Api<Pod> = cluster.api();
        pods.delete("polite", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("polite").await;
        assert!(started.elapsed().as_secs() < 50, "it was killed, not asked");
        assert!(told.path().join("hook").exists() && told.path().join("signal").exists());
        cluster.until_event("polite", "Killing").await;
    })
    .await;
}

#[tokio::test]
async fn who_does_not_listen_is_killed_when_the_grace_period_is_over() {
    as_everybody(async |cluster| {
        let pod = cluster
            .run(
                "deaf",
                "trap '' TERM; echo up; while true; do sleep 0.05; done",
                json!({}),
            )
            .await;
        cluster.until_text(&pod, "up").await;
        let pods: Api<Pod> = cluster.api();
        pods.delete(
            "deaf",
            &DeleteParams {
                grace_period_seconds: Some(2),
                ..DeleteParams::default()
            },
        )
        .await
        .unwrap();
        cluster.until_gone::<Pod>("deaf").await;
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_runs_too_long_fails() {
    as_everybody(async |cluster| {
        let limits = json!({"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": 1});
        cluster.run("long", "sleep 1000", limits).await;
        let failed = cluster.until_phase("long", "Failed").await;
        assert_eq!(failed.status.unwrap().reason.as_deref(), Some("DeadlineExceeded"));
        let words = "Pod was active on the node longer than the specified deadline";
        cluster.until_event_says("long", "DeadlineExceeded", words).await;
    })
    .await;
}

#[tokio::test]
async fn a_failed_first_hook_ends_its_container() {
    as_everybody(async |cluster| {
        let hook = json!({
            "terminationGracePeriodSeconds": 1,
            "containers": [{"lifecycle": {"postStart": {"exec": {"command": ["false"]}}}}],
        });
        cluster.run("hooked", "sleep 1000", hook).await;
        let failed = cluster.until_phase("hooked", "Failed").await;
        assert_ne!(container(&failed, "main")["state"]["terminated"]["exitCode"], 0);
        cluster.until_event("hooked", "FailedPostStartHook").await;
    })
    .await;
}

/// What the server works on or waits for.
async fn tasks(cluster: &Cluster) -> usize {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = cluster.client().request_text(request).await.unwrap();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("trainyard_tasks "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn pods_that_have_ended_are_waited_for_by_nobody_and_still_go() {
    const PODS: usize = 12;
    as_everybody(async |cluster| {
        let before = tasks(&cluster).await;
        for number in 0..PODS {
            cluster.run(&format!("short-{number}"), "true", json!({})).await;
        }
        for number in 0..PODS {
            cluster.until_phase(&format!("short-{number}"), "Succeeded").await;
        }
        // Connections come and go.
        eventually("nothing sits by pods that have ended", async || {
            tasks(&cluster).await < before + PODS / 2
        })
        .await;
        // Whatever happens to it later, it is over, and goes when it is told to.
        let pods: Api<Pod> = cluster.api();
        let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
        pods.patch("short-0", &PatchParams::default(), &label)
            .await
            .unwrap();
        for number in 0..PODS {
            pods.delete(&format!("short-{number}"), &DeleteParams::default())
                .await
                .unwrap();
        }
        for number in 0..PODS {
            cluster.until_gone::<Pod>(&format!("short-{number}")).await;
        }
        eventually("their logs are gone", async || {
            std::fs::read_dir(cluster.data_dir().join("logs")).map_or(0, Iterator::count) == 0
        })
        .await;
    })
    .await;
}
