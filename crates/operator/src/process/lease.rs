//! The record by which operators agree who acts: what is read of it, what is written to it, and who may
//! take it. Pure.
//!
//! Clocks of two machines are never compared. A lease has ended for a candidate when its record has not
//! changed for the length of the lease by the candidate's own clock.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// How long a lease is held without being renewed, by when its holder stops to act, and how often it is
/// looked at.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub lease: Duration,
    pub renew_within: Duration,
    pub look_every: Duration,
}

impl Default for Times {
    /// Those of Kubernetes' own components.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_within: Duration::from_secs(10),
            look_every: Duration::from_secs(2),
        }
    }
}

/// A lease as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub holder: String,
    pub version: String,
    length: Duration,
    transitions: i64,
    acquired: Value,
}

/// Whether a candidate may take the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Take,
    Wait,
}

impl Record {
    pub(crate) fn read(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let seconds = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
        Self {
            holder: text(&spec["holderIdentity"]),
            version: text(&lease["metadata"]["resourceVersion"]),
            length: Duration::from_secs(seconds),
            transitions: spec["leaseTransitions"].as_i64().unwrap_or_default(),
            acquired: spec["acquireTime"].clone(),
        }
    }

    /// `unchanged`: for how long the record has been seen as it is.
    pub(crate) fn verdict(&self, identity: &str, unchanged: Duration, times: &Times) -> Verdict {
        let is_free = self.holder.is_empty() || self.holder == identity;
        // A holder with another idea of the length may still act for that long.
        if is_free || unchanged > self.length.max(times.lease) {
            Verdict::Take
        } else {
            Verdict::Wait
        }
    }

    /// The specification with which somebody takes the lease over from this record, or renews it.
    pub(crate) fn taken_by(&self, identity: &str, times: &Times, now: Timestamp) -> Value {
        let is_new = self.holder != identity;
        json!({
            "holderIdentity": identity,
            "leaseDurationSeconds": times.lease.as_secs().max(1),
            "acquireTime": if is_new { time(now) } else { self.acquired.clone() },
            "renewTime": time(now),
            "leaseTransitions": self.transitions + i64::from(is_new),
        })
    }

    /// The specification of a lease that anybody may take at once.
    pub(crate) fn released(&self, now: Timestamp) -> Value {
        json!({
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": time(now),
            "renewTime": time(now),
            "leaseTransitions": self.transitions,
        })
    }
}

/// The specification of the first lease there is.
pub(crate) fn first(identity: &str, times: &Times, now: Timestamp) -> Value {
    json!({
        "holderIdentity": identity,
        "leaseDurationSeconds": times.lease.as_secs().max(1),
        "acquireTime": time(now),
        "renewTime": time(now),
        "leaseTransitions": 0,
    })
}

/// With six digits, as these fields want it.
fn time(now: Timestamp) -> Value {
    json!(now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(holder: &str, length: u64) -> Record {
        Record::read(&json!({
            "metadata": {"resourceVersion": "7"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": length, "leaseTransitions": 3,
                     "acquireTime": "2026-01-01T00:00:00.000000Z"},
        }))
    }

    fn verdict(record: &Record, seconds: u64) -> Verdict {
        record.verdict("me", Duration::from_secs(seconds), &Times::default())
    }

    #[test]
    fn a_lease_is_taken_when_it_is_free_or_has_not_changed_for_its_length() {
        assert_eq!(verdict(&record("", 1), 0), Verdict::Take);
        assert_eq!(verdict(&record("other", 15), 15), Verdict::Wait);
        assert_eq!(verdict(&record("other", 15), 16), Verdict::Take);
        assert_eq!(verdict(&record("other", 60), 16), Verdict::Wait);
        assert_eq!(verdict(&record("other", 1), 14), Verdict::Wait);
        assert_eq!(verdict(&record("me", 15), 0), Verdict::Take);
    }

    #[test]
    fn a_new_holder_counts_as_a_transition_and_a_renewal_does_not() {
        let now = Timestamp::from_second(0).unwrap();
        let taken = record("other", 15).taken_by("me", &Times::default(), now);
        assert_eq!(taken["leaseTransitions"], 4);
        assert_eq!(taken["acquireTime"], "1970-01-01T00:00:00.000000Z");
        let renewed = record("me", 15).taken_by("me", &Times::default(), now);
        assert_eq!(renewed["leaseTransitions"], 3);
        assert_eq!(renewed["acquireTime"], "2026-01-01T00:00:00.000000Z");
        assert_eq!(renewed["renewTime"], "1970-01-01T00:00:00.000000Z");
    }
}
