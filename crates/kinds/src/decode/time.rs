//! Times as the API reads and writes them: RFC 3339 in, UTC out, to the second or the microsecond.

use std::fmt::{self, Write as _};

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::Value;

/// How exact a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds,
    Micros,
}

/// What a time that was read is written as.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Canonical {
    AsIs,
    Text(String),
    /// Year 1, which the API takes for "no time".
    Zero,
}

/// Why a text is not a time, as Go's parser says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    problem: Problem,
    layout: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    /// The rest of the text does not begin with this element of the layout.
    Expected(String, &'static str),
    OutOfRange(&'static str),
    ExtraText(String),
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = manifests::field::quoted;
        write!(f, "parsing time {}", quoted(&self.text))?;
        match &self.problem {
            Problem::Expected(rest, element) => {
                write!(
                    f,
                    " as \"{}\": cannot parse {} as \"{element}\"",
                    self.layout,
                    quoted(rest)
                )
            }
            Problem::OutOfRange(what) => write!(f, ": {what} out of range"),
            Problem::ExtraText(rest) => write!(f, ": extra text: {}", quoted(rest)),
        }
    }
}

const ZERO: DateTime = DateTime::constant(1, 1, 1, 0, 0, 0, 0);

pub(super) fn canonical(text: &str, precision: Precision) -> Result<Canonical, ParseError> {
    let (moment, offset) = parse(text, precision).map_err(|problem| ParseError {
        text: text.to_owned(),
        problem,
        layout: match precision {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        },
    })?;
    let moment = moment.saturating_sub(SignedDuration::from_secs(offset));
    if moment == ZERO {
        return Ok(Canonical::Zero);
    }
    let written = write(moment, precision);
    Ok(if written == text {
        Canonical::AsIs
    } else {
        Canonical::Text(written)
    })
}

/// A moment given in seconds and nanoseconds, or nothing if the calendar does not have it.
pub(crate) fn from_unix(seconds: i64, nanos: i32, precision: Precision) -> Option<Value> {
    let nanos = if precision == Precision::Micros { nanos } else { 0 };
    let moment = TimeZone::UTC.to_datetime(Timestamp::new(seconds, nanos).ok()?);
    match moment {
        ZERO => Some(Value::Null),
        _ if moment < ZERO => None,
        _ => Some(Value::String(write(moment, precision))),
    }
}

fn write(moment: DateTime, precision: Precision) -> String {
    let (date, time) = (moment.date(), moment.time());
    let mut text = String::with_capacity(27);
    // Writing to a string does not fail.
    let _ = write!(text, "{:04}-{:02}-{:02}T", date.year(), date.month(), date.day());
    let _ = write!(
        text,
        "{:02}:{:02}:{:02}",
        time.hour(),
        time.minute(),
        time.second()
    );
    if precision == Precision::Micros {
        let _ = write!(text, ".{:06}", time.subsec_nanosecond() / 1000);
    }
    text.push('Z');
    text
}

/// The civil time written, and the seconds its zone is ahead of UTC.
fn parse(text: &str, precision: Precision) -> Result<(DateTime, i64), Problem> {
    let mut rest = Rest(text);
    let year = rest.number(4, "2006")?;
    rest.literal("-")?;
    let month = rest.number(2, "01")?;
    if !(1..=12).contains(&month) {
        return Err(Problem::OutOfRange("month"));
    }
    rest.literal("-")?;
    let day = rest.number(2, "02")?;
    rest.literal("T")?;
    let hour = rest.below(24, "15", "hour")?;
    rest.literal(":")?;
    let minute = rest.below(60, "04", "minute")?;
    rest.literal(":")?;
    let second = rest.below(60, "05", "second")?;
    let nanos = match precision {
        Precision::Seconds => rest.fraction(),
        Precision::Micros => rest.micros()? * 1000,
    };
    let offset = rest.zone()?;
    if !rest.0.is_empty() {
        return Err(Problem::ExtraText(rest.0.to_owned()));
    }
    let moment = DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        hour as i8,
        minute as i8,
        second as i8,
        nanos as i32,
    );
    moment
        .map(|moment| (moment, offset))
        .map_err(|_| Problem::OutOfRange("day"))
}

