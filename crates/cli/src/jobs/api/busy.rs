//! Clusters that ask to be asked later: 429, and after how long.

use std::time::Duration;

use http::{HeaderMap, header};
use serde_json::Value;

/// So long somebody who types a command is kept waiting altogether, whatever it asks for, before they are told.
const PATIENCE: Duration = Duration::from_mins(1);
/// Where the cluster does not say how long.
const USUAL: u64 = 1;

/// How long to wait before a request that was refused for want of time is sent again; none where that takes too long.
pub(super) fn pause(headers: &HeaderMap, body: &[u8], waited: Duration) -> Option<Duration> {
    let seconds = from_header(headers).or_else(|| from_status(body));
    let pause = Duration::from_secs(seconds.unwrap_or(USUAL).max(1));
    (waited.saturating_add(pause) <= PATIENCE).then_some(pause)
}

fn from_header(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

fn from_status(body: &[u8]) -> Option<u64> {
    let status: Value = serde_json::from_slice(body).ok()?;
    status["details"]["retryAfterSeconds"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(after: Option<&str>, body: &str, waited: u64) -> Option<u64> {
        let headers = after.map(|after| (header::RETRY_AFTER, after.parse().unwrap()));
        let headers = HeaderMap::from_iter(headers);
        let pause = pause(&headers, body.as_bytes(), Duration::from_secs(waited));
        pause.map(|pause| pause.as_secs())
    }

    #[test]
    fn a_cluster_is_asked_again_when_it_says_so_and_not_without_end() {
        assert_eq!(seconds(Some("7"), "", 0), Some(7));
        let status = r#"{"kind": "Status", "details": {"retryAfterSeconds": 3}}"#;
        assert_eq!(seconds(Some("7"), status, 0), Some(7));
        assert_eq!(seconds(None, status, 0), Some(3));
        assert_eq!(seconds(None, "too many requests", 0), Some(1));
        assert_eq!(seconds(Some("0"), "", 0), Some(1));
        assert_eq!(seconds(Some("soon"), "", 0), Some(1));
        assert_eq!(seconds(Some("7"), "", 53), Some(7));
        assert_eq!(seconds(Some("7"), "", 54), None);
        assert_eq!(seconds(Some("3600"), "", 0), None);
        assert_eq!(seconds(Some("18446744073709551615"), "", 1), None);
    }
}
