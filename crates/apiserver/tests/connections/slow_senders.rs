//! Clients that begin something and do not finish it.

use std::time::Duration;

use apiserver::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::cluster::{CONFIG_MAPS, Cluster, body, read_to_end};

const SOON: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_client_that_never_says_hello_is_cut_off() {
    let cluster = Cluster::start(Limits {
        handshake: SOON,
        ..Limits::default()
    })
    .await;
    let mut silent = cluster.connect().await;
    let mut half_a_hello = cluster.connect().await;
    half_a_hello.write_all(&[22, 3, 1, 2, 0, 1]).await.unwrap();
    for stream in [&mut silent, &mut half_a_hello] {
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_headers_is_cut_off() {
    let cluster = Cluster::start(Limits {
        headers: SOON,
        ..Limits::default()
    })
    .await;
    let ready = "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for beginning in ["", "GET /api HTTP/1.1\r\nhost: loc", ready] {
        let mut stream = cluster.stream().await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let answer = read_to_end(&mut stream).await;
        let is_answered = beginning == ready && answer.starts_with("HTTP/1.1 200");
        assert!(is_answered || !answer.contains("200 OK"), "{beginning}\n{answer}");
    }
}

#[tokio::test]
async fn bodies_that_do_not_end_take_nothing_from_others_and_run_out_of_time() {
    let cluster = Cluster::start(Limits {
        request: Duration::from_secs(2),
        writes: 8,
        ..Limits::default()
    })
    .await;
    let guest = cluster.guest().await;
    let whole = guest.post(CONFIG_MAPS, &json!({ "metadata": { "name": "slow" } }));
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut stream = cluster.stream().await;
        stream
            .write_all(&whole.as_bytes()[..whole.len() - 1])
            .await
            .unwrap();
        slow.push(stream);
    }
    let quick = json!({ "metadata": { "name": "quick" } });
    cluster.ok(&guest.post(CONFIG_MAPS, &quick)).await;
    for mut stream in slow {
        let answer = read_to_end(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
        let status = body(&answer);
        let message = "Timeout: request did not complete within the allotted timeout";
        assert_eq!(
            (&status["reason"], &status["message"]),
            (&json!("Timeout"), &json!(message))
        );
    }
    let list = cluster.ok(&guest.get(CONFIG_MAPS)).await;
    assert!(!list.to_string().contains("slow"), "{list}");
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_body_leaves_nothing() {
    let cluster = Cluster::start(Limits::default()).await;
    let admin = cluster.admin();
    let request = admin.post(CONFIG_MAPS, &json!({ "metadata": { "name": "half" } }));
    for length in (0..request.len()).step_by(23) {
        let mut stream = cluster.stream().await;
        stream.write_all(&request.as_bytes()[..length]).await.unwrap();
        stream.flush().await.unwrap();
    }
    let list = cluster.ok(&admin.get(CONFIG_MAPS)).await;
    assert!(!list.to_string().contains("half"), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_dawdles_over_a_large_body_loses_its_place() {
    let cluster = Cluster::start(Limits {
        large_body: Duration::from_millis(500),
        ..Limits::default()
    })
    .await;
    let admin = cluster.admin();
    let large = |name: &str| {
        let map = json!({ "metadata": { "name": name }, "data": { "k": "x".repeat(200_000) } });
        admin.post(CONFIG_MAPS, &map)
    };
    let mut slow = Vec::new();
    for _ in 0..64 {
        let mut stream = cluster.stream().await;
        stream
            .write_all(&large("slow").as_bytes()[..100_000])
            .await
            .unwrap();
        slow.push(stream);
    }
    for mut stream in slow {
        let answer = read_to_end(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 504"), "{answer:.300}");
    }
    cluster.ok(&large("quick")).await;
}
