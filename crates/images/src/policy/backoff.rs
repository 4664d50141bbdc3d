//! When a pull that failed is tried again: after 10 seconds, then twice as long each time, up to 5
//! minutes.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(5);

/// The failures of one pod's image. Times are since any fixed moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    delay: Duration,
    failed: Duration,
    cause: String,
}

impl Backoff {
    pub fn first(cause: &str, now: Duration) -> Self {
        Self {
            delay: FIRST,
            failed: now,
            cause: cause.to_owned(),
        }
    }

    /// After one more failure. One that comes long after the last counts as the first.
    #[must_use]
    pub fn next(&self, cause: &str, now: Duration) -> Self {
        if now.saturating_sub(self.failed) > 2 * LONGEST {
            return Self::first(cause, now);
        }
        Self {
            delay: (2 * self.delay).min(LONGEST),
            ..Self::first(cause, now)
        }
    }

    /// Whether it is too early to try again.
    pub fn is_waiting(&self, now: Duration) -> bool {
        now < self.retry_at()
    }

    pub fn retry_at(&self) -> Duration {
        self.failed + self.delay
    }

    /// Why the last pull failed.
    pub fn cause(&self) -> &str {
        &self.cause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_five_minutes_and_start_anew_after_long_peace() {
        let mut now = Duration::ZERO;
        let mut backoff = Backoff::first("x", now);
        let mut delays = Vec::new();
        for _ in 0..7 {
            delays.push(backoff.retry_at().saturating_sub(now).as_secs());
            now = backoff.retry_at();
            backoff = backoff.next("x", now);
        }
        assert_eq!(delays, [10, 20, 40, 80, 160, 300, 300]);
        let later = now + Duration::from_mins(11);
        assert_eq!(backoff.next("x", later), Backoff::first("x", later));
    }
}
