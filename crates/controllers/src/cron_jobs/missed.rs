//! Which time of a schedule is to be made good for, and how long until the next.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::CronJob;
use kinds::workloads::timetable::Timetable;

/// Clocks of different machines differ; who looks a little late looks once.
const LATENESS: SignedDuration = SignedDuration::from_millis(100);
/// With more missed than this something is wrong with a clock, and the user should know.
const MANY: i64 = 100;

/// What has become due since somebody last looked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// From when on was looked.
    since: Timestamp,
    /// The most recent time that is due.
    pub at: Option<Timestamp>,
    pub missed: Missed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    None,
    Few,
    Many,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("time difference between two schedules is less than 1 second")]
pub(crate) struct NeverDue;

/// What is due since the last start, or since as long ago as a start may be late.
pub(crate) fn due(cron_job: &CronJob, table: &Timetable, now: Timestamp) -> Result<Due, NeverDue> {
    let last = last_start(cron_job);
    let deadline = cron_job
        .spec
        .as_ref()
        .and_then(|spec| spec.starting_deadline_seconds);
    let since = deadline
        .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok())
        .map_or(last, |oldest| oldest.max(last));
    since_then(since, table, now)
}

/// How long until the next time after the most recent.
pub(crate) fn until_next(last: Timestamp, table: &Timetable, now: Timestamp) -> Option<Duration> {
    let after = match since_then(last, table, now) {
        Ok(Due { at: Some(at), .. }) => at,
        Ok(Due {
            missed: Missed::None,
            since,
            ..
        }) => since,
        _ => now,
    };
    let wait = (table.next(after)? + LATENESS).duration_since(now);
    Some(Duration::try_from(wait).unwrap_or_default())
}

/// When a job was last started or, before the first, when starting became possible.
pub(crate) fn last_start(cron_job: &CronJob) -> Timestamp {
    let last = cron_job
        .status
        .as_ref()
        .and_then(|status| status.last_schedule_time.as_ref());
    let time = last.or(cron_job.metadata.creation_timestamp.as_ref());
    time.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

/// Does not walk through all that was missed, as that could be years of minutes: it jumps by the first
/// interval to close before now, and walks from there.
fn since_then(since: Timestamp, table: &Timetable, now: Timestamp) -> Result<Due, NeverDue> {
    let due = |at, missed| Ok(Due { since, at, missed });
    let first = table.next(since).ok_or(NeverDue)?;
    if now < first {
        return due(None, Missed::None);
    }
    let second = table.next(first).ok_or(NeverDue)?;
    if now < second {
        return due(Some(first), Missed::None);
    }
    let interval = second.duration_since(first).as_secs();
    let passed = now.duration_since(first).as_secs() / interval;
    let close = first + SignedDuration::from_secs((passed - 1) * interval);
    let mut recent = None;
    let mut at = table.next(close);
    while let Some(time) = at.filter(|time| *time <= now) {
        recent = Some(time);
        at = table.next(time);
    }
    due(
        recent,
        if passed + 1 > MANY {
            Missed::Many
        } else {
            Missed::Few
        },
    )
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::{Value, json};

    use super::*;

    fn time(written: &str) -> Timestamp {
        written.parse().unwrap()
    }

    fn look(schedule: &str, last: &str, deadline: Value, now: &str) -> (Option<Timestamp>, Missed) {
        let cron_job: CronJob = serde_json::from_value(json!({
            "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"schedule": schedule, "startingDeadlineSeconds": deadline, "jobTemplate": {}},
            "status": {"lastScheduleTime": last},
        }))
        .unwrap();
        let table = Timetable::read(schedule, TimeZone::UTC).unwrap();
        let due = due(&cron_job, &table, time(now)).unwrap();
        (due.at, due.missed)
    }

    #[test]
    fn nothing_is_due_before_its_time_and_one_is_at_it() {
        let last = "2026-01-05T10:00:00Z";
        assert_eq!(
            look("0 * * * *", last, json!(null), "2026-01-05T10:59:59Z"),
            (None, Missed::None)
        );
        let due = (Some(time("2026-01-05T11:00:00Z")), Missed::None);
        assert_eq!(look("0 * * * *", last, json!(null), "2026-01-05T11:00:00Z"), due);
    }

    #[test]
    fn of_several_the_most_recent_is_due() {
        let last = "2026-01-05T10:00:00Z";
        let due = (Some(time("2026-01-05T14:00:00Z")), Missed::Few);
        assert_eq!(look("0 * * * *", last, json!(null), "2026-01-05T14:10:00Z"), due);
        let due = (Some(time("2026-01-07T14:10:00Z")), Missed::Many);
        assert_eq!(look("* * * * *", last, json!(null), "2026-01-07T14:10:00Z"), due);
    }

    #[test]
    fn what_is_too_long_ago_is_not_even_looked_at() {
        let last = "2026-01-05T10:00:00Z";
        let due = (Some(time("2026-01-07T14:10:00Z")), Missed::Few);
        assert_eq!(look("* * * * *", last, json!(200), "2026-01-07T14:10:00Z"), due);
        assert_eq!(
            look("0 * * * *", last, json!(60), "2026-01-07T14:10:00Z"),
            (None, Missed::None)
        );
    }

    #[test]
    fn a_duration_counts_from_the_last_start() {
        let last = "2026-01-05T10:00:30Z";
        let due = (Some(time("2026-01-05T10:45:30Z")), Missed::Few);
        assert_eq!(look("@every 15m", last, json!(null), "2026-01-05T10:50:00Z"), due);
    }

    #[test]
    fn the_next_look_is_a_moment_after_the_next_time() {
        let table = Timetable::read("0 * * * *", TimeZone::UTC).unwrap();
        let wait = |last, now| until_next(time(last), &table, time(now)).unwrap().as_millis();
        assert_eq!(wait("2026-01-05T10:00:00Z", "2026-01-05T10:59:00Z"), 60_100);
        assert_eq!(wait("2026-01-05T10:00:00Z", "2026-01-05T15:59:00Z"), 60_100);
        // Its own time has come and nobody has started yet.
        assert_eq!(wait("2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z"), 3_600_100);
    }

    #[test]
    fn a_day_that_never_comes_is_an_error() {
        let table = Timetable::read("0 0 31 2 *", TimeZone::UTC).unwrap();
        let now = time("2026-01-05T11:00:00Z");
        assert_eq!(due(&CronJob::default(), &table, now), Err(NeverDue));
        assert_eq!(until_next(now, &table, now), None);
    }
}
