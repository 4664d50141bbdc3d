//! Instants and durations, as far as expressions need them.

use crate::validate::formats;

/// A point in time: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant {
    seconds: i64,
    nanos: u32,
}

/// The parts of an instant on a clock with an offset.
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) day_of_week: i64,
    pub(crate) day_of_year: i64,
    pub(crate) second_of_day: i64,
}

const DAY: i64 = 86_400;
const BILLION: i64 = 1_000_000_000;
/// The years that can be written: 1 to 9999.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

impl Instant {
    pub(crate) fn from_seconds(seconds: i64) -> Option<Self> {
        RANGE.contains(&seconds).then_some(Self { seconds, nanos: 0 })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let written = formats::date_time(text)?;
        let (year, month, day) = written.day;
        let midnight = days_from_civil(year.into(), month.into(), day.into()) * DAY;
        let seconds = midnight + i64::from(written.second_of_day) - i64::from(written.offset);
        Some(Self {
            seconds,
            nanos: written.nanos,
        })
    }

    pub(crate) fn of_date(text: &str) -> Option<Self> {
        let (year, month, day) = formats::date(text)?;
        Some(Self {
            seconds: days_from_civil(year.into(), month.into(), day.into()) * DAY,
            nanos: 0,
        })
    }

    pub(crate) fn seconds(self) -> i64 {
        self.seconds
    }

    pub(crate) fn milliseconds(self) -> i64 {
        i64::from(self.nanos) / 1_000_000
    }

    pub(crate) fn plus(self, nanos: i64) -> Option<Self> {
        let total = i64::from(self.nanos) + nanos.rem_euclid(BILLION);
        let seconds = self
            .seconds
            .checked_add(nanos.div_euclid(BILLION))?
            .checked_add(total / BILLION)?;
        RANGE.contains(&seconds).then_some(Self {
            seconds,
            nanos: (total % BILLION) as u32,
        })
    }

    /// The time from the other instant to this one, in nanoseconds.
    pub(crate) fn since(self, other: Self) -> Option<i64> {
        let seconds = i128::from(self.seconds - other.seconds) * i128::from(BILLION);
        i64::try_from(seconds + i128::from(self.nanos) - i128::from(other.nanos)).ok()
    }

    pub(crate) fn civil(self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(DAY);
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month,
            day,
            day_of_week: (days + 4).rem_euclid(7),
            day_of_year: days - days_from_civil(year, 1, 1),
            second_of_day: local.rem_euclid(DAY),
        }
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let civil = self.civil(0);
        let (hour, minute, second) = (
            civil.second_of_day / 3600,
            civil.second_of_day / 60 % 60,
            civil.second_of_day % 60,
        );
        write!(
            f,
            "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}",
            civil.year, civil.month, civil.day
        )?;
        if self.nanos > 0 {
            let fraction = format!("{:09}", self.nanos);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Days since 1970 of a day of the Gregorian calendar; March starts the year, to end it with the
/// leap day.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// The offset of a zone in seconds: `UTC`, `+01:00`, `-02:30`. Names of places are not known here.
pub(crate) fn zone_offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "UTC" | "Z") {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60))
}

/// A duration as Go writes it, in nanoseconds.
pub(crate) fn duration(text: &str) -> Option<i64> {
    formats::go_duration(text).map(signed)
}

/// A duration as Go writes it or in words.
pub(crate) fn duration_with_words(text: &str) -> Option<i64> {
    formats::duration(text).map(signed)
}

fn signed((negative, length): (bool, std::time::Duration)) -> i64 {
    let nanos = i64::try_from(length.as_nanos()).unwrap_or(i64::MAX);
    if negative { -nanos } else { nanos }
}

/// A duration as the real server turns it into text: seconds with a fraction.
pub(crate) fn duration_text(nanos: i64) -> String {
    let seconds = nanos / BILLION;
    let fraction = (nanos % BILLION).unsigned_abs();
    let sign = if nanos < 0 && seconds == 0 { "-" } else { "" };
    if fraction == 0 {
        return format!("{seconds}s");
    }
    let digits = format!("{fraction:09}");
    format!("{sign}{seconds}.{}s", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_and_written() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2024-02-29T23:59:59.5Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(Instant::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Instant::parse("2024-03-01T01:00:00+02:00").unwrap().to_string(),
            "2024-02-29T23:00:00Z"
        );
        let civil = Instant::parse("2024-03-01T00:00:00Z").unwrap().civil(0);
        assert_eq!((civil.day_of_week, civil.day_of_year, civil.month), (5, 60, 3));
        assert_eq!(duration_text(duration("1h30m0.5s").unwrap()), "5400.5s");
    }
}
