//! Groups of pods, which are placed together: on nodes that only seem to run them.

use k8s_openapi::{
    api::{core::v1::Pod, scheduling::v1::PriorityClass},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Who, eventually};

async fn with_two_nodes() -> Cluster {
    let arguments = [
        "--simulated-nodes",
        "2",
        "--simulated-capacity",
        "nvidia.com/gpu=4",
    ];
    Cluster::start_with(Who::Us, &arguments).await
}

/// A pod that takes a whole node of those.
fn large(name: &str, labels: &Value, further: &Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "nodeSelector": {"trainyard.dev/simulated": "true"},
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "main",
                "image": "host",
                "resources": {"limits": {"nvidia.com/gpu": "4"}},
            }],
        },
    });
    for (field, value) in further.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn told(pod: &Pod) -> &str {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let scheduled = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "PodScheduled");
    scheduled
        .and_then(|condition| condition.message.as_deref())
        .unwrap_or_default()
}

#[tokio::test]
async fn less_important_pods_make_room_for_a_whole_group() {
    let cluster = with_two_nodes().await;
    let class = json!({"metadata": {"name": "urgent"}, "value": 1000});
    let classes: Api<PriorityClass> = Api::all(cluster.client());
    let class = serde_json::from_value(class).unwrap();
    classes.create(&PostParams::default(), &class).await.unwrap();
    for name in ["idle-0", "idle-1"] {
        cluster.create::<Pod>(large(name, &json!({}), &json!({}))).await;
    }
    for name in ["idle-0", "idle-1"] {
        cluster.until_phase(name, "Running").await;
    }
    let group = json!({"trainyard.dev/pod-group": "g", "trainyard.dev/pod-group-size": "2"});
    let urgent = json!({"priorityClassName": "urgent"});
    for name in ["urgent-0", "urgent-1"] {
        cluster.create::<Pod>(large(name, &group, &urgent)).await;
    }
    for name in ["urgent-0", "urgent-1"] {
        cluster.until_phase(name, "Running").await;
    }
    for name in ["idle-0", "idle-1"] {
        cluster.until_gone::<Pod>(name).await;
        cluster.until_event(name, "Preempted").await;
    }
}

#[tokio::test]
async fn pods_of_a_group_wait_for_the_object_that_says_how_many_they_are() {
    let cluster = with_two_nodes().await;
    let group = json!({"scheduling.x-k8s.io/pod-group": "g"});
    cluster.create::<Pod>(large("first", &group, &json!({}))).await;
    let missing = "PodGroup default/g not found";
    cluster
        .until("first", "told what it waits for", |pod| told(pod) == missing)
        .await;
    make_pod_group(&cluster, "g", 2).await;
    let incomplete = "pod group g needs 2 pods and has 1";
    cluster
        .until("first", "told who is missing", |pod| {
            told(pod).starts_with(incomplete)
        })
        .await;
    cluster.create::<Pod>(large("second", &group, &json!({}))).await;
    for name in ["first", "second"] {
        cluster.until_phase(name, "Running").await;
    }
}

async fn make_pod_group(cluster: &Cluster, name: &str, size: u32) {
    let definition = json!({
        "metadata": {
            "name": "podgroups.scheduling.x-k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved"},
        },
        "spec": {
            "group": "scheduling.x-k8s.io",
            "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let definition = serde_json::from_value(definition).unwrap();
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "scheduling.x-k8s.io",
        "v1alpha1",
        "PodGroup",
    ));
    let groups: Api<DynamicObject> = Api::default_namespaced_with(cluster.client(), &kind);
    let group = DynamicObject::new(name, &kind).data(json!({"spec": {"minMember": size}}));
    eventually("the group is made", async || {
        groups.create(&PostParams::default(), &group).await.is_ok()
    })
    .await;
}
