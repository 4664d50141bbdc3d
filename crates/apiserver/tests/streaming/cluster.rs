//! A server with one node and a pod on it, and kubectl to use them with.

use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use apiserver::{Limits, Options, Running, User};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use client_tests::{Release, kubectl, needed};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    time::timeout,
};

use crate::node::HostNode;

/// Long enough for anything that ends at all.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) struct Cluster {
    pub(crate) running: Running,
    pub(crate) node: Arc<HostNode>,
    pub(crate) directory: TempDir,
    kubectl: PathBuf,
}

/// How kubectl is told to carry its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    WebSocket,
    Spdy,
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::WebSocket, Self::Spdy];
}

pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Cluster {
    /// `None` where there is no kubectl, which is a reason to skip.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_with(Limits::default()).await
    }

    pub(crate) async fn start_with(limits: Limits) -> Option<Self> {
        let kubectl = needed(kubectl(Release::Ours))?;
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            data_dir: directory.path().join("data"),
            listen: ([127, 0, 0, 1], 0).into(),
            drop_damaged: false,
            limits,
        };
        std::fs::create_dir(&options.data_dir).unwrap();
        let running = apiserver::start(options).await.unwrap();
        let node = Arc::new(HostNode::default());
        running.api.register_node("here", node.clone());
        let cluster = Self {
            running,
            node,
            directory,
            kubectl,
        };
        std::fs::write(cluster.kubeconfig(), cluster.kubeconfig_text()).unwrap();
        cluster
            .wait_for("/api/v1/namespaces/default/serviceaccounts/default")
            .await;
        let here = json!({ "metadata": { "name": "here" } });
        cluster.post("/api/v1/nodes", &here).await;
        cluster.pod("web").await;
        Some(cluster)
    }

    /// A pod that runs, with two containers.
    pub(crate) async fn pod(&self, name: &str) {
        let pod = json!({
            "metadata": { "name": name, "annotations": { "kubectl.kubernetes.io/default-container": "main" } },
            "spec": {
                "nodeName": "here",
                "containers": [
                    { "name": "main", "image": "x", "stdin": true, "ports": [{ "containerPort": 80 }] },
                    { "name": "side", "image": "x" },
                ],
            },
        });
        self.post("/api/v1/namespaces/default/pods", &pod).await;
        let running = |name: &str| {
            json!({
                "name": name, "image": "x", "imageID": "x", "ready": true, "restartCount": 0,
                "state": { "running": {} },
            })
        };
        let status = json!({ "status": {
            "phase": "Running", "podIP": "10.9.8.7", "podIPs": [{ "ip": "10.9.8.7" }],
            "containerStatuses": [running("main"), running("side")],
        }});
        let path = format!("/api/v1/namespaces/default/pods/{name}/status");
        self.request(Method::PATCH, &path, &status).await;
    }

    /// Waits for an object that somebody else makes.
    async fn wait_for(&self, path: &str) {
        let waiting = async {
            while !self.ask(Method::GET, path, &Value::Null).await.0.is_success() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, waiting).await.unwrap();
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Value {
        self.request(Method::POST, path, object).await
    }

    async fn request(&self, method: Method, path: &str, object: &Value) -> Value {
        let (status, bytes) = self.ask(method, path, object).await;
        assert!(status.is_success(), "{path}: {}", String::from_utf8_lossy(&bytes));
        serde_json::from_slice(&bytes).unwrap()
    }

    async fn ask(&self, method: Method, path: &str, object: &Value) -> (StatusCode, Bytes) {
        let content_type = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = http_body_util::Full::new(object.to_string().into())
            .map_err(|never| match never {})
            .boxed_unsync();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body)
            .unwrap();
        let admin = User::new("admin", &["system:masters"]);
        let answer = self.running.api.clone().call(admin, request).await;
        let status = answer.status();
        (status, answer.into_body().collect().await.unwrap().to_bytes())
    }

    fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    fn kubeconfig_text(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": {
                "server": format!("https://{}", self.running.address),
                "certificate-authority-data": BASE64_STANDARD.encode(self.running.ca_pem()),
            }}],
            "users": [{ "name": "u", "user": { "token": self.running.admin_token() } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u", "namespace": "default" } }],
        })
        .to_string()
    }

    /// A command line for a shell in which `kubectl` is the real one.
    pub(crate) fn shell(&self, transport: Transport, line: &str) -> Command {
        let is_websocket = (transport == Transport::WebSocket).to_string();
        let mut command = Command::new("bash");
        command
            .args([
                "-c",
                &format!("kubectl() {{ {} \"$@\"; }}; {line}", self.kubectl.display()),
            ])
            .current_dir(self.directory.path())
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.directory.path())
            .env("KUBECTL", &self.kubectl)
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", &is_websocket)
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", &is_websocket)
            .kill_on_drop(true);
        command
    }

    /// Runs a command line to its end with `input` as its input.
    pub(crate) async fn run_with(&self, transport: Transport, line: &str, input: Vec<u8>) -> Output {
        let mut child = self
            .shell(transport, line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeding = tokio::spawn(async move {
            let _ = stdin.write_all(&input).await;
        });
        let output = timeout(DEADLINE, child.wait_with_output())
            .await
            .unwrap_or_else(|_| panic!("{transport:?}: `{line}` does not end"))
            .unwrap();
        feeding.abort();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) async fn run(&self, transport: Transport, line: &str) -> Output {
        self.run_with(transport, line, Vec::new()).await
    }

    /// What a command line prints that must succeed.
    pub(crate) async fn ok(&self, transport: Transport, line: &str) -> String {
        let output = self.run(transport, line).await;
        assert_eq!(
            output.code,
            0,
            "{transport:?}: {line}\n{}{}",
            output.text(),
            output.stderr
        );
        output.text()
    }

    pub(crate) fn spawn(&self, transport: Transport, line: &str) -> Child {
        self.shell(
            transport,
            &format!("exec {}", line.replacen("kubectl", "$KUBECTL", 1)),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
    }
}

impl Output {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}
