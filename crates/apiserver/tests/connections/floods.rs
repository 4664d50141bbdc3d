//! Clients that ask too much at once.

use apiserver::Limits;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::cluster::{CONFIG_MAPS, Cluster};

#[tokio::test]
async fn beyond_the_limit_clients_are_asked_to_come_back() {
    let cluster = Cluster::start(Limits {
        reads: 1,
        ..Limits::default()
    })
    .await;
    let guest = cluster.guest().await;
    // A read of the future keeps waiting for it.
    let mut waiting = cluster.stream().await;
    let future = guest.get(&format!("{CONFIG_MAPS}?resourceVersion=1000000"));
    waiting.write_all(future.as_bytes()).await.unwrap();
    let refused = loop {
        let answer = cluster.ask(&guest.get(CONFIG_MAPS)).await;
        // Until the waiting one has come in there is room.
        if !answer.starts_with("HTTP/1.1 200") {
            break answer;
        }
    };
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 429 Too Many Requests"), "{head}");
    assert!(head.contains("retry-after: 1"), "{head}");
    assert_eq!(body, "Too many requests, please try again later.\n");

    let over = "&timeoutSeconds=1&resourceVersion=0";
    cluster
        .ok(&guest.post(CONFIG_MAPS, &json!({ "metadata": { "name": "a" } })))
        .await;
    for allowed in [
        guest.get(&format!("{CONFIG_MAPS}?watch=true{over}")),
        guest.get("/readyz"),
        cluster.admin().get(CONFIG_MAPS),
    ] {
        let answer = cluster.ask(&allowed).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_wait_for_each_other_and_nobody_else() {
    let cluster = Cluster::start(Limits::default()).await;
    let admin = cluster.admin();
    let large = json!({ "k": "x".repeat(500_000) });
    let large = |number: usize| {
        admin.post(
            CONFIG_MAPS,
            &json!({ "metadata": { "name": format!("large-{number}") }, "data": large }),
        )
    };
    let mut half = Vec::new();
    for number in 0..20 {
        let mut stream = cluster.stream().await;
        let request = large(number);
        stream.write_all(&request.as_bytes()[..100_000]).await.unwrap();
        stream.flush().await.unwrap();
        half.push((stream, request));
    }
    cluster.ok(&large(20)).await;
    cluster
        .ok(&admin.post(CONFIG_MAPS, &json!({ "metadata": { "name": "small" } })))
        .await;
    for (stream, request) in &mut half {
        stream.write_all(&request.as_bytes()[100_000..]).await.unwrap();
        stream.flush().await.unwrap();
    }
    for (mut stream, _) in half {
        let answer = crate::cluster::read_to_end(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer:.300}");
    }
}
