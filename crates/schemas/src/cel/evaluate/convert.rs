//! Conversions between types, and the parts of times.

use std::sync::Arc;

use super::{EvalError, Outcome};
use crate::{
    cel::{
        library,
        time::{self, Instant},
        value::Val,
    },
    golang,
};

/// `int(x)`, `string(x)` and the like.
pub(super) fn convert<'a>(to: &str, value: &Val<'a>) -> Outcome<'a> {
    let converted = match (to, value) {
        ("bool", Val::Bool(_))
        | ("bytes", Val::Bytes(_))
        | ("double", Val::Double(_))
        | ("duration", Val::Duration(_))
        | ("int", Val::Int(_))
        | ("string", Val::Text(_))
        | ("timestamp", Val::Timestamp(_))
        | ("uint", Val::UInt(_)) => Some(value.clone()),
        ("bool", Val::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(Val::Bool(false)),
            _ => None,
        },
        ("bytes", Val::Text(text)) => Some(Val::Bytes(Arc::from(text.as_bytes()))),
        ("double", Val::Int(number)) => Some(Val::Double(*number as f64)),
        ("double", Val::UInt(number)) => Some(Val::Double(*number as f64)),
        ("double", Val::Text(text)) => text.parse().ok().map(Val::Double),
        ("duration", Val::Int(nanos)) => Some(Val::Duration(*nanos)),
        ("duration", Val::Text(text)) => time::duration(text).map(Val::Duration),
        ("int", Val::UInt(number)) => {
            return i64::try_from(*number).map(Val::Int).map_err(|_| out_of_range());
        }
        ("int", Val::Double(number)) => {
            let fits = number.is_finite()
                && *number > -9_223_372_036_854_775_808.0
                && *number < 9_223_372_036_854_775_808.0;
            return if fits {
                Ok(Val::Int(*number as i64))
            } else {
                Err(out_of_range())
            };
        }
        ("int", Val::Text(text)) => text.parse().ok().map(Val::Int),
        ("int", Val::Duration(nanos)) => Some(Val::Int(*nanos)),
        ("int", Val::Timestamp(instant)) => Some(Val::Int(instant.seconds())),
        ("uint", Val::Int(number)) => {
            return u64::try_from(*number)
                .map(Val::UInt)
                .map_err(|_| EvalError::failed("unsigned integer overflow"));
        }
        ("uint", Val::Double(number)) => {
            let fits = *number >= 0.0 && *number < 18_446_744_073_709_551_616.0;
            return if fits {
                Ok(Val::UInt(*number as u64))
            } else {
                Err(EvalError::failed("unsigned integer overflow"))
            };
        }
        ("uint", Val::Text(text)) => text.parse().ok().map(Val::UInt),
        ("timestamp", Val::Int(seconds)) => {
            return Instant::from_seconds(*seconds)
                .map(Val::Timestamp)
                .ok_or_else(|| EvalError::failed("timestamp overflow"));
        }
        ("timestamp", Val::Text(text)) => Instant::parse(text).map(Val::Timestamp),
        ("string", Val::Bool(_) | Val::Int(_) | Val::UInt(_)) => Some(Val::text(library::plain(value))),
        ("string", Val::Double(number)) => Some(Val::text(golang::float(*number))),
        ("string", Val::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Some(Val::text(text)),
            Err(_) => {
                return Err(EvalError::failed(
                    "invalid UTF-8 in bytes, cannot convert to string",
                ));
            }
        },
        ("string", Val::Duration(nanos)) => Some(Val::text(time::duration_text(*nanos))),
        ("string", Val::Timestamp(instant)) => Some(Val::text(instant.to_string())),
        _ => return Err(EvalError::no_such_overload()),
    };
    converted.ok_or_else(|| {
        let to = match to {
            "duration" => "google.protobuf.Duration",
            "timestamp" => "google.protobuf.Timestamp",
            other => other,
        };
        EvalError::failed(format!(
            "type conversion error from '{}' to '{to}'",
            value.type_name()
        ))
    })
}

fn out_of_range() -> EvalError {
    EvalError::failed("integer overflow")
}

/// `getHours()` and its like, in UTC or in the zone of the second argument.
pub(super) fn part_of_time<'a>(function: &str, value: &Val<'a>, zone: Option<&Val<'a>>) -> Outcome<'a> {
    let offset = match zone {
        None => 0,
        Some(Val::Text(zone)) => time::zone_offset(zone)
            .ok_or_else(|| EvalError::failed(format!("unknown time zone {}", &**zone)))?,
        Some(_) => return Err(EvalError::no_such_overload()),
    };
    let part = match value {
        Val::Duration(nanos) => match function {
            "getHours" => nanos / 3_600_000_000_000,
            "getMinutes" => nanos / 60_000_000_000,
            "getSeconds" => nanos / 1_000_000_000,
            "getMilliseconds" => nanos / 1_000_000 % 1000,
            _ => return Err(EvalError::no_such_overload()),
        },
        Val::Timestamp(instant) => {
            let civil = instant.civil(offset);
            match function {
                "getFullYear" => civil.year,
                "getMonth" => civil.month - 1,
                "getDate" => civil.day,
                "getDayOfMonth" => civil.day - 1,
                "getDayOfWeek" => civil.day_of_week,
                "getDayOfYear" => civil.day_of_year,
                "getHours" => civil.second_of_day / 3600,
                "getMinutes" => civil.second_of_day / 60 % 60,
                "getSeconds" => civil.second_of_day % 60,
                "getMilliseconds" => instant.milliseconds(),
                _ => return Err(EvalError::no_such_overload()),
            }
        }
        _ => return Err(EvalError::no_such_overload()),
    };
    Ok(Val::Int(part))
}
