//! Probes by gRPC's health protocol: one call over HTTP/2, whose two messages have one field each.

mod messages;

use std::time::Duration;

use ::http::{HeaderMap, Request, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, time::timeout};

use super::{reach::Reach, tcp, verdict::Verdict};
use messages::Health;

/// An honest answer takes seven bytes.
const MAX_ANSWER: usize = 4 << 10;
const UNIMPLEMENTED: u32 = 12;

pub(super) async fn ask(reach: &impl Reach, pod: &str, port: u16, service: &str, limit: Duration) -> Verdict {
    let address = tcp::address(pod, port);
    let seconds = limit.as_secs();
    let started = tokio::time::Instant::now();
    let stream = match timeout(limit, reach.connect(None, port)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            let refusal = tcp::refusal(&address, &error);
            return Verdict::Failed(format!(
                "error: failed to connect service at {address:?}: {refusal}"
            ));
        }
        Err(_) => {
            return Verdict::Failed(format!(
                "timeout: failed to connect service {address:?} within {seconds}s: context deadline exceeded"
            ));
        }
    };
    let left = limit.saturating_sub(started.elapsed());
    match timeout(left, call(stream, &address, service)).await {
        Ok(Ok(Health::Serving)) => Verdict::Passed,
        Ok(Ok(other)) => Verdict::Failed(format!("service unhealthy (responded with {:?})", other.name())),
        Ok(Err(failure)) => Verdict::Failed(failure.text()),
        Err(_) => Verdict::Failed(format!("timeout: health rpc did not complete within {seconds}s")),
    }
}

/// A call that was answered with something else than health.
#[derive(Debug)]
struct CallFailure {
    code: u32,
    message: String,
}

impl CallFailure {
    fn unavailable(error: impl ToString) -> Self {
        Self {
            code: 14,
            message: error.to_string(),
        }
    }

    fn text(&self) -> String {
        if self.code == UNIMPLEMENTED {
            return format!(
                "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {}",
                self.message
            );
        }
        format!(
            "error: health rpc probe failed: rpc error: code = {} desc = {}",
            messages::code_name(self.code),
            self.message
        )
    }
}

async fn call(stream: TcpStream, address: &str, service: &str) -> Result<Health, CallFailure> {
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(CallFailure::unavailable)?;
    // Ends with the sender.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let request = Request::post(format!("http://{address}/grpc.health.v1.Health/Check"))
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, "kube-probe/1.34")
        .body(Full::new(Bytes::from(messages::request(service))))
        .map_err(CallFailure::unavailable)?;
    let answer = sender
        .send_request(request)
        .await
        .map_err(CallFailure::unavailable)?;
    let (head, body) = answer.into_parts();
    // An answer without a body has its status in front.
    check_status(&head.headers)?;
    if !head.status.is_success() {
        let message = format!(
            "unexpected HTTP status code received from server: {}",
            head.status
        );
        return Err(CallFailure::unavailable(message));
    }
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(CallFailure::unavailable)?;
    if let Some(trailers) = body.trailers() {
        check_status(trailers)?;
    }
    messages::answer(&body.to_bytes()).ok_or_else(|| CallFailure {
        code: 13,
        message: "the answer is no health".to_owned(),
    })
}

fn check_status(headers: &HeaderMap) -> Result<(), CallFailure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("grpc-status").map(str::parse) {
        None | Some(Ok(0)) => Ok(()),
        code => Err(CallFailure {
            code: code.and_then(Result::ok).unwrap_or(2),
            message: text("grpc-message").unwrap_or_default().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
