//! Requests through the API server to pods, services and nodes.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::cluster::{Cluster, Transport};

/// A web server that tells what it was asked, and answers some paths in a way of their own.
async fn web_server(cluster: &Cluster) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    *cluster.node.everything_at.lock().unwrap() = Some(listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let mut buffer = [0; 4096];
                while !is_whole(&bytes) {
                    match stream.read(&mut buffer).await {
                        Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
                        _ => return,
                    }
                }
                let asked = String::from_utf8_lossy(&bytes).into_owned();
                let (head, body) = match asked.split(' ').nth(1).unwrap() {
                    "/moved" => ("302 Found\r\nlocation: /elsewhere/".to_owned(), String::new()),
                    "/page" => (
                        "200 OK\r\ncontent-type: text/html".to_owned(),
                        "<a href=\"/x\">x</a>".to_owned(),
                    ),
                    _ => ("200 OK\r\ncontent-type: text/plain".to_owned(), asked),
                };
                let answer = format!(
                    "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    body.len() >= length.unwrap_or(0)
}

const POD: &str = "/api/v1/namespaces/default/pods/web/proxy";

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_asked_in_the_clients_place() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    web_server(&cluster).await;
    let get = |path: &str| {
        let line = format!("kubectl get --raw '{path}'");
        async { cluster.ok(Transport::WebSocket, &{ line }).await }
    };
    let asked = get(&format!("{POD}/some/where/?x=1&y=2")).await;
    assert!(
        asked.starts_with("GET /some/where/?x=1&y=2 HTTP/1.1\r\n"),
        "{asked}"
    );
    let lower = asked.to_ascii_lowercase();
    assert!(lower.contains("x-forwarded-for: 127.0.0.1\r\n"), "{asked}");
    assert!(
        lower.contains(&format!("x-forwarded-uri: {POD}/some/where/\r\n")),
        "{asked}"
    );
    assert!(!lower.contains("authorization"), "{asked}");
    assert_eq!(
        get(&format!("{POD}/page")).await,
        format!("<a href=\"{POD}/x\">x</a>")
    );
    let https = cluster
        .run(
            Transport::WebSocket,
            "kubectl get --raw /api/v1/namespaces/default/pods/ftp:web:1/proxy/",
        )
        .await;
    assert!(
        https.stderr.contains("invalid pod request \\\"ftp:web:1\\\"")
            || https.stderr.contains("invalid pod request \"ftp:web:1\""),
        "{}",
        https.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_passed_on_and_redirects_are_corrected() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    web_server(&cluster).await;
    let address = cluster.running.address;
    let token = cluster.running.admin_token();
    let curl = |arguments: &str, path: &str| {
        let line =
            format!("curl -sk -H 'Authorization: Bearer {token}' {arguments} 'https://{address}{path}'");
        async { cluster.ok(Transport::WebSocket, &{ line }).await }
    };
    let asked = curl(
        "-X PUT -H 'Content-Type: text/plain' -d some-body",
        &format!("{POD}/put"),
    )
    .await;
    assert!(
        asked.starts_with("PUT /put HTTP/1.1") && asked.contains("some-body"),
        "{asked}"
    );
    let moved = curl(
        "-o /dev/null -w '%{http_code} %header{location}'",
        &format!("{POD}/moved"),
    )
    .await;
    assert_eq!(moved, format!("302 {POD}/elsewhere/"));
    let folder = curl(
        "-o /dev/null -w '%{http_code} %header{location}'",
        &format!("{POD}?a=b"),
    )
    .await;
    assert_eq!(folder, format!("301 {POD}/?a=b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_asked_by_its_endpoints() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    web_server(&cluster).await;
    let service =
        json!({ "metadata": { "name": "web" }, "spec": { "ports": [{ "name": "http", "port": 80 }] } });
    cluster
        .post("/api/v1/namespaces/default/services", &service)
        .await;
    let slice = json!({
        "metadata": { "name": "web-1", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4",
        "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
        "endpoints": [{ "addresses": ["10.9.8.7"], "targetRef": { "kind": "Pod", "name": "web", "namespace": "default" } }],
    });
    cluster
        .post(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            &slice,
        )
        .await;
    for id in ["web:80", "web:http", "http:web:http"] {
        let path = format!("/api/v1/namespaces/default/services/{id}/proxy/a");
        let asked = cluster
            .ok(Transport::WebSocket, &format!("kubectl get --raw {path}"))
            .await;
        assert!(asked.starts_with("GET /a HTTP/1.1"), "{id}: {asked}");
    }
    let output = cluster
        .run(
            Transport::WebSocket,
            "kubectl get --raw /api/v1/namespaces/default/services/web:81/proxy/",
        )
        .await;
    assert!(
        output
            .stderr
            .contains("no service port 81 found for service \"web\""),
        "{}",
        output.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_tells_of_itself() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let get = |path: &str| {
        let line = format!("kubectl get --raw /api/v1/nodes/here/proxy/{path}");
        async { cluster.ok(Transport::WebSocket, &{ line }).await }
    };
    assert_eq!(get("healthz").await, "ok");
    let pods: Value = serde_json::from_str(&get("pods").await).unwrap();
    assert_eq!(pods["items"][0]["metadata"]["name"], "web");
    let summary: Value = serde_json::from_str(&get("stats/summary").await).unwrap();
    assert_eq!(summary["pods"][0]["cpu"]["usageNanoCores"], 251_000_000);
}
