//! Pods that somebody bound to the node and that it cannot take, and containers that cannot be started.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};

use crate::cluster::{Cluster, as_everybody, container, eventually};

/// A pod that is on the node without having been scheduled.
async fn bound(cluster: &Cluster, name: &str, mut further: Value) -> Pod {
    let nodes: Api<Node> = Api::all(cluster.client());
    eventually("there is a node", async || {
        !nodes.list(&ListParams::default()).await.unwrap().items.is_empty()
    })
    .await;
    let node = nodes.list(&ListParams::default()).await.unwrap().items.remove(0);
    further["nodeName"] = json!(node.name_any());
    further["terminationGracePeriodSeconds"] = json!(0);
    cluster.run(name, "sleep 1000", further).await
}

async fn rejected(cluster: &Cluster, name: &str) -> (String, String) {
    let status = cluster.until_phase(name, "Failed").await.status.unwrap();
    assert!(
        status.container_statuses.is_none_or(|all| all.is_empty()),
        "nothing of it ever was"
    );
    let reason = status.reason.unwrap_or_default();
    cluster.until_event(name, &reason).await;
    (reason, status.message.unwrap_or_default())
}

#[tokio::test]
async fn a_port_of_the_node_is_given_to_one_pod_at_a_time() {
    as_everybody(async |cluster| {
        let port = json!({"containers": [{"ports": [{"containerPort": 80, "hostPort": 8099}]}]});
        bound(&cluster, "first", port.clone()).await;
        cluster.until_phase("first", "Running").await;
        bound(&cluster, "second", port.clone()).await;
        let why = "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
        assert_eq!(
            rejected(&cluster, "second").await,
            ("NodePorts".to_owned(), why.to_owned())
        );
        let pods: Api<Pod> = cluster.api();
        pods.delete("first", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("first").await;
        bound(&cluster, "third", port).await;
        cluster.until_phase("third", "Running").await;
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_does_not_fit_is_rejected_with_what_is_missing() {
    as_everybody(async |mut cluster| {
        let asks =
            |resource: &str, amount: &str| json!({"containers": [{"resources": {"requests": {resource: amount}}}]});
        bound(&cluster, "wide", asks("cpu", "100000")).await;
        let (reason, message) = rejected(&cluster, "wide").await;
        assert_eq!(reason, "OutOfcpu");
        let beginning =
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 100000000, used: ";
        assert!(message.starts_with(beginning), "{message}");
        bound(&cluster, "large", asks("memory", "1000Ti")).await;
        assert_eq!(rejected(&cluster, "large").await.0, "OutOfmemory");
        bound(&cluster, "elsewhere", json!({"nodeSelector": {"disk": "none"}})).await;
        assert_eq!(rejected(&cluster, "elsewhere").await.0, "NodeAffinity");
        // Whatever is rejected stays so, and what was taken stays.
        bound(&cluster, "fits", asks("cpu", "10m")).await;
        let before = cluster.until_phase("fits", "Running").await;
        cluster.kill();
        cluster.start_again().await;
        let after = cluster.until_phase("fits", "Running").await;
        assert_eq!(
            container(&before, "main")["state"],
            container(&after, "main")["state"]
        );
        assert_eq!(rejected(&cluster, "wide").await.0, "OutOfcpu");
    })
    .await;
}

#[tokio::test]
async fn a_user_that_must_not_be_is_named() {
    as_everybody(async |cluster| {
        for (name, context, words) in [
            (
                "image",
                json!({"runAsNonRoot": true}),
                "container has runAsNonRoot and image will run as root",
            ),
            (
                "asked",
                json!({"runAsNonRoot": true, "runAsUser": 0}),
                "container's runAsUser breaks non-root policy",
            ),
        ] {
            let user = json!({"containers": [{"securityContext": context}]});
            cluster.run(name, "true", user).await;
            let waiting = cluster
                .until(name, "refused", |pod| {
                    container(pod, "main")["state"]["waiting"]["reason"] == "CreateContainerConfigError"
                })
                .await;
            let message = container(&waiting, "main")["state"]["waiting"]["message"].clone();
            assert!(message.as_str().unwrap().starts_with(words), "{message}");
            cluster.until_event_says(name, "Failed", words).await;
        }
    })
    .await;
}

#[tokio::test]
async fn volumes_that_cannot_be_had_are_told_of_by_name() {
    as_everybody(async |cluster| {
        for (name, source, words) in [
            (
                "absent-map",
                json!({"configMap": {"name": "absent"}}),
                "MountVolume.SetUp failed for volume \"v\" : configmap \"absent\" not found",
            ),
            (
                "absent-secret",
                json!({"secret": {"secretName": "absent"}}),
                "MountVolume.SetUp failed for volume \"v\" : secret \"absent\" not found",
            ),
            (
                "absent-folder",
                json!({"hostPath": {"path": "/no/such/folder", "type": "Directory"}}),
                "MountVolume.SetUp failed for volume \"v\" : hostPath type check failed: /no/such/folder is not a directory",
            ),
        ] {
            let mut volume = source;
            volume["name"] = json!("v");
            let mounted = json!({
                "volumes": [volume],
                "containers": [{"volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
            });
            cluster.run(name, "true", mounted).await;
            cluster.until_event_says(name, "FailedMount", words).await;
            let waiting = cluster.pod(name).await;
            assert_eq!(
                container(&waiting, "main")["state"]["waiting"]["reason"],
                "ContainerCreating"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_volume_in_the_place_of_the_root_is_refused() {
    as_everybody(async |cluster| {
        let at_root = json!({
            "volumes": [{"name": "all", "emptyDir": {}}],
            "containers": [{"volumeMounts": [{"name": "all", "mountPath": "/"}]}],
        });
        cluster.run("rootless", "ls /", at_root).await;
        let waits =
            |pod: &Pod| container(pod, "main")["state"]["waiting"]["reason"] == "CreateContainerConfigError";
        let pod = cluster.until("rootless", "refused", waits).await;
        let message = &container(&pod, "main")["state"]["waiting"]["message"];
        assert_eq!(
            message,
            "volume \"all\" cannot be mounted at \"/\": that is the container's root"
        );
    })
    .await;
}
