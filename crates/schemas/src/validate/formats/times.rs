//! Dates, times and durations as the real server reads them.

use std::time::Duration;

/// A calendar day: year, month, day.
pub(crate) fn date(text: &str) -> Option<(i32, u32, u32)> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| digits(text.get(range)?);
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    (1..=days).contains(&day).then_some((year as i32, month, day))
}

fn digits(text: &str) -> Option<u32> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// An instant as it is written.
pub(crate) struct DateTime {
    /// Year, month and day.
    pub(crate) day: (i32, u32, u32),
    pub(crate) second_of_day: u32,
    pub(crate) nanos: u32,
    /// Seconds the clock is ahead of UTC.
    pub(crate) offset: i32,
}

pub(crate) fn date_time(text: &str) -> Option<DateTime> {
    let day = date(text.get(..10)?)?;
    let rest = text.get(11..)?;
    let (hour, minute, second) = (
        digits(rest.get(..2)?)?,
        digits(rest.get(3..5)?)?,
        digits(rest.get(6..8)?)?,
    );
    let separators = text.is_char_boundary(11) && rest.as_bytes()[2] == b':' && rest.as_bytes()[5] == b':';
    if !separators || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = &rest[8..];
    let (nanos, zone) = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let end = fraction
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(fraction.len());
            (nanoseconds(&fraction[..end])?, &fraction[end..])
        }
        None => (0, rest),
    };
    let second_of_day = hour * 3600 + minute * 60 + second;
    Some(DateTime {
        day,
        second_of_day,
        nanos,
        offset: offset(zone)?,
    })
}

fn nanoseconds(fraction: &str) -> Option<u32> {
    let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    if fraction.is_empty() {
        None
    } else {
        kept.parse().ok()
    }
}

fn offset(zone: &str) -> Option<i32> {
    if zone.eq_ignore_ascii_case("z") || zone.is_empty() {
        return Some(0);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    if zone.len() != 6 || zone.as_bytes()[3] != b':' {
        return None;
    }
    let (hours, minutes) = (digits(zone.get(1..3)?)?, digits(zone.get(4..6)?)?);
    Some(sign * (hours * 3600 + minutes * 60) as i32)
}

/// The format check is laxer than the reading above in the character before a fraction, and
/// stricter in that a zone must be there.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(day), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    if date(day).is_none() {
        return false;
    }
    let clock = |range: std::ops::Range<usize>, max: u32| {
        time.get(range)
            .and_then(digits)
            .is_some_and(|number| number <= max)
    };
    let separators = matches!((time.get(2..3), time.get(5..6)), (Some(":"), Some(":")));
    if !(separators && clock(0..2, 23) && clock(3..5, 59) && clock(6..8, 59)) {
        return false;
    }
    is_zone(&time[8..]) || {
        let mut fraction = time[8..].chars();
        fraction.next();
        let rest = fraction.as_str();
        let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        zone.len() < rest.len() && is_zone(zone)
    }
}

fn is_zone(text: &str) -> bool {
    text == "z" || (text.starts_with(['+', '-']) && offset(text).is_some())
}

/// A length of time: `1h30m` as Go writes it, or words such as `3 days`. The sign is apart.
pub(crate) fn duration(text: &str) -> Option<(bool, Duration)> {
    go_duration(text).or_else(|| worded_duration(text).map(|duration| (false, duration)))
}

/// What Go's `time.ParseDuration` reads.
pub(crate) fn go_duration(text: &str) -> Option<(bool, Duration)> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some((negative, Duration::ZERO));
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_f64;
    let mut exact: u128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at(end);
        if number.is_empty() || number == "." || number.matches('.').count() > 1 {
            return None;
        }
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let nanos = unit_nanoseconds(unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        exact += whole
            .parse::<u128>()
            .or_else(|e| if whole.is_empty() { Ok(0) } else { Err(e) })
            .ok()?
            * u128::from(nanos);
        total += format!("0.{fraction}").parse::<f64>().unwrap_or(0.0) * nanos as f64;
        rest = after;
    }
    let nanos = exact + total as u128;
    // Go counts in 63 bits of nanoseconds.
    (nanos <= i64::MAX as u128).then(|| (negative, Duration::from_nanos(nanos as u64)))
}

fn unit_nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Numbers with the words for units, anywhere in the text.
fn worded_duration(text: &str) -> Option<Duration> {
    const DAY: u64 = 86_400_000_000_000;
    /// The last variant of a unit also matches longer words: `sec`, `seconds`.
    const UNITS: [(&[&str], u64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], DAY),
        (&["w", "wk", "week"], 7 * DAY),
    ];
    let mut total: Option<u64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let end = after
            .find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ'))
            .unwrap_or(after.len());
        let unit = after[..end].to_lowercase();
        rest = &after[end..];
        if unit.is_empty() {
            continue;
        }
        let factor: i64 = number.parse().ok()?;
        for (variants, nanos) in UNITS {
            let long = variants.last().is_some_and(|last| unit.starts_with(last));
            if long || variants.contains(&unit.as_str()) {
                let length = (factor as u64).saturating_mul(nanos);
                total = Some(total.unwrap_or(0).saturating_add(length));
            }
        }
    }
    total.map(Duration::from_nanos)
}
