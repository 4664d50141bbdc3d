//! What pods may use, and what becomes of those that take more.

use std::fs;

use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::cluster::{Cluster, as_everybody, container};

/// Whether this machine lets the cluster limit what a pod uses.
async fn has_control_groups(cluster: &Cluster) -> bool {
    let pod = cluster
        .run("tries", "sleep 1000", json!({"terminationGracePeriodSeconds": 0}))
        .await;
    cluster.until_phase("tries", "Running").await;
    let state = cluster.data_dir().join("pods").join(pod.uid().unwrap());
    let state: Value = serde_json::from_slice(&fs::read(state.join("state.json")).unwrap()).unwrap();
    let groups = state["control_groups"].as_array();
    groups.is_some_and(|groups| !groups.is_empty())
}

#[tokio::test]
async fn a_container_that_takes_too_much_memory_is_killed_and_says_why() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        if !has_control_groups(&cluster).await {
            println!("skipped: no control groups for {:?} here", cluster.who());
            return;
        }
        let limits = json!({"containers": [{"resources": {"limits": {"memory": "64Mi"}}}]});
        let greedy = "exec python3 -c 'x = bytearray(1 << 30)'";
        cluster.run("greedy", greedy, limits).await;
        let failed = cluster.until_phase("greedy", "Failed").await;
        let ended = &container(&failed, "main")["state"]["terminated"];
        assert_eq!(
            (&ended["reason"], &ended["exitCode"]),
            (&json!("OOMKilled"), &json!(137))
        );
    })
    .await;
}

#[tokio::test]
async fn what_a_pod_asks_for_and_does_not_get_is_said_once() {
    as_everybody(async |mut cluster| {
        let (has_limits, is_root) = (has_control_groups(&cluster).await, cluster.is_root());
        let asks = json!({
            "securityContext": {"fsGroup": 3456, "supplementalGroups": [4567]},
            "terminationGracePeriodSeconds": 0,
            "containers": [{"resources": {"limits": {"memory": "64Mi"}}}],
        });
        let pod = cluster.run("asks", "id -G; echo up; sleep 1000", asks).await;
        cluster.until_text(&pod, "up").await;
        let groups = cluster.text(&pod, "main", 0);
        let has_groups = groups.contains("3456") && groups.contains("4567");
        assert!(has_groups || !is_root, "{groups}");
        let lacks = !has_groups || !has_limits;
        if lacks {
            cluster.until_event("asks", "PodFeatureUnsupported").await;
        }
        cluster.kill();
        cluster.start_again().await;
        cluster.run("after", "true", json!({})).await;
        cluster.until_phase("after", "Succeeded").await;
        let told = cluster.events("asks", "PodFeatureUnsupported").await;
        let times: i32 = told.iter().map(|event| event.count.unwrap_or(1)).sum();
        assert_eq!(times, i32::from(lacks), "{told:?}");
        let text: String = told.into_iter().filter_map(|event| event.message).collect();
        assert_eq!(
            text.contains("securityContext.fsGroup, spec.securityContext.supplementalGroups"),
            !has_groups,
            "{text}"
        );
        assert_eq!(
            text.contains("spec.containers{main}.resources.limits.memory"),
            !has_limits,
            "{text}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_fills_a_volume_beyond_its_limit_is_evicted() {
    as_everybody(async |cluster| {
        let limited = json!({
            "restartPolicy": "Always",
            "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}],
            "containers": [{"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}],
        });
        let fill = "head -c 3000000 /dev/zero > /scratch/file; sleep 1000";
        cluster.run("fills", fill, limited).await;
        let status = cluster.until_phase("fills", "Failed").await.status.unwrap();
        assert_eq!(status.reason.as_deref(), Some("Evicted"));
        let why = "Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Mi\". ";
        assert_eq!(status.message.as_deref(), Some(why));
        cluster.until_event_says("fills", "Evicted", why).await;
    })
    .await;
}

#[tokio::test]
async fn a_read_only_root_is_read_only_but_for_its_volumes() {
    as_everybody(async |cluster| {
        let read_only = json!({
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [{
                "securityContext": {"readOnlyRootFilesystem": true},
                "volumeMounts": [{"name": "data", "mountPath": "/tmp/data"}],
            }],
        });
        let script = "for place in / /etc /usr /tmp /var/tmp /tmp/data; do \
                      touch $place/file 2>/dev/null && echo $place; done; true";
        let pod = cluster.run("careful", script, read_only).await;
        cluster.until_phase("careful", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "/tmp/data\n");
    })
    .await;
}
