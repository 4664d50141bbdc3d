//! What a pod must not see of others.

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use crate::cluster::as_everybody;

#[tokio::test]
async fn the_secrets_of_a_pod_are_seen_by_itself_alone() {
    as_everybody(async |cluster| {
        cluster
            .create::<Secret>(json!({"metadata": {"name": "key"}, "stringData": {"word": "opensesame"}}))
            .await;
        let keeps = json!({
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "key", "secret": {"secretName": "key"}}],
            "containers": [{
                "volumeMounts": [{"name": "key", "mountPath": "/key"}],
                "env": [{"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "key", "key": "word"}}}],
            }],
        });
        let keeper = cluster
            .run("keeps", "echo $WORD $(cat /key/word); sleep 1000", keeps)
            .await;
        cluster.until_text(&keeper, "opensesame opensesame").await;
        let data_dir = cluster.data_dir();
        let data = data_dir.display();
        // Files, and the environments of other processes, as the same user.
        let script = format!(
            "w=opense; w=${{w}}same; for place in {data} {data}/pods {data}/logs {data}/store.db; do grep -ras $w $place; done; \
             for process in /proc/[0-9]*; do [ $process = /proc/$$$$ ] || grep -as $w $process/environ; done; \
             ls {data}/* 2>/dev/null; echo looked"
        );
        let pod = cluster.run("curious", &script, json!({})).await;
        cluster.until_phase("curious", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "looked\n");
    })
    .await;
}

#[tokio::test]
async fn what_a_pod_writes_stays_in_its_own_places() {
    as_everybody(async |cluster| {
        let outside = crate::cluster::shared_folder();
        let script = format!(
            "touch {0}/file /etc/file /usr/file /var/lib/file 2>/dev/null; touch /tmp/file && echo written",
            outside.path().display()
        );
        let pod = cluster.run("writes", &script, json!({})).await;
        cluster.until_phase("writes", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "written\n");
        assert!(!outside.path().join("file").exists());
        assert!(!std::path::Path::new("/tmp/file").exists());
    })
    .await;
}
