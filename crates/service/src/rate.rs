//! How often somebody may ask. Everybody has a bucket that fills at a steady rate and lets a burst through.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;

/// So many buckets are kept before full ones are let go: whoever has a full one has not asked for a while.
const BUCKETS: usize = 10_000;

/// Requests a second, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// 0 sets no limit.
    pub per_second: f64,
    pub burst: f64,
}

impl Rate {
    pub const UNLIMITED: Self = Self {
        per_second: 0.0,
        burst: 0.0,
    };

    /// A burst is what two seconds give.
    pub fn per_second(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self {
            per_second,
            burst: per_second * 2.0,
        }
    }
}

/// The buckets of everybody, by who they are. Time is counted from any moment, the same for all calls.
pub(crate) struct Buckets {
    rate: Rate,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Duration,
}

impl Buckets {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            buckets: Mutex::default(),
        }
    }

    /// Takes one out of somebody's bucket, or says after how long there is one again.
    pub(crate) fn take(&self, who: &str, now: Duration) -> Result<(), Duration> {
        let Rate { per_second, burst } = self.rate;
        if per_second <= 0.0 {
            return Ok(());
        }
        let filled = |bucket: &Bucket| {
            let elapsed = now.saturating_sub(bucket.at).as_secs_f64();
            (bucket.left + elapsed * per_second).min(burst)
        };
        let mut buckets = self.buckets.lock();
        if buckets.len() >= BUCKETS && !buckets.contains_key(who) {
            buckets.retain(|_, bucket| filled(bucket) < burst);
        }
        let left = buckets.get(who).map_or(burst, filled);
        if left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - left) / per_second));
        }
        let bucket = Bucket {
            left: left - 1.0,
            at: now,
        };
        // Names are looked up far more often than they are new.
        match buckets.get_mut(who) {
            Some(known) => *known = bucket,
            None => drop(buckets.insert(who.to_owned(), bucket)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_through_and_then_the_rate_counts() {
        let buckets = Buckets::new(Rate {
            per_second: 2.0,
            burst: 3.0,
        });
        let at = |millis| Duration::from_millis(millis);
        for _ in 0..3 {
            assert_eq!(buckets.take("ada", at(0)), Ok(()));
        }
        assert_eq!(buckets.take("ada", at(0)), Err(at(500)));
        assert_eq!(buckets.take("bob", at(0)), Ok(()));
        assert_eq!(buckets.take("ada", at(500)), Ok(()));
        assert_eq!(buckets.take("ada", at(500)), Err(at(500)));
        assert_eq!(buckets.take("ada", at(60_000)), Ok(()));
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        let buckets = Buckets::new(Rate::UNLIMITED);
        assert!((0..1000).all(|_| buckets.take("ada", Duration::ZERO).is_ok()));
    }

    #[test]
    fn full_buckets_are_let_go() {
        let buckets = Buckets::new(Rate::per_second(1));
        for number in 0..BUCKETS {
            buckets.take(&number.to_string(), Duration::ZERO).unwrap();
        }
        buckets.take("late", Duration::from_secs(10)).unwrap();
        assert_eq!(buckets.buckets.lock().len(), 1);
    }
}
