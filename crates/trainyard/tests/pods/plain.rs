//! Where a machine allows no namespaces, pods are plain processes; what those cannot have is refused.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::DeleteParams};
use serde_json::{Value, json};

use crate::cluster::{as_everybody, as_everybody_with, container};

const PLAIN: &[&str] = &["--tier", "process"];

#[tokio::test]
async fn plain_processes_run_end_and_restart_as_pods_do() {
    as_everybody_with(PLAIN, async |mut cluster| {
        let pod = cluster
            .run(
                "plain",
                "echo $WORD; exit 4",
                json!({"containers": [{"env": [{"name": "WORD", "value": "hi"}]}]}),
            )
            .await;
        let failed = cluster.until_phase("plain", "Failed").await;
        assert_eq!(container(&failed, "main")["state"]["terminated"]["exitCode"], 4);
        assert_eq!(cluster.text(&pod, "main", 0), "hi\n");
        let status = failed.status.unwrap();
        assert_eq!(status.pod_ip, status.host_ip, "it is on the host's network");

        let pod = cluster
            .run(
                "stays",
                "echo up; exec sleep 1000",
                json!({"terminationGracePeriodSeconds": 1}),
            )
            .await;
        cluster.until_text(&pod, "up").await;
        cluster.kill();
        cluster.start_again().await;
        let running = cluster.until_phase("stays", "Running").await;
        assert_eq!(container(&running, "main")["restartCount"], 0);
        let data_dir = cluster.data_dir();
        cluster.down();
        crate::leftovers::assert_none(&data_dir);
    })
    .await;
}

#[tokio::test]
async fn what_plain_processes_cannot_have_is_refused_with_the_reason() {
    as_everybody_with(PLAIN, async |cluster| {
        let volume = json!({
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        });
        let of_main = |wish: Value| json!({"containers": [wish]});
        for (name, wish, what) in [
            (
                "image",
                of_main(json!({"image": "busybox"})),
                "container \"main\" has the image \"busybox\"",
            ),
            ("volume", volume, "container \"main\" has a volume at /v"),
            (
                "root",
                of_main(json!({"securityContext": {"readOnlyRootFilesystem": true}})),
                "container \"main\" has a read-only root",
            ),
            (
                "sysctls",
                json!({"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}}),
                "the pod has sysctls",
            ),
        ] {
            cluster.run(name, "echo wrong", wish).await;
            let status = cluster.until_phase(name, "Failed").await.status.unwrap();
            assert_eq!(status.reason.as_deref(), Some("PodFeatureUnsupported"));
            let expected = format!(
                "Pod was rejected: {what}, which plain processes cannot have: this machine allows no namespaces"
            );
            assert_eq!(status.message.as_deref(), Some(expected.as_str()));
        }
    })
    .await;
}

#[tokio::test]
async fn the_status_says_how_pods_are_kept_apart() {
    as_everybody(async |cluster| {
        let (tier, reasons, shown) = if cluster.is_root() {
            ("root", json!([]), "  tier        root\n")
        } else {
            (
                "rootless",
                json!(["not root but user 65534"]),
                "  tier        rootless (not root but user 65534)\n",
            )
        };
        let told: Value = serde_json::from_str(&cluster.trainyard(&["status", "-o", "json"]).stdout).unwrap();
        assert_eq!((&told["tier"], &told["tierReasons"]), (&json!(tier), &reasons));
        let text = cluster.trainyard(&["status"]).stdout;
        assert!(text.contains(shown), "{text}");
    })
    .await;
    as_everybody_with(PLAIN, async |cluster| {
        let told: Value = serde_json::from_str(&cluster.trainyard(&["status", "-o", "json"]).stdout).unwrap();
        assert_eq!(told["tier"], "process");
        let reasons = told["tierReasons"].as_array().unwrap();
        assert_eq!(reasons.last(), Some(&json!("no more was asked for")));
    })
    .await;
}

#[tokio::test]
async fn a_network_that_is_left_alone_is_stopped_and_told_of() {
    as_everybody(async |mut cluster| {
        cluster.run("once", "true", json!({})).await;
        cluster.until_phase("once", "Succeeded").await;
        let pods: Api<Pod> = cluster.api();
        pods.delete("once", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("once").await;
        cluster.kill();
        let down = cluster.trainyard(&["down"]);
        assert_eq!(
            (down.is_success, down.stdout.as_str()),
            (
                true,
                "Trainyard was not running; what it had left was stopped: the network of its pods\n"
            )
        );
        let again = cluster.trainyard(&["down"]);
        assert!(
            !again.is_success && again.stdout.starts_with("Trainyard is not running in "),
            "{again:?}"
        );
    })
    .await;
}
