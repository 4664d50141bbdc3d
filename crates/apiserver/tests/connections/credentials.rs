//! Who somebody is who says it more than once, or not at all.

use apiserver::Limits;
use tokio::io::AsyncWriteExt as _;

use crate::cluster::{CONFIG_MAPS, Cluster, Guest, read_to_end};

#[tokio::test]
async fn a_certificate_counts_whatever_token_comes_with_it() {
    let cluster = Cluster::start(Limits::default()).await;
    let request = Guest::stranger().get(CONFIG_MAPS);
    assert!(cluster.ask(&request).await.starts_with("HTTP/1.1 401"));
    for (group, code) in [("system:masters", "200"), ("nobody", "403")] {
        let mut stream = cluster.stream_of("ada", group).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_to_end(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{answer}");
    }
}

#[tokio::test]
async fn probes_need_no_credentials_of_any_kind() {
    let cluster = Cluster::start(Limits::default()).await;
    let probe = |header: &str| {
        format!("GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{header}\r\n")
    };
    for header in ["", "authorization: Basic eDp5\r\n"] {
        assert!(
            cluster.ask(&probe(header)).await.starts_with("HTTP/1.1 200"),
            "{header}"
        );
    }
    let wrong = probe("authorization: Bearer nope\r\n");
    assert!(cluster.ask(&wrong).await.starts_with("HTTP/1.1 401"));
}
