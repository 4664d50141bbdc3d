//! What runs, and what it sees.

use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Node, Pod},
};
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, LogParams},
};
use serde_json::json;

use crate::cluster::{Who, as_everybody, condition, container, eventually, shared_folder};

#[tokio::test]
async fn a_job_runs_to_its_end_and_its_output_is_kept() {
    as_everybody(async |cluster| {
        let template = json!({"spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "host", "command": ["sh", "-c", "echo trained; echo done > /dev/termination-log"]},
        ]}});
        cluster
            .create::<Job>(json!({"metadata": {"name": "train"}, "spec": {"template": template}}))
            .await;
        let jobs: Api<Job> = cluster.api();
        eventually("the job completes", async || {
            let job = jobs.get("train").await.unwrap();
            job.status.is_some_and(|status| status.succeeded == Some(1))
        })
        .await;
        let pods: Api<Pod> = cluster.api();
        let pod = pods.list(&ListParams::default()).await.unwrap().items.remove(0);
        assert_eq!(cluster.text(&pod, "main", 0), "trained\n");
        assert_eq!(pods.logs(&pod.name_any(), &LogParams::default()).await.unwrap(), "trained\n");
        let ended = &container(&pod, "main")["state"]["terminated"];
        assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(0), &json!("Completed")));
        assert_eq!(ended["message"], "done\n");
        for reason in ["Scheduled", "Pulled", "Created", "Started"] {
            cluster.until_event(&pod.name_any(), reason).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_container_sees_its_own_names_addresses_variables_and_files() {
    as_everybody(async |cluster| {
        cluster
            .create::<ConfigMap>(json!({"metadata": {"name": "settings"}, "data": {"rate": "0.1"}}))
            .await;
        let script = "hostname; cat /etc/hostname; echo ip=$IP rate=$RATE; cat /etc/settings/rate; echo; \
                      grep -c $IP /etc/hosts; test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo token; \
                      ls /tmp | wc -l; sleep 1000";
        let pod = cluster
            .run(
                "sees",
                script,
                json!({
                    "terminationGracePeriodSeconds": 0,
                    "volumes": [{"name": "settings", "configMap": {"name": "settings"}}],
                    "containers": [{
                        "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
                        "env": [
                            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                            {"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "rate"}}},
                        ],
                    }],
                }),
            )
            .await;
        let running = cluster
            .until("sees", "ready", |pod| condition(pod, "Ready") == "True")
            .await;
        cluster.until_text(&pod, "token\n0\n").await;
        let address = running.status.unwrap().pod_ip.unwrap();
        let expected = format!("sees\nsees\nip={address} rate=0.1\n0.1\n1\ntoken\n0\n");
        assert_eq!(cluster.text(&pod, "main", 0), expected);
        for kind in ["PodReadyToStartContainers", "Initialized", "ContainersReady", "PodScheduled"] {
            assert_eq!(condition(&cluster.pod("sees").await, kind), "True", "{kind}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_data_directory_is_out_of_sight() {
    as_everybody(async |cluster| {
        let script = format!("ls {} 2>/dev/null | wc -l", cluster.data_dir().display());
        let pod = cluster.run("curious", &script, json!({})).await;
        cluster.until_phase("curious", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "0\n");
    })
    .await;
}

#[tokio::test]
async fn first_steps_run_in_order_and_sidecars_stay_until_the_work_is_done() {
    as_everybody(async |cluster| {
        let step = |name: &str, script: &str| {
            json!({"name": name, "image": "host", "command": ["sh", "-c", script],
                   "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]})
        };
        let mut sidecar = step("sidecar", "echo sidecar >> /shared/order; trap 'exit 0' TERM; sleep 1000 & wait");
        sidecar["restartPolicy"] = json!("Always");
        let pod = cluster
            .run(
                "staged",
                "until grep -q sidecar /shared/order; do sleep 0.05; done; cat /shared/order",
                json!({
                    "volumes": [{"name": "shared", "emptyDir": {}}],
                    "initContainers": [
                        step("one", "echo one >> /shared/order"), sidecar, step("two", "echo two >> /shared/order"),
                    ],
                    "containers": [{"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}],
                }),
            )
            .await;
        let over = cluster.until_phase("staged", "Succeeded").await;
        let text = cluster.text(&pod, "main", 0);
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.first(), Some(&"one"));
        lines.sort_unstable();
        assert_eq!(lines, ["one", "sidecar", "two"]);
        assert_eq!(container(&over, "one")["state"]["terminated"]["reason"], "Completed");
        assert_eq!(condition(&over, "Initialized"), "True");
    })
    .await;
}

#[tokio::test]
async fn pods_find_each_other_by_the_name_of_a_service() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let serve = "python3 -u -c 'import socket\n\
                     s = socket.create_server((\"\", 8080))\n\
                     while True:\n c = s.accept()[0]; c.sendall(b\"served\\n\"); c.close()'";
        cluster
            .create::<Pod>(json!({
                "metadata": {"name": "server", "labels": {"app": "server"}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                    {"name": "main", "image": "host", "command": ["sh", "-c", serve]},
                ]},
            }))
            .await;
        cluster
            .create::<k8s_openapi::api::core::v1::Service>(json!({
                "metadata": {"name": "greeter"},
                "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]},
            }))
            .await;
        let ask = "until python3 -c 'import socket\n\
                   print(socket.create_connection((\"greeter\", 80), 2).recv(99).decode().strip())' 2>/dev/null; do sleep 0.1; done";
        let pod = cluster.run("client", ask, json!({})).await;
        cluster.until_phase("client", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "served\n");
    })
    .await;
}

#[tokio::test]
async fn the_node_says_what_it_has_and_how_it_isolates() {
    as_everybody(async |cluster| {
        let nodes: Api<Node> = Api::all(cluster.client());
        eventually("the node is ready", async || {
            let nodes = nodes.list(&ListParams::default()).await.unwrap();
            nodes.items.iter().any(|node| {
                let status = json!(node.status);
                let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
                conditions
                    .iter()
                    .any(|it| it["type"] == "Ready" && it["status"] == "True")
            })
        })
        .await;
        let node = nodes.list(&ListParams::default()).await.unwrap().items.remove(0);
        let tier = match cluster.who() {
            Who::Us if rustix::process::geteuid().is_root() => "root",
            _ => "rootless",
        };
        assert_eq!(node.labels()["trainyard.dev/tier"], tier);
        let status = json!(node.status);
        assert!(status["allocatable"]["cpu"].is_string() && status["nodeInfo"]["kernelVersion"].is_string());
    })
    .await;
}

#[tokio::test]
async fn probes_decide_when_a_pod_is_ready_and_when_it_is_restarted() {
    as_everybody(async |cluster| {
        let told = shared_folder();
        cluster
            .run(
                "probed",
                "touch /tmp/alive; sleep 1000",
                json!({
                    "restartPolicy": "Always", "terminationGracePeriodSeconds": 0,
                    "volumes": [{"name": "told", "hostPath": {"path": told.path()}}],
                    "containers": [{
                        "volumeMounts": [{"name": "told", "mountPath": "/told"}],
                        "readinessProbe": {"exec": {"command": ["test", "-e", "/told/ready"]}, "periodSeconds": 1},
                        "livenessProbe": {"exec": {"command": ["test", "!", "-e", "/told/dead"]}, "periodSeconds": 1, "failureThreshold": 1},
                    }],
                }),
            )
            .await;
        let running = cluster.until_phase("probed", "Running").await;
        assert_eq!(condition(&running, "Ready"), "False");
        std::fs::write(told.path().join("ready"), "").unwrap();
        cluster
            .until("probed", "ready", |pod| condition(pod, "Ready") == "True")
            .await;
        std::fs::write(told.path().join("dead"), "").unwrap();
        cluster.until_event("probed", "Unhealthy").await;
        cluster
            .until("probed", "restarted", |pod| {
                container(pod, "main")["restartCount"].as_i64().is_some_and(|count| count > 0)
            })
            .await;
    })
    .await;
}
