//! `kubectl port-forward` with many connections at once.

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    process::Child,
    time::timeout,
};

use crate::cluster::{Cluster, DEADLINE, Transport};

/// A server in the pod that gives back what it gets, when it has got it all.
async fn mirror() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let _ = stream.read_to_end(&mut bytes).await;
                let _ = stream.write_all(&bytes).await;
            });
        }
    });
    port
}

/// Starts a port-forward and returns the local port.
async fn forward(cluster: &Cluster, transport: Transport, port: u16) -> (Child, u16) {
    let mut kubectl = cluster.spawn(transport, &format!("kubectl port-forward pod/web :{port}"));
    let mut lines = BufReader::new(kubectl.stdout.take().unwrap()).lines();
    let line = timeout(DEADLINE, lines.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let local = line
        .split("127.0.0.1:")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let local = local.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (kubectl, local)
}

async fn exchange(port: u16, bytes: Vec<u8>) -> Vec<u8> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let sent = bytes.clone();
    let writing = tokio::spawn(async move {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut back = Vec::new();
    timeout(DEADLINE, read.read_to_end(&mut back))
        .await
        .unwrap()
        .unwrap();
    writing.await.unwrap();
    back
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_do_not_mix() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let mirror = mirror().await;
    for transport in Transport::ALL {
        let (mut kubectl, local) = forward(&cluster, transport, mirror).await;
        let exchanges = (0..20_u8).map(|number| {
            let bytes = vec![number; 100_000 + usize::from(number)];
            tokio::spawn(async move {
                assert!(
                    exchange(local, bytes.clone()).await == bytes,
                    "connection {number}"
                );
            })
        });
        for done in exchanges.collect::<Vec<_>>() {
            done.await.unwrap();
        }
        kubectl.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_nobody_listens_at_is_told() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    for transport in Transport::ALL {
        let (mut kubectl, local) = forward(&cluster, transport, closed).await;
        assert_eq!(exchange(local, Vec::new()).await, b"", "{transport:?}");
        let mut errors = BufReader::new(kubectl.stderr.take().unwrap()).lines();
        let line = timeout(DEADLINE, errors.next_line())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert!(
            line.contains(&format!("error forwarding port {closed} to pod web, uid "))
                && line.contains("refused"),
            "{transport:?}: {line}"
        );
        let _ = kubectl.kill().await;
    }
}
