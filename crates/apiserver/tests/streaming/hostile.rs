//! Clients that never read, stop in the middle of a frame, or claim to send more than there is.

use std::{sync::atomic::Ordering, time::Duration};

use apiserver::Limits;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::{
    cluster::{Cluster, DEADLINE},
    commands::wait_until,
    websocket,
};

/// What may be on its way to a client: the sockets of both sides hold a few megabytes.
const MOST_HELD: u64 = 16 << 20;

async fn exec(cluster: &Cluster, query: &str) -> TlsStream<TcpStream> {
    let part = format!("exec?container=main&{query}");
    websocket::connect(cluster, &part, "v4.channel.k8s.io").await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_reads_holds_up_only_the_command() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(exec(&cluster, "stdout=1&command=yes").await);
    }
    // The commands write as fast as they can, until the server takes no more.
    let taken = || cluster.node.taken.load(Ordering::SeqCst);
    let mut before = u64::MAX;
    while taken() != before {
        before = taken();
        assert!(
            before < 10 * MOST_HELD,
            "{} MiB of ten clients that never read",
            before >> 20
        );
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    drop(streams);
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_more_than_the_command_reads_waits() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let mut stream = exec(&cluster, "stdin=1&stdout=1&command=sleep&command=1000").await;
    // A frame of a terabyte.
    let mut head = vec![0x82, 0xff];
    head.extend((1_u64 << 40).to_be_bytes());
    head.extend([0; 4]);
    stream.write_all(&head).await.unwrap();
    let piece = vec![0; 1 << 20];
    let mut sent = 0;
    while tokio::time::timeout(Duration::from_secs(2), stream.write_all(&piece))
        .await
        .is_ok()
    {
        sent += 1;
        assert!(sent < 64, "the server takes everything");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_in_the_middle_of_a_frame_is_given_up() {
    let limits = Limits {
        silent: Duration::from_secs(1),
        ..Limits::default()
    };
    let Some(cluster) = Cluster::start_with(limits).await else {
        return;
    };
    let mut stream = exec(&cluster, "stdin=1&stdout=1&command=cat").await;
    stream.write_all(&[0x82, 0xfe, 0x01]).await.unwrap();
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_breaks_the_protocol_is_cut_off() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let mut stream = exec(&cluster, "stdin=1&stdout=1&command=cat").await;
    // Not masked.
    stream.write_all(&[0x82, 0x01, 0x00]).await.unwrap();
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok());
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_bounded_in_number() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let Some(cluster) = Cluster::start_with(limits).await else {
        return;
    };
    let held = exec(&cluster, "stdin=1&stdout=1&command=cat").await;
    let line = "kubectl exec web -- true";
    let output = cluster.run(crate::cluster::Transport::WebSocket, line).await;
    assert!(output.stderr.contains("Too many requests"), "{}", output.stderr);
    drop(held);
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}
