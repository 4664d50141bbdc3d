//! Probes that a port accepts connections, and how a connection that failed is told.

use std::{io, time::Duration};

use tokio::time::timeout;

use super::{reach::Reach, verdict::Verdict};

pub(super) async fn ask(
    reach: &impl Reach,
    host: Option<&str>,
    port: u16,
    address: &str,
    limit: Duration,
) -> Verdict {
    match timeout(limit, reach.connect(host, port)).await {
        Ok(Ok(_)) => Verdict::Passed,
        Ok(Err(error)) => Verdict::Failed(refusal(address, &error)),
        Err(_) => Verdict::Failed(refusal(address, &io::ErrorKind::TimedOut.into())),
    }
}

/// Go's words, which users search for.
pub(super) fn refusal(address: &str, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "connect: no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "connect: network is unreachable".to_owned(),
        io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => error.to_string(),
    };
    format!("dial tcp {address}: {reason}")
}

/// A host and port in one text; an IPv6 address gets its brackets.
pub(super) fn address(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
