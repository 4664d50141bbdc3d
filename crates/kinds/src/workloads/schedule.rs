//! Cron schedules: five fields, or a word like `@hourly`, or `@every 90m`.

use std::{collections::HashSet, sync::LazyLock};

use manifests::field::quoted;

/// The names of all time zones, one per line.
static TIME_ZONES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("time_zones.txt").lines().collect());

const WORDS: &[&str] = &[
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
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

/// Checks a schedule, in the words of the library the real server uses.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if let Some(zone) = rest.strip_prefix("TZ=").or_else(|| rest.strip_prefix("CRON_TZ=")) {
        let (zone, times) = zone.split_once(' ').unwrap_or((zone, ""));
        if !is_time_zone(zone) {
            return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
        }
        rest = times.trim();
    }
    if rest.starts_with('@') {
        return parse_word(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (written, field) in fields.iter().zip(&FIELDS) {
        for range in written.split(',').filter(|range| !range.is_empty()) {
            parse_range(range, field)?;
        }
    }
    Ok(())
}

fn parse_word(word: &str) -> Result<(), String> {
    if WORDS.contains(&word) {
        return Ok(());
    }
    match word.strip_prefix("@every ") {
        Some(duration) => {
            parse_duration(duration).map_err(|error| format!("failed to parse duration {word}: {error}"))
        }
        None => Err(format!("unrecognized descriptor: {word}")),
    }
}

/// One of `*`, `5`, `mon`, `1-5`, and each with a step: `*/15`.
fn parse_range(range: &str, field: &Field) -> Result<(), String> {
    let steps: Vec<&str> = range.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let (start, mut end) = if matches!(ends[0], "*" | "?") {
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
    Ok(())
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

/// A duration in Go's notation: `1h30m`, `1.5h`, `-2s`.
fn parse_duration(written: &str) -> Result<(), String> {
    let invalid = || format!("time: invalid duration {}", quoted(written));
    let mut rest = written.strip_prefix(['+', '-']).unwrap_or(written);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
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
        if !["ns", "us", "µs", "μs", "ms", "s", "m", "h"].contains(&unit) {
            return Err(format!(
                "time: unknown unit {} in duration {}",
                quoted(unit),
                quoted(written)
            ));
        }
        rest = &rest[unit.len()..];
    }
    Ok(())
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
            assert_eq!(parse(schedule), Ok(()), "for {schedule}");
        }
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
