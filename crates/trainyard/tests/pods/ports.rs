//! Ports of the host that lead to pods, and the network that is in between.

use std::{
    io::Read as _,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    time::Duration,
};

use k8s_openapi::api::core::v1::{Event, Pod, Service};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};

use crate::cluster::{Cluster, as_everybody, condition, container, eventually, eventually_or};

/// Says its word to who connects, and by UDP to who asks; and that it was asked, to itself.
const SERVER: &str = r#"
import socket, sys, threading

def datagrams():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("", 8080))
    while True:
        u.sendto(sys.argv[1].encode(), u.recvfrom(99)[1])

threading.Thread(target=datagrams, daemon=True).start()
s = socket.create_server(("", 8080))
while True:
    c, _ = s.accept()
    print("asked", flush=True)
    try:
        c.sendall(sys.argv[1].encode())
    except OSError:
        pass
    c.close()
"#;

/// A port that nobody has now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn said(address: SocketAddr) -> Option<String> {
    let limit = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&address, limit).ok()?;
    stream.set_read_timeout(Some(limit)).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text).filter(|text| !text.is_empty())
}

fn said_by_datagram(address: SocketAddr) -> Option<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    socket.send_to(b"?", address).ok()?;
    let mut buffer = [0; 100];
    let length = socket.recv(&mut buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

fn at(address: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(address), port))
}

async fn serving(cluster: &Cluster, word: &str, ports: Value) -> Pod {
    let further = json!({
        "terminationGracePeriodSeconds": 0,
        "containers": [{"command": ["python3", "-c", SERVER, word], "ports": ports}],
    });
    cluster.run(word, "", further).await
}

async fn until_said(address: SocketAddr, word: &str) {
    eventually_or(
        &format!("{address} says {word}"),
        async || said(address).as_deref() == Some(word),
        || format!("{:?}", TcpStream::connect(address)),
    )
    .await;
}

/// Kills the network as a fault would; the agent starts another.
async fn lose_network(cluster: &Cluster) {
    let file = cluster.data_dir().join("network/state.json");
    let pid = || {
        let state: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        i32::try_from(state["pid"].as_i64()?).ok()
    };
    let before = pid().unwrap();
    let process = rustix::process::Pid::from_raw(before).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    eventually("there is another network", async || {
        pid().is_some_and(|pid| pid != before)
    })
    .await;
}

#[tokio::test]
async fn a_port_of_the_host_leads_to_its_pod_whoever_is_restarted_and_is_given_back() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |mut cluster| {
        let (open, local) = (free_port(), free_port());
        let ports = json!([
            {"containerPort": 8080, "hostPort": open},
            {"containerPort": 8080, "hostPort": open, "protocol": "UDP"},
            {"containerPort": 8080, "hostPort": local, "hostIP": "127.0.0.2"},
        ]);
        serving(&cluster, "first", ports.clone()).await;
        until_said(at([127, 0, 0, 1], open), "first").await;
        until_said(at([127, 0, 0, 2], local), "first").await;
        assert_eq!(said(at([127, 0, 0, 1], local)), None, "it named another address");
        eventually("datagrams arrive", async || {
            said_by_datagram(at([127, 0, 0, 1], open)).as_deref() == Some("first")
        })
        .await;

        cluster.kill();
        assert_eq!(said(at([127, 0, 0, 1], open)).as_deref(), Some("first"));
        cluster.start_again().await;
        until_said(at([127, 0, 0, 1], open), "first").await;
        lose_network(&cluster).await;
        until_said(at([127, 0, 0, 1], open), "first").await;

        let pods: Api<Pod> = cluster.api();
        pods.delete("first", &DeleteParams::default()).await.unwrap();
        cluster.until_gone::<Pod>("first").await;
        eventually("the port is free", async || {
            TcpListener::bind(at([0, 0, 0, 0], open)).is_ok()
        })
        .await;
        serving(&cluster, "second", ports).await;
        until_said(at([127, 0, 0, 1], open), "second").await;
    })
    .await;
}

