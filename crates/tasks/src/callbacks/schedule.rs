//! When a callback is tried, and what comes of a try. Pure.

use jiff::{SignedDuration, Timestamp};
use resources::tasks::{CallbackDeliveryStatus, DeliveryAttempt, DeliveryPhase};

/// Seconds after the first try at which the others are made, a day altogether.
const TRIES: [i64; 14] = [
    0, 5, 30, 120, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 50_400, 72_000, 86_400,
];
/// Tries that are remembered.
const REMEMBERED: usize = 16;
/// The longest a receiver may put us off.
const LONGEST_WAIT: i64 = 86_400;

/// What came of a try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Try {
    pub attempt: DeliveryAttempt,
    /// What the receiver says of when to come again.
    pub retry_after: Option<i64>,
    /// No later try can do better: the address is not allowed.
    pub is_hopeless: bool,
}

/// What is to be done about a delivery now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing any more.
    Over,
    Now,
    At(Timestamp),
}

/// The status as it is after a replay was asked for, if it was.
pub fn replayed(status: &CallbackDeliveryStatus, replay: Option<i64>) -> CallbackDeliveryStatus {
    let asked = replay.unwrap_or(0);
    if asked <= status.observed_replay.unwrap_or(0) {
        return status.clone();
    }
    CallbackDeliveryStatus {
        observed_replay: Some(asked),
        attempts: status.attempts.clone(),
        ..CallbackDeliveryStatus::default()
    }
}

pub fn due(status: &CallbackDeliveryStatus, now: Timestamp) -> Due {
    if status.phase.is_final() {
        return Due::Over;
    }
    match status.next_attempt {
        Some(at) if at > now => Due::At(at),
        _ => Due::Now,
    }
}

/// The status after a try. `jitter` is between 0 and 1.
pub fn after(
    status: &CallbackDeliveryStatus,
    tried: Try,
    now: Timestamp,
    jitter: f64,
) -> CallbackDeliveryStatus {
    let Try {
        attempt,
        retry_after,
        is_hopeless,
    } = tried;
    let code = attempt.status_code;
    let mut status = status.clone();
    let first = *status.first_attempt.get_or_insert(attempt.time.unwrap_or(now));
    status.attempt_count += 1;
    status.attempts.push(attempt);
    let surplus = status.attempts.len().saturating_sub(REMEMBERED);
    status.attempts.drain(..surplus);
    status.next_attempt = None;
    let tries = usize::try_from(status.attempt_count).unwrap_or(usize::MAX);
    match (code, TRIES.get(tries)) {
        (Some(200..=299), _) => status.phase = DeliveryPhase::Delivered,
        (Some(410), _) => status.phase = DeliveryPhase::Gone,
        (_, None) => status.phase = DeliveryPhase::Failed,
        _ if is_hopeless => status.phase = DeliveryPhase::Failed,
        (_, Some(offset)) => {
            let gap = offset - TRIES[tries - 1];
            let spread = (gap as f64 * 0.2 * jitter) as i64;
            let planned = first
                .checked_add(SignedDuration::from_secs(offset + spread))
                .unwrap_or(now);
            let asked = retry_after.unwrap_or(0).clamp(0, LONGEST_WAIT);
            let asked = now.checked_add(SignedDuration::from_secs(asked)).unwrap_or(now);
            // Time that passed while nobody tried is not made up for in a hurry.
            let soonest = now
                .checked_add(SignedDuration::from_secs(gap.min(5)))
                .unwrap_or(now);
            status.next_attempt = Some(planned.max(asked).max(soonest));
        }
    }
    if status.phase.is_final() {
        status.ended_at = Some(now);
    }
    status
}

/// Seconds a `Retry-After` header asks for: a number, or a date of HTTP.
pub fn retry_after(header: &str, now: Timestamp) -> Option<i64> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<i64>() {
        return Some(seconds.clamp(0, LONGEST_WAIT));
    }
    let at = jiff::fmt::rfc2822::parse(header).ok()?.timestamp();
    Some(at.duration_since(now).as_secs().clamp(0, LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn answered(code: i32) -> Try {
        Try {
            attempt: DeliveryAttempt {
                status_code: Some(code),
                ..DeliveryAttempt::default()
            },
            ..Try::default()
        }
    }

    fn now_or_later(status: &CallbackDeliveryStatus) -> Timestamp {
        status.next_attempt.unwrap()
    }

    #[test]
    fn a_receiver_that_never_answers_well_is_tried_for_a_day() {
        let (mut status, mut now, mut tries) = (CallbackDeliveryStatus::default(), time(0), 0);
        while due(&status, now) != Due::Over {
            status = after(&status, answered(500), now, 0.5);
            tries += 1;
            now = status.next_attempt.unwrap_or(now);
        }
        assert_eq!(tries, TRIES.len());
        assert_eq!(status.phase, DeliveryPhase::Failed);
        let day = now.duration_since(time(0)).as_hours();
        assert!((24..=27).contains(&day), "{day}");
        assert_eq!(status.attempts.len(), TRIES.len());
    }

    #[test]
    fn good_answers_end_it_redirects_do_not_and_gone_is_gone() {
        let of = |code: i32| after(&CallbackDeliveryStatus::default(), answered(code), time(0), 0.0).phase;
        assert_eq!(of(204), DeliveryPhase::Delivered);
        assert_eq!(of(302), DeliveryPhase::Pending);
        assert_eq!(of(410), DeliveryPhase::Gone);
    }

    #[test]
    fn a_receiver_that_asks_for_time_gets_it() {
        let mut tried = answered(429);
        tried.retry_after = retry_after("120", time(0));
        let status = after(&CallbackDeliveryStatus::default(), tried, time(0), 0.0);
        assert_eq!(now_or_later(&status), time(120));
        assert_eq!(
            retry_after("Thu, 01 Jan 1970 00:02:00 GMT", Timestamp::UNIX_EPOCH),
            Some(120)
        );
        assert_eq!(retry_after("soon", time(0)), None);
        assert_eq!(retry_after("99999999999", time(0)), Some(LONGEST_WAIT));
    }

    #[test]
    fn what_may_not_be_sent_is_not_tried_again() {
        let tried = Try {
            is_hopeless: true,
            ..Try::default()
        };
        let status = after(&CallbackDeliveryStatus::default(), tried, time(0), 0.0);
        assert_eq!((status.phase, status.attempt_count), (DeliveryPhase::Failed, 1));
    }

    #[test]
    fn a_replay_begins_anew_and_keeps_the_log() {
        let done = after(&CallbackDeliveryStatus::default(), answered(200), time(0), 0.0);
        assert_eq!(replayed(&done, None), done);
        let again = replayed(&done, Some(1));
        assert_eq!(
            (again.phase, again.attempt_count, again.attempts.len()),
            (DeliveryPhase::Pending, 0, 1)
        );
        assert_eq!(due(&again, time(0)), Due::Now);
        assert_eq!(replayed(&again, Some(1)), again);
    }
}