/// What is left to read.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn number(&mut self, width: usize, element: &'static str) -> Result<u32, Problem> {
        let digits = self
            .0
            .get(..width)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(number) = digits.and_then(|digits| digits.parse().ok()) else {
            return Err(self.expected(element));
        };
        self.0 = &self.0[width..];
        Ok(number)
    }

    fn below(&mut self, limit: u32, element: &'static str, name: &'static str) -> Result<u32, Problem> {
        let number = self.number(2, element)?;
        if number < limit {
            Ok(number)
        } else {
            Err(Problem::OutOfRange(name))
        }
    }

    fn literal(&mut self, literal: &'static str) -> Result<(), Problem> {
        let rest = self
            .0
            .strip_prefix(literal)
            .ok_or_else(|| self.expected(literal))?;
        self.0 = rest;
        Ok(())
    }

    /// An optional fraction of a second, in nanoseconds.
    fn fraction(&mut self) -> u32 {
        let Some(digits) = self.0.strip_prefix(['.', ',']) else {
            return 0;
        };
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if end == 0 {
            return 0;
        }
        self.0 = &digits[end..];
        digits[..end]
            .bytes()
            .chain(std::iter::repeat(b'0'))
            .take(9)
            .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    }

    fn micros(&mut self) -> Result<u32, Problem> {
        let before = self.0;
        let digits = before.strip_prefix(['.', ',']);
        self.0 = digits.ok_or_else(|| self.expected(".000000"))?;
        let micros = self.number(6, ".000000");
        if micros.is_err() {
            self.0 = before;
            return Err(self.expected(".000000"));
        }
        micros
    }

    fn zone(&mut self) -> Result<i64, Problem> {
        if let Some(rest) = self.0.strip_prefix('Z') {
            self.0 = rest;
            return Ok(0);
        }
        let problem = self.expected("Z07:00");
        let sign = match self.0.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(problem),
        };
        self.0 = &self.0[1..];
        let read = |rest: &mut Self| {
            let hours = rest.number(2, "")?;
            rest.literal(":")?;
            Ok((hours, rest.number(2, "")?))
        };
        let (hours, minutes) = read(self).map_err(|_: Problem| problem)?;
        match (hours, minutes) {
            (25.., _) => Err(Problem::OutOfRange("time zone offset hour")),
            (_, 61..) => Err(Problem::OutOfRange("time zone offset minute")),
            _ => Ok(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60)),
        }
    }

    fn expected(&self, element: &'static str) -> Problem {
        Problem::Expected(self.0.to_owned(), element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, precision: Precision, expected: Canonical) {
        assert_eq!(canonical(text, precision), Ok(expected), "for {text}");
    }

    #[track_caller]
    fn refuses(text: &str, precision: Precision, expected: &str) {
        assert_eq!(canonical(text, precision).unwrap_err().to_string(), expected);
    }

    #[test]
    fn times_are_written_in_utc_to_the_second() {
        reads("2024-02-29T10:00:00Z", Precision::Seconds, Canonical::AsIs);
        reads(
            "2024-01-01T01:30:00.75+02:00",
            Precision::Seconds,
            Canonical::Text("2023-12-31T23:30:00Z".into()),
        );
        reads("0001-01-01T00:00:00Z", Precision::Seconds, Canonical::Zero);
    }

    #[test]
    fn micro_times_have_six_digits() {
        reads("2024-02-29T10:00:00.000001Z", Precision::Micros, Canonical::AsIs);
        refuses(
            "2024-01-01T00:00:00Z",
            Precision::Micros,
            r#"parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
        );
    }

    #[test]
    fn errors_read_as_gos() {
        let layout = "2006-01-02T15:04:05Z07:00";
        refuses(
            "x",
            Precision::Seconds,
            &format!(r#"parsing time "x" as "{layout}": cannot parse "x" as "2006""#),
        );
        refuses(
            "2024-01-01",
            Precision::Seconds,
            &format!(r#"parsing time "2024-01-01" as "{layout}": cannot parse "" as "T""#),
        );
        refuses(
            "2024-13-01T00:00:00Z",
            Precision::Seconds,
            r#"parsing time "2024-13-01T00:00:00Z": month out of range"#,
        );
        refuses(
            "2023-02-29T00:00:00Z",
            Precision::Seconds,
            r#"parsing time "2023-02-29T00:00:00Z": day out of range"#,
        );
        refuses(
            "2024-01-01T00:00:00Zx",
            Precision::Seconds,
            r#"parsing time "2024-01-01T00:00:00Zx": extra text: "x""#,
        );
    }
}
