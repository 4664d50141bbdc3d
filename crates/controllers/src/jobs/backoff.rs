//! How long to wait before a failed pod gets its successor: ten seconds, doubled with each failure in
//! a row. Read from the pods themselves, so a restart of the controller neither shortens nor begins
//! the wait anew.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::{
    observed::{Observed, is_success},
    tracking,
};

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(10);

/// The wait after the failures since the last success of the job.
pub(crate) fn of_job(observed: &Observed<'_>) -> Duration {
    let pods = observed.pods.iter().filter(|pod| observed.has_place(pod));
    let succeeded = pods.clone().filter(|pod| is_success(pod));
    let last_success = succeeded.map(|pod| tracking::finished_at(pod)).max();
    let failures = pods
        .filter(|pod| observed.is_failed(pod))
        .map(|pod| tracking::finished_at(pod))
        .filter(|failure| last_success.is_none_or(|success| *failure > success));
    let (count, last) = failures.fold((0, None), |(count, last), failure| {
        (count + 1, last.max(Some(failure)))
    });
    last.map_or(Duration::ZERO, |last| remaining(count, last, observed.now))
}

/// The wait before an index gets a new pod.
pub(crate) fn of_index(predecessor: Option<&Arc<Pod>>, now: Timestamp) -> Duration {
    predecessor.map_or(Duration::ZERO, |pod| {
        let before = tracking::failures(pod).saturating_add(tracking::ignored_failures(pod));
        let failures = u32::try_from(before).unwrap_or_default().saturating_add(1);
        remaining(failures, tracking::finished_at(pod), now)
    })
}

fn remaining(failures: u32, last: Timestamp, now: Timestamp) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    let wait = FIRST.saturating_mul(doubled).min(LONGEST);
    let end = last + wait;
    Duration::try_from(end.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_ten_minutes_and_counts_from_the_last_failure() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let wait = |failures, now| remaining(failures, at(1000), at(now)).as_secs();
        assert_eq!(
            [1, 2, 3, 6, 7, 40].map(|failures| wait(failures, 1000)),
            [10, 20, 40, 320, 600, 600]
        );
        assert_eq!([1004, 1010, 1011].map(|now| wait(1, now)), [6, 0, 0]);
    }
}
