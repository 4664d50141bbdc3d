//! What operators tell Prometheus of how long a look at a job takes them.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use anyhow::Result;

const FAMILY: &str = "controller_runtime_reconcile_time_seconds_bucket{";

pub(super) fn get(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: operator\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// The upper end of the bucket in which this share of all looks ends, in seconds. All controllers count.
pub(super) fn quantile(text: &str, share: f64) -> Option<f64> {
    let mut buckets: BTreeMap<u64, f64> = BTreeMap::new();
    for line in text.lines() {
        let Some((labels, value)) = line.strip_prefix(FAMILY).and_then(|rest| rest.split_once("} ")) else {
            continue;
        };
        let bound = labels
            .split(',')
            .find_map(|label| label.strip_prefix("le=\"")?.strip_suffix('"'))?;
        let bound: f64 = if bound == "+Inf" {
            f64::INFINITY
        } else {
            bound.parse().ok()?
        };
        // The bits of positive numbers are in their order.
        *buckets.entry(bound.to_bits()).or_default() += value.trim().parse::<f64>().ok()?;
    }
    let total = *buckets.values().last()?;
    let (bound, _) = buckets.iter().find(|(_, count)| **count >= total * share)?;
    Some(f64::from_bits(*bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_the_end_of_a_bucket() {
        let text = format!(
            "{FAMILY}controller=\"a\",le=\"0.005\"}} 90\n{FAMILY}controller=\"a\",le=\"0.01\"}} 99\n{FAMILY}controller=\"a\",le=\"+Inf\"}} 100\n"
        );
        assert_eq!(quantile(&text, 0.5), Some(0.005));
        assert_eq!(quantile(&text, 0.99), Some(0.01));
        assert_eq!(quantile("", 0.99), None);
    }
}
