//! The official Python client, which speaks version 4 over WebSockets.

use client_tests::{needed, python};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::cluster::{Cluster, Transport};

const REQUIREMENTS: [&str; 1] = ["kubernetes==37.0.2"];

const EXEC: &str = r#"
from kubernetes import client, config
from kubernetes.stream import stream
config.load_kube_config()
core = client.CoreV1Api()
session = stream(core.connect_get_namespaced_pod_exec, "web", "default", container="main",
    command=["sh", "-c", "echo out; echo err >&2; read line; echo got $line; exit 3"],
    stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
session.write_stdin("in\n")
session.run_forever(timeout=60)
print(session.read_stdout().split(), session.read_stderr().split(), session.returncode)
"#;

const FORWARD: &str = r#"
import sys
from kubernetes import client, config
from kubernetes.stream import portforward
config.load_kube_config()
core = client.CoreV1Api()
port = int(sys.argv[1])
forward = portforward(core.connect_get_namespaced_pod_portforward, "web", "default", ports=str(port))
socket = forward.socket(port)
socket.sendall(b"ping")
print(socket.recv(100), forward.error(port))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_ports_work_from_python() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let Some(python) = needed(python(&REQUIREMENTS)) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut ping = [0; 4];
            let _ = stream.read_exact(&mut ping).await;
            let _ = stream.write_all(b"pong").await;
        }
    });
    let script = |name: &str, text: &str| {
        let path = cluster.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("{} {}", python.display(), path.display())
    };
    let printed = cluster.ok(Transport::WebSocket, &script("exec.py", EXEC)).await;
    assert_eq!(printed, "['out', 'got', 'in'] ['err'] 3\n");
    let line = format!("{} {port}", script("forward.py", FORWARD));
    let printed = cluster.ok(Transport::WebSocket, &line).await;
    assert_eq!(printed, "b'pong' None\n");
}