#[tokio::test]
async fn a_port_that_another_program_has_is_told_of_and_taken_when_it_is_free() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let taken = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        serving(&cluster, "late", json!([{"containerPort": 8080, "hostPort": port}])).await;
        let words = format!(
            "Host port {port} does not lead to the pod: cannot listen at 0.0.0.0:{port} (TCP): Address already in use"
        );
        cluster.until_event_says("late", "HostPortConflict", &words).await;
        cluster.until_phase("late", "Running").await;
        drop(taken);
        until_said(at([127, 0, 0, 1], port), "late").await;
    })
    .await;
}

#[tokio::test]
async fn a_node_port_that_another_program_has_is_told_of_and_taken_when_it_is_free() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let ports = 30_000..32_767;
        let taken = ports
            .rev()
            .find_map(|port| TcpListener::bind(("0.0.0.0", port)).ok())
            .unwrap();
        let port = taken.local_addr().unwrap().port();
        let labelled = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "host", "command": ["python3", "-c", SERVER, "web"]}],
        }});
        cluster.create::<Pod>(labelled).await;
        let service = json!({"metadata": {"name": "web"}, "spec": {
            "type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080, "nodePort": port}],
        }});
        cluster.create::<Service>(service).await;
        let words = format!("cannot listen at 0.0.0.0:{port} (TCP): Address already in use");
        cluster.until_event_says("web", "PortConflict", &words).await;
        drop(taken);
        until_said(at([127, 0, 0, 1], port), "web").await;
    })
    .await;
}

#[tokio::test]
async fn a_network_that_is_replaced_is_not_held_against_pods() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let probe = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 1});
        let start = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 60});
        let further = json!({
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 0,
            "containers": [{
                "command": ["python3", "-c", SERVER, "sound"],
                "startupProbe": start, "livenessProbe": probe, "readinessProbe": probe,
            }],
        });
        let pod = cluster.run("sound", "", further).await;
        cluster
            .until("sound", "ready", |pod| condition(pod, "Ready") == "True")
            .await;
        let complaints = async || {
            let events: Api<Event> = cluster.api();
            let about = ListParams::default().fields("involvedObject.name=sound,reason=Unhealthy");
            let events = events.list(&about).await.unwrap().items;
            let counts = events.iter().map(|event| event.count.unwrap_or(1));
            (counts.sum::<i32>(), json!(events))
        };
        let (before, _) = complaints().await;
        for _ in 0..3 {
            lose_network(&cluster).await;
            let asked = || cluster.text(&pod, "main", 0).lines().count();
            let so_far = asked();
            eventually("both probes are made again", async || asked() >= so_far + 4).await;
        }
        let (after, events) = complaints().await;
        assert_eq!(after, before, "{events}");
        let pod = cluster.pod("sound").await;
        assert_eq!(container(&pod, "main")["restartCount"], 0);
        assert_eq!(condition(&pod, "Ready"), "True");
    })
    .await;
}

/// Asks the API server for something that only those may see whom it knows, by its address and by its name.
const ASKS_THE_API: &str = r#"
import os, ssl, urllib.request

account = "/var/run/secrets/kubernetes.io/serviceaccount/"
trust = ssl.create_default_context(cafile=account + "ca.crt")
token = open(account + "token").read()
port = os.environ["KUBERNETES_SERVICE_PORT"]
for host in (os.environ["KUBERNETES_SERVICE_HOST"], "kubernetes.default.svc"):
    url = f"https://{host}:{port}/apis"
    request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token})
    print(urllib.request.urlopen(request, context=trust).status, flush=True)
"#;

#[tokio::test]
async fn a_pod_on_the_hosts_network_reaches_the_api_server_and_is_told_what_it_does_not_reach() {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    as_everybody(async |cluster| {
        let further = json!({
            "hostNetwork": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "containers": [{"command": ["python3", "-c", ASKS_THE_API]}],
        });
        let pod = cluster.run("outside", "", further).await;
        cluster.until_event("outside", "PodFeatureUnsupported").await;
        cluster.until_phase("outside", "Succeeded").await;
        assert_eq!(cluster.text(&pod, "main", 0), "200\n200\n");
    })
    .await;
}
