//! What ends and is started again, and what cannot be started.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{Api, api::LogParams};
use serde_json::json;

use crate::cluster::{as_everybody, container};

#[tokio::test]
async fn what_crashes_is_restarted_and_then_waits_longer_and_longer() {
    as_everybody(async |cluster| {
        let pod = cluster
            .run(
                "crashes",
                "echo >> /tries/list; echo try $(wc -l < /tries/list); exit 3",
                json!({
                    "restartPolicy": "OnFailure",
                    "volumes": [{"name": "tries", "emptyDir": {}}],
                    "containers": [{"volumeMounts": [{"name": "tries", "mountPath": "/tries"}]}],
                }),
            )
            .await;
        let waiting = cluster
            .until("crashes", "backing off", |pod| {
                let status = container(pod, "main");
                status["state"]["waiting"]["reason"] == "CrashLoopBackOff" && status["restartCount"] == 1
            })
            .await;
        let status = container(&waiting, "main");
        assert_eq!(status["lastState"]["terminated"]["exitCode"], 3);
        let message = status["state"]["waiting"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("back-off 10s restarting failed container=main"),
            "{message}"
        );
        assert_eq!(cluster.text(&pod, "main", 1), "try 2\n");
        // Whoever asks now means the run that is over, by either name.
        let pods: Api<Pod> = cluster.api();
        for previous in [false, true] {
            let options = LogParams {
                previous,
                ..LogParams::default()
            };
            assert_eq!(pods.logs("crashes", &options).await.unwrap(), "try 2\n");
        }
        cluster.until_event("crashes", "BackOff").await;
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_must_not_restart_fails_with_the_end_of_its_log() {
    as_everybody(async |cluster| {
        let policy = json!({"containers": [{"terminationMessagePolicy": "FallbackToLogsOnError"}]});
        cluster
            .run("fails", "echo lost the gradient; exit 7", policy)
            .await;
        let failed = cluster.until_phase("fails", "Failed").await;
        let ended = &container(&failed, "main")["state"]["terminated"];
        assert_eq!(
            (&ended["exitCode"], &ended["message"]),
            (&json!(7), &json!("lost the gradient\n"))
        );
    })
    .await;
}

#[tokio::test]
async fn a_missing_program_and_a_missing_config_map_are_told_apart() {
    as_everybody(async |cluster| {
        let command = json!({"containers": [{"command": ["/no/such/program"]}]});
        cluster.run("absent", "", command).await;
        let failed = cluster.until_phase("absent", "Failed").await;
        assert_eq!(
            container(&failed, "main")["state"]["terminated"]["reason"],
            "StartError"
        );

        let from = json!({"containers": [{"envFrom": [{"configMapRef": {"name": "later"}}]}]});
        cluster.run("waits", "echo $WORD", from).await;
        let waiting = cluster
            .until("waits", "refused", |pod| {
                container(pod, "main")["state"]["waiting"]["reason"] == "CreateContainerConfigError"
            })
            .await;
        let message = &container(&waiting, "main")["state"]["waiting"]["message"];
        assert_eq!(message, "configmap \"later\" not found");
        cluster
            .create::<ConfigMap>(json!({"metadata": {"name": "later"}, "data": {"WORD": "now"}}))
            .await;
        cluster.until_phase("waits", "Succeeded").await;
    })
    .await;
}

#[tokio::test]
async fn an_image_is_never_replaced_by_the_host() {
    as_everybody(async |cluster| {
        let image = json!({"containers": [{"image": "localhost:1/no/such:image"}]});
        cluster.run("image", "echo wrong", image).await;
        cluster
            .until("image", "refused", |pod| {
                let reason = container(pod, "main")["state"]["waiting"]["reason"].clone();
                reason.as_str().is_some_and(|reason| reason.contains("Image"))
            })
            .await;
    })
    .await;
}
