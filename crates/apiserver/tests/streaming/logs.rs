//! `kubectl logs`.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::{
    cluster::{Cluster, DEADLINE, Transport},
    commands::wait_until,
    websocket,
};

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_followed_as_they_are_written() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let mut kubectl = cluster.spawn(Transport::WebSocket, "kubectl logs -f web");
    let mut lines = BufReader::new(kubectl.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("main began"));
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 1).await;
    let sender = cluster.node.lines.lock().unwrap().clone().unwrap();
    for number in 0..3 {
        sender.send(format!("line {number}\n")).unwrap();
        let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap();
        assert_eq!(line.unwrap(), Some(format!("line {number}")));
    }
    kubectl.kill().await.unwrap();
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_reach_the_node_and_mistakes_do_not() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let logs = |arguments: &str| {
        let line = format!("kubectl logs {arguments}");
        async { cluster.run(Transport::WebSocket, &{ line }).await }
    };
    let output = logs("web -c side --tail=5 --limit-bytes=100 --timestamps --since=10s").await;
    assert_eq!(output.text(), "side began\n", "{}", output.stderr);
    let options = cluster.node.log_options.lock().unwrap().take().unwrap();
    assert_eq!((options.tail_lines, options.limit_bytes), (Some(5), Some(100)));
    assert!(options.timestamps && options.since.is_some() && !options.follow);
    let refusals = [
        (
            "web --previous",
            "Error from server (BadRequest): previous terminated container \"main\" in pod \"web\" not found\n",
        ),
        ("web -c nope", "error: container nope is not valid for pod web\n"),
        (
            "nobody",
            "error: error from server (NotFound): pods \"nobody\" not found in namespace \"default\"\n",
        ),
    ];
    for (arguments, expected) in refusals {
        assert_eq!(logs(arguments).await.stderr, expected, "for {arguments}");
    }
    let raw = "kubectl get --raw '/api/v1/namespaces/default/pods/web/log?container=main&tailLines=-1'";
    let output = cluster.run(Transport::WebSocket, raw).await;
    assert_eq!(
        output.stderr,
        "The PodLogOptions \"web\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_come_over_websockets_in_the_protocol_that_is_agreed_on() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let cases = [
        ("", None, BINARY, "main began\n"),
        ("binary.k8s.io", Some("binary.k8s.io"), BINARY, "main began\n"),
        (
            "v9.k8s.io, base64.binary.k8s.io",
            Some("base64.binary.k8s.io"),
            TEXT,
            "bWFpbiBiZWdhbgo=",
        ),
    ];
    for (offered, agreed, kind, line) in cases {
        let (head, mut stream) = websocket::connect(&cluster, "log?container=main", offered).await;
        let protocol = head
            .lines()
            .find_map(|line| line.strip_prefix("sec-websocket-protocol: "));
        assert_eq!(protocol, agreed);
        assert_eq!(websocket::frame(&mut stream).await, (kind, Vec::new()));
        assert_eq!(
            websocket::frame(&mut stream).await,
            (kind, line.as_bytes().to_vec())
        );
        let normal_closure = 1000_u16.to_be_bytes().to_vec();
        assert_eq!(websocket::frame(&mut stream).await, (CLOSE, normal_closure));
    }
    let (head, _) = websocket::ask(&cluster, "log?container=main", "v9.k8s.io").await;
    assert!(head.starts_with("http/1.1 403"), "{head}");
    let (head, _) = websocket::ask(&cluster, "log?container=nope", "binary.k8s.io").await;
    assert!(head.starts_with("http/1.1 400"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_a_log_over_a_websocket_is_not_listened_to_and_may_leave() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let (_, mut stream) = websocket::connect(&cluster, "log?container=main&follow=true", "").await;
    assert_eq!(websocket::frame(&mut stream).await, (BINARY, Vec::new()));
    assert_eq!(
        websocket::frame(&mut stream).await,
        (BINARY, b"main began\n".to_vec())
    );
    // A message and a goodbye, with masks of zeros.
    stream
        .write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i'])
        .await
        .unwrap();
    let sender = cluster.node.lines.lock().unwrap().clone().unwrap();
    sender.send("more\n".to_owned()).unwrap();
    assert_eq!(websocket::frame(&mut stream).await, (BINARY, b"more\n".to_vec()));
    stream.write_all(&[0x88, 0x80, 0, 0, 0, 0]).await.unwrap();
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest))
        .await
        .unwrap();
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}
