//! Cron schedules: five fields, or a word like `@hourly`, or `@every 90m`.

use std::{collections::HashSet, sync::LazyLock};

use manifests::field::quoted;

/// The names of all time zones, one per line.
static TIME_ZONES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("time_zones.txt").lines().collect());

/// Words and the fields they stand for.
const WORDS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Units of time and their seconds.
const UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

struct Field {
    low: i64,
    high: i64,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field {
        low: 0,
        high: 59,
        names: &[],
    },
    Field {
        low: 0,
        high: 23,
        names: &[],
    },
    Field {
        low: 1,
        high: 31,
        names: &[],
    },
    Field {
        low: 1,
        high: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Field {
        low: 0,
        high: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// When something is due, as its user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time zone that stands before the times; an old habit, refused in new objects.
    pub zone: Option<String>,
    pub times: Times,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Whenever so many seconds have passed.
    Every(u64),
    /// At each minute that all sets name; of days and weekdays one is enough if both are restricted.
    At {
        minutes: Set,
        hours: Set,
        days: Set,
        months: Set,
        weekdays: Set,
    },
}

/// Numbers below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    bits: u64,
    /// Written with a star: no restriction at all, which for days is not the same as naming each.
    pub is_any: bool,
}

impl Set {
    pub fn contains(self, number: u32) -> bool {
        1_u64.checked_shl(number).is_some_and(|bit| self.bits & bit != 0)
    }

    fn or(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
            is_any: self.is_any || other.is_any,
        }
    }
}

/// Reads a schedule; what is wrong with it is told in the words of the library the real server uses.
pub fn parse(schedule: &str) -> Result<Schedule, String> {
    let mut rest = schedule;
    let mut named_zone = None;
    if let Some(zone) = rest.strip_prefix("TZ=").or_else(|| rest.strip_prefix("CRON_TZ=")) {
        let (zone, times) = zone.split_once(' ').unwrap_or((zone, ""));
        if !is_time_zone(zone) {
            return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
        }
        named_zone = Some(zone.to_owned());
        rest = times.trim();
    }
    let times = if rest.starts_with('@') {
        parse_word(rest)?
    } else {
        parse_fields(rest)?
    };
    Ok(Schedule {
        zone: named_zone,
        times,
    })
}

fn parse_fields(written: &str) -> Result<Times, String> {
    let fields: Vec<&str> = written.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    let mut sets = [Set::default(); FIELDS.len()];
    for ((written, field), set) in fields.iter().zip(&FIELDS).zip(&mut sets) {
        for range in written.split(',').filter(|range| !range.is_empty()) {
            *set = set.or(parse_range(range, field)?);
        }
    }
    let [minutes, hours, days, months, weekdays] = sets;
    Ok(Times::At {
        minutes,
        hours,
        days,
        months,
        weekdays,
    })
}

fn parse_word(word: &str) -> Result<Times, String> {
    if let Some((_, fields)) = WORDS.iter().find(|(known, _)| *known == word) {
        return parse_fields(fields);
    }
    match word.strip_prefix("@every ") {
        Some(duration) => parse_duration(duration)
            // Less than a second is never meant.
            .map(|seconds| Times::Every(seconds.max(1.0) as u64))
            .map_err(|error| format!("failed to parse duration {word}: {error}")),
        None => Err(format!("unrecognized descriptor: {word}")),
    }
}

