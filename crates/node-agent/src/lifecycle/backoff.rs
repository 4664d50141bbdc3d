//! How long to wait before a container is started again: not at all the first time, then ten seconds,
//! doubling up to five minutes. A run of ten minutes wipes the slate.

use jiff::{SignedDuration, Timestamp};

use super::record::{Ended, Record};

const FIRST: SignedDuration = SignedDuration::from_secs(10);
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
const LONG_RUN: SignedDuration = SignedDuration::from_mins(10);

/// How long a container waits after this many quick ends in a row.
pub(crate) fn wait(streak: u32) -> SignedDuration {
    match streak {
        0 => SignedDuration::ZERO,
        1..=5 => (FIRST * (1 << (streak - 1))).min(LONGEST),
        _ => LONGEST,
    }
}

/// When the next attempt may start.
pub(crate) fn ready_at(record: &Record, ended: &Ended) -> Timestamp {
    ended.at.saturating_add(wait(record.streak)).unwrap_or(ended.at)
}

/// The streak after one more attempt has been started.
pub(crate) fn next_streak(record: &Record) -> u32 {
    let ran_long = record.ended().is_some_and(|ended| {
        let started = ended.started.unwrap_or(ended.at);
        ended.at.duration_since(started) >= LONG_RUN
    });
    if ran_long { 1 } else { record.streak + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let seconds: Vec<_> = (0..8).map(|streak| wait(streak).as_secs()).collect();
        assert_eq!(seconds, [0, 10, 20, 40, 80, 160, 300, 300]);
    }
}
