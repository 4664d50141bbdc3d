use std::{convert::Infallible, io};

use ::http::{HeaderMap, HeaderValue, Response};
use hyper::{body::Incoming, server::conn::http2 as server, service::service_fn};
use tokio::net::TcpListener;

use super::*;
use crate::probes::testing::{POD, Pod, free_port};

const PATIENCE: Duration = Duration::from_mins(1);

/// A server with one service, `db`, of this health.
async fn serve(health: u8) -> io::Result<u16> {
    let listener = TcpListener::bind((POD, 0)).await?;
    let port = listener.local_addr()?.port();
    let answer = move |request: Request<Incoming>| async move {
        let path = request.uri().path().to_owned();
        let asked = request.into_body().collect().await.unwrap().to_bytes();
        let (code, message, body) = if path != "/grpc.health.v1.Health/Check" {
            ("12", "unknown path", Vec::new())
        } else if asked.ends_with(b"db") {
            ("0", "", vec![0, 0, 0, 0, 2, 8, health])
        } else {
            ("5", "unknown service", Vec::new())
        };
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static(code));
        trailers.insert("grpc-message", HeaderValue::from_static(message));
        let body = Full::new(Bytes::from(body)).with_trailers(async move { Some(Ok(trailers)) });
        Ok::<_, Infallible>(Response::new(body))
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = server::Builder::new(TokioExecutor::new());
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    Ok(port)
}

async fn check(health: u8, service: &str) -> Verdict {
    let port = serve(health).await.unwrap();
    ask(&Pod::default(), POD, port, service, PATIENCE).await
}

#[tokio::test]
async fn only_a_service_that_serves_is_healthy() {
    assert_eq!(check(1, "db").await, Verdict::Passed);
    let unhealthy = "service unhealthy (responded with \"NOT_SERVING\")";
    assert_eq!(check(2, "db").await, Verdict::Failed(unhealthy.to_owned()));
    let unknown = "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service";
    assert_eq!(check(1, "web").await, Verdict::Failed(unknown.to_owned()));
}

#[tokio::test]
async fn a_server_without_health_is_told_from_one_that_is_not_there() {
    let failure = CallFailure {
        code: UNIMPLEMENTED,
        message: "unknown path".to_owned(),
    };
    let expected = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown path";
    assert_eq!(failure.text(), expected);
    let port = free_port().await;
    let verdict = ask(&Pod::default(), POD, port, "", PATIENCE).await;
    let expected = format!(
        "error: failed to connect service at \"{POD}:{port}\": dial tcp {POD}:{port}: connect: connection refused"
    );
    assert_eq!(verdict, Verdict::Failed(expected));
    let silent = TcpListener::bind((POD, 0)).await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let verdict = ask(&Pod::default(), POD, port, "", Duration::from_millis(50)).await;
    assert!(
        matches!(&verdict, Verdict::Failed(text) if text.starts_with("timeout: health rpc did not complete")),
        "{verdict:?}"
    );
}
