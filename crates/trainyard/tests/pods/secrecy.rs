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

#[tokio::test]
async fn a_pod_that_may_mount_cannot_uncover_the_host() {
    as_everybody(async |cluster| {
        let data_dir = cluster.data_dir();
        // The data directory lies below the private `/tmp`.
        let script = format!(
            "umount /tmp; umount -l /tmp; cat {}/kubeconfig; mount -o remount,rw /etc; \
             mount -o remount,bind,rw /etc; touch /etc/trainyard-test && rm /etc/trainyard-test && echo written; \
             mount -t tmpfs none /mnt && umount /mnt && echo mounted",
            data_dir.display()
        );
        for (name, rights) in [
            ("administrator", json!({"capabilities": {"add": ["SYS_ADMIN"]}})),
            ("privileged", json!({"privileged": true})),
        ] {
            let further = json!({"containers": [{"securityContext": rights}]});
            let pod = cluster.run(name, &script, further).await;
            cluster.until_phase(name, "Succeeded").await;
            let text = cluster.text(&pod, "main", 0);
            assert!(!text.contains("apiVersion") && !text.contains("written"), "{name}: {text}");
            assert!(text.ends_with("mounted\n"), "{name}: {text}");
        }
    })
    .await;
}

#[tokio::test]
async fn no_volume_leads_to_the_data_directory() {
    as_everybody(async |cluster| {
        let data_dir = cluster.data_dir();
        let outside = crate::cluster::shared_folder();
        let link = outside.path().join("link");
        std::os::unix::fs::symlink(&data_dir, &link).unwrap();
        let mounted = |path: &std::path::Path| {
            json!({
                "volumes": [{"name": "host", "hostPath": {"path": path}}],
                "containers": [{"volumeMounts": [{"name": "host", "mountPath": "/host"}]}],
            })
        };
        for (name, path) in [("named", &data_dir), ("linked", &link)] {
            cluster.run(name, "ls /host", mounted(path)).await;
            let words = "lies in the data directory of this node, which no pod may see";
            cluster.until_event_says(name, "FailedMount", words).await;
        }
        let script = "ls -A /host/data; touch /host/data/x; cat /host/data/kubeconfig; echo looked";
        let parent = cluster
            .run("parent", script, mounted(data_dir.parent().unwrap()))
            .await;
        cluster.until_phase("parent", "Succeeded").await;
        let text = cluster.text(&parent, "main", 0);
        assert!(!text.contains("apiVersion") && !text.contains("store"), "{text}");
        assert!(
            text.ends_with("looked\n") && !data_dir.join("x").exists(),
            "{text}"
        );
    })
    .await;
}

#[tokio::test]
async fn shared_processes_tell_nothing_of_whoever_runs_the_cluster() {
    as_everybody(async |cluster| {
        let script = "cat /proc/1/environ; echo X > /proc/1/fd/2 && echo written; echo looked";
        let further = json!({
            "shareProcessNamespace": true,
            "containers": [{"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}}],
        });
        let pod = cluster.run("curious", script, further).await;
        cluster.until_phase("curious", "Succeeded").await;
        let text = cluster.text(&pod, "main", 0);
        assert!(!text.contains("HOME=") && !text.contains("written"), "{text}");
        assert!(text.ends_with("looked\n"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn a_container_can_write_to_its_home() {
    as_everybody(async |cluster| {
        let pod = cluster
            .run("at-home", "echo mine > $HOME/x && cat $HOME/x", json!({}))
            .await;
        cluster.until_phase("at-home", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "mine\n");
    })
    .await;
}
