//! What pods share with each other and with the host, and what is their own.

use std::{
    io::Write as _,
    net::{Shutdown, TcpListener},
    process,
};

use serde_json::json;

use crate::cluster::{as_everybody, container};

#[tokio::test]
async fn containers_of_a_pod_see_each_others_processes_if_it_says_so() {
    as_everybody(async |cluster| {
        let look = "[ $$$$ -ne 1 ] && echo not the first; \
                    until cat /proc/[0-9]*/comm 2>/dev/null | grep -qx sleep; do :; done; echo seen";
        let shared = json!({
            "shareProcessNamespace": true, "terminationGracePeriodSeconds": 0,
            "initContainers": [{
                "name": "other", "image": "host", "restartPolicy": "Always", "command": ["sleep", "1000"],
            }],
        });
        let pod = cluster.run("shared", look, shared).await;
        cluster.until_phase("shared", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "not the first\nseen\n");
        let pod = cluster.run("alone", "echo $$$$", json!({})).await;
        cluster.until_phase("alone", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "1\n");
    })
    .await;
}

#[tokio::test]
async fn only_a_pod_on_the_hosts_processes_sees_them() {
    as_everybody(async |cluster| {
        let script = format!("cat /proc/{}/comm 2>/dev/null || echo unseen", process::id());
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        for (name, on_host, expected) in [("host", true, own.as_str()), ("own", false, "unseen\n")] {
            let pod = cluster.run(name, &script, json!({"hostPID": on_host})).await;
            cluster.until_phase(name, "Succeeded").await;
            assert_eq!(cluster.text(&pod, "main", 0), expected, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn only_a_pod_on_the_hosts_network_is_where_the_host_is() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.write_all(b"reached\n");
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        let script = format!(
            "python3 -c 'import socket\n\
             print(socket.create_connection((\"127.0.0.1\", {port}), 5).recv(99).decode().strip())' 2>/dev/null \
             || echo unreachable"
        );
        for (name, on_host, expected) in [("host", true, "reached\n"), ("own", false, "unreachable\n")] {
            let pod = cluster.run(name, &script, json!({"hostNetwork": on_host})).await;
            let over = cluster.until_phase(name, "Succeeded").await;
            assert_eq!(cluster.text(&pod, "main", 0), expected, "{name}");
            let status = over.status.unwrap();
            assert_eq!(status.pod_ip == status.host_ip, on_host, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_pod_changes_settings_of_its_own_kernel_namespaces_and_no_others() {
    as_everybody(async |cluster| {
        let setting = |name: &str, value: &str| {
            json!({"securityContext": {"sysctls": [{"name": name, "value": value}]}})
        };
        let before = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
        let read = "cat /proc/sys/net/ipv4/ip_unprivileged_port_start";
        let safe = setting("net.ipv4.ip_unprivileged_port_start", "77");
        let pod = cluster.run("safe", read, safe).await;
        cluster.until_phase("safe", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "77\n");
        let after = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
        assert_eq!(before, after);

        cluster.run("unsafe", "true", setting("kernel.msgmax", "77")).await;
        let status = cluster.until_phase("unsafe", "Failed").await.status.unwrap();
        assert_eq!(status.reason.as_deref(), Some("SysctlForbidden"));
        assert_eq!(
            status.message.as_deref(),
            Some("Pod was rejected: forbidden sysctl: \"kernel.msgmax\" not allowlisted")
        );
    })
    .await;
}

#[tokio::test]
async fn volumes_belong_to_the_group_of_the_pod() {
    as_everybody(async |cluster| {
        let owned = json!({
            "securityContext": {"fsGroup": 4321, "runAsUser": 1234},
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [{"volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        });
        let script =
            "touch /data/file && stat -c '%g %g' /data /data/file; id -G | tr ' ' '\\n' | grep -x 4321";
        let pod = cluster.run("grouped", script, owned).await;
        if cluster.is_root() {
            cluster.until_phase("grouped", "Succeeded").await;
            assert_eq!(cluster.text(&pod, "main", 0), "4321 4321\n4321 4321\n4321\n");
        } else {
            // Without root every user of a pod is this user: the volume can be written all the same.
            cluster.until_text(&pod, "\n").await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_part_of_a_volume_that_leads_out_of_it_keeps_the_container_waiting() {
    as_everybody(async |cluster| {
        let mount = |path: Option<&str>| json!([{"name": "work", "mountPath": "/work", "subPath": path}]);
        let further = json!({
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "work", "emptyDir": {}}],
            "initContainers": [{
                "name": "trick", "image": "host", "volumeMounts": mount(None),
                "command": ["ln", "-s", "/etc", "/work/out"],
            }],
            "containers": [{"volumeMounts": mount(Some("out"))}],
        });
        cluster.run("tricked", "cat /work/passwd", further).await;
        let words = "failed to prepare subPath for volumeMount \"work\" of container \"main\"";
        let pod = cluster
            .until("tricked", "refused", |pod| {
                let waiting = &container(pod, "main")["state"]["waiting"];
                let message = waiting["message"].as_str().unwrap_or_default();
                waiting["reason"] == "CreateContainerConfigError" && message.starts_with(words)
            })
            .await;
        assert_eq!(container(&pod, "main")["restartCount"], 0);
        cluster.until_event_says("tricked", "Failed", words).await;
    })
    .await;
}
