//! Bodies that are too large, or that nobody wants: the answer arrives all the same.

use apiserver::Limits;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::cluster::{CONFIG_MAPS, Cluster, Guest, body};

/// More than the server reads, and more than the buffers on the way hold.
const OVERSIZED: usize = 4 << 20;

fn oversized() -> String {
    json!({ "metadata": { "name": "large" }, "data": { "k": "x".repeat(OVERSIZED) } }).to_string()
}

#[track_caller]
fn check_too_large(status: &Value) {
    assert_eq!(
        status,
        &json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Request entity too large: limit is 3145728",
            "reason": "RequestEntityTooLarge", "code": 413,
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_2_a_large_body_is_answered_and_not_reset() {
    let cluster = Cluster::start(Limits::default()).await;
    let mut connection = cluster.http2().await;
    for (sender, code) in [(cluster.admin(), 413), (Guest::stranger(), 401)] {
        for _ in 0..10 {
            let request = sender.post_request(CONFIG_MAPS, oversized());
            let answer = connection.send_request(request).await.unwrap();
            assert_eq!(answer.status().as_u16(), code);
            let status = answer.into_body().collect().await.unwrap().to_bytes();
            let status: Value = serde_json::from_slice(&status).unwrap();
            if code == 413 {
                check_too_large(&status);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_1_the_answer_comes_after_the_body_whether_its_length_is_told_or_not() {
    let cluster = Cluster::start(Limits::default()).await;
    let body_text = oversized();
    let told = cluster.admin().post(CONFIG_MAPS, &Value::Null).replace(
        "content-length: 4\r\nconnection: close\r\n\r\nnull",
        &format!("content-length: {}\r\n\r\n{body_text}", body_text.len()),
    );
    let untold = told.replace(
        &format!("content-length: {}\r\n\r\n", body_text.len()),
        &format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", body_text.len()),
    ) + "\r\n0\r\n\r\n";
    for request in [told, untold] {
        let mut stream = cluster.stream().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        // The connection is good for the next request.
        let next = cluster.admin().get("/readyz");
        stream.write_all(next.as_bytes()).await.unwrap();
        // What TLS holds back would never be sent while we read.
        stream.flush().await.unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).await.unwrap();
        let (first, second) = answers.split_once("HTTP/1.1 200").expect(&answers);
        assert!(first.starts_with("HTTP/1.1 413"), "{first}");
        check_too_large(&body(first));
        assert!(second.ends_with("ok"), "{second}");
    }
}

#[tokio::test]
async fn a_client_that_asks_first_is_refused_before_it_sends() {
    let cluster = Cluster::start(Limits::default()).await;
    let asking = cluster.admin().post(CONFIG_MAPS, &Value::Null).replace(
        "content-length: 4",
        "expect: 100-continue\r\ncontent-length: 4000000",
    );
    let mut stream = cluster.stream().await;
    let head = asking.split_once("null").unwrap().0;
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}