/// One of `*`, `5`, `mon`, `1-5`, and each with a step: `*/15`.
fn parse_range(range: &str, field: &Field) -> Result<Set, String> {
    let steps: Vec<&str> = range.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let is_star = matches!(ends[0], "*" | "?");
    let (start, mut end) = if is_star {
        (field.low, field.high)
    } else {
        let start = parse_number_or_name(ends[0], field)?;
        match ends.len() {
            1 => (start, start),
            2 => (start, parse_number_or_name(ends[1], field)?),
            _ => return Err(format!("too many hyphens: {range}")),
        }
    };
    let step = match steps.len() {
        1 => 1,
        2 => {
            if ends.len() == 1 {
                end = field.high;
            }
            parse_number(steps[1])?
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    let Field { low, high, .. } = field;
    if start < *low {
        return Err(format!(
            "beginning of range ({start}) below minimum ({low}): {range}"
        ));
    }
    if end > *high {
        return Err(format!("end of range ({end}) above maximum ({high}): {range}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {range}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    let numbers = (start..=end).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    Ok(Set {
        bits: numbers.fold(0, |bits, number| bits | 1 << number),
        is_any: is_star && step == 1,
    })
}

fn parse_number_or_name(written: &str, field: &Field) -> Result<i64, String> {
    let name = written.to_lowercase();
    match field.names.iter().position(|known| *known == name) {
        Some(position) => Ok(field.low + position as i64),
        None => parse_number(written),
    }
}

fn parse_number(written: &str) -> Result<i64, String> {
    let digits = written.strip_prefix(['+', '-']).unwrap_or(written);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = written.parse::<i64>().map_err(|_| {
        let reason = if plain {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!(
            "failed to parse int from {written}: strconv.Atoi: parsing {}: {reason}",
            quoted(written)
        )
    })?;
    if number < 0 {
        return Err(format!("negative number ({number}) not allowed: {written}"));
    }
    Ok(number)
}

/// The seconds of a duration in Go's notation: `1h30m`, `1.5h`, `-2s`.
fn parse_duration(written: &str) -> Result<f64, String> {
    let invalid = || format!("time: invalid duration {}", quoted(written));
    let mut rest = written.strip_prefix(['+', '-']).unwrap_or(written);
    if rest == "0" {
        return Ok(0.0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let number = &rest[..rest.find(|c| !is_number(c)).unwrap_or(rest.len())];
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return Err(invalid());
        }
        rest = &rest[number.len()..];
        let unit = &rest[..rest.find(is_number).unwrap_or(rest.len())];
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quoted(written)));
        }
        let Some((_, scale)) = UNITS.iter().find(|(known, _)| *known == unit) else {
            return Err(format!(
                "time: unknown unit {} in duration {}",
                quoted(unit),
                quoted(written)
            ));
        };
        seconds += number.parse::<f64>().map_err(|_| invalid())? * scale;
        rest = &rest[unit.len()..];
    }
    Ok(if written.starts_with('-') {
        -seconds
    } else {
        seconds
    })
}

fn is_time_zone(name: &str) -> bool {
    ["", "UTC", "Local"].contains(&name) || TIME_ZONES.contains(name)
}

/// What is wrong with the name of a time zone.
pub(super) fn time_zone_errors(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["timeZone must be nil or non-empty string".to_owned()];
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let is_part = |part: &str| {
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.chars().all(allowed)
    };
    let unknown = format!("unknown time zone {name}");
    if !name.split('/').all(is_part) {
        return vec![unknown];
    }
    let mut errors = Vec::new();
    if name.eq_ignore_ascii_case("local") {
        errors.push(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned(),
        );
    }
    if !is_time_zone(name) {
        errors.push(unknown);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(schedule: &str, expected: &str) {
        assert_eq!(parse(schedule), Err(expected.to_owned()));
    }

    #[test]
    fn usual_schedules_are_fine() {
        for schedule in [
            "*/5 * * * *",
            "0 9 * * mon-fri",
            "@hourly",
            "@every 1h30m",
            "0 0 1,15 JAN *",
            "? 0/2 * * 0",
        ] {
            assert!(parse(schedule).is_ok(), "for {schedule}");
        }
    }

    #[test]
    fn a_field_names_numbers_and_a_star_is_more_than_all_of_them() {
        let Ok(Times::At {
            minutes,
            hours,
            days,
            weekdays,
            ..
        }) = parse("*/20 22-23,5 */1 * 0-6").map(|schedule| schedule.times)
        else {
            panic!("five fields");
        };
        let named = |set: Set| (0..60).filter(|number| set.contains(*number)).collect::<Vec<_>>();
        assert_eq!(named(minutes), [0, 20, 40]);
        assert_eq!(named(hours), [5, 22, 23]);
        assert!(days.is_any && !minutes.is_any && !weekdays.is_any);
    }

    #[test]
    fn durations_are_at_least_a_second_and_whole() {
        let every = |written| parse(written).map(|schedule| schedule.times);
        assert_eq!(every("@every 1h30m1.7s"), Ok(Times::Every(5401)));
        assert_eq!(every("@every -5m"), Ok(Times::Every(1)));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        refused("* * * *", "expected exactly 5 fields, found 4: [* * * *]");
        refused("60 * * * *", "end of range (60) above maximum (59): 60");
        refused("* * 0 * *", "beginning of range (0) below minimum (1): 0");
        refused(
            "5-1 * * * *",
            "beginning of range (5) beyond end of range (1): 5-1",
        );
        refused("*/0 * * * *", "step of range should be a positive number: */0");
        refused(
            "a * * * *",
            "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
        );
        refused("@often", "unrecognized descriptor: @often");
        refused(
            "@every 5",
            "failed to parse duration @every 5: time: missing unit in duration \"5\"",
        );
        refused(
            "TZ=Mars/Base 0 0 * * *",
            "provided bad location Mars/Base: unknown time zone Mars/Base",
        );
    }

    #[test]
    fn time_zones_are_known_by_name() {
        assert!(time_zone_errors("Europe/Berlin").is_empty());
        assert_eq!(
            time_zone_errors("Europe/Nowhere"),
            ["unknown time zone Europe/Nowhere"]
        );
        assert_eq!(time_zone_errors("local").len(), 2);
    }
}
