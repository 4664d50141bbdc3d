//! What a call costs, given the values it is called with.

use serde_json::Value;

use crate::cel::{
    estimate::{NAMED_FORMAT_LENGTH, REGEX_FACTOR, STRING_FACTOR},
    syntax::operator,
    value::{List, MapVal, Val},
};

/// More than any budget: for results that would not fit into memory.
const UNAFFORDABLE: u64 = u64::MAX;
/// Asking whether somebody may do something can be slow.
const AUTHORIZATION: u64 = 350_000;
const MAX_TEXT: u64 = 16 * 1024 * 1024;

pub(super) fn price(function: &str, args: &[Val<'_>]) -> u64 {
    let scaled = |size: u64, factor: f64| (size as f64 * factor).ceil() as u64;
    let size = |i: usize| args.get(i).map_or(1, Val::size);
    let text = |i: usize| matches!(args.get(i), Some(Val::Text(_) | Val::Bytes(_)));
    match function {
        "check" => AUTHORIZATION,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => args.first().map_or(0, traversal),
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "ip" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" | "startsWith" | "endsWith" | "format"
        | "strings.quote" => scaled(size(0), STRING_FACTOR),
        "bytes" | "string" if text(0) => scaled(size(0), STRING_FACTOR),
        "replace" => {
            // Replacing nothing puts the replacement between all characters.
            let growth = size(0).saturating_add(1).saturating_mul(size(2));
            let grows = size(1) < size(2) && growth / size(1).max(1) > MAX_TEXT;
            if grows {
                UNAFFORDABLE
            } else {
                scaled(size(0), 2.0 * STRING_FACTOR)
            }
        }
        "split" | "ip.isCanonical" => scaled(size(0), 2.0 * STRING_FACTOR),
        "join" => {
            let joined = joined_size(args);
            if joined > MAX_TEXT {
                UNAFFORDABLE
            } else {
                scaled(joined, 2.0 * STRING_FACTOR)
            }
        }
        "find" | "findAll" | "matches" => {
            scaled(size(0) + 1, STRING_FACTOR).saturating_mul(scaled(size(1), REGEX_FACTOR))
        }
        "contains" => scaled(size(0), STRING_FACTOR).saturating_mul(scaled(size(1), STRING_FACTOR)),
        "validate" => scaled(size(1) + 1, STRING_FACTOR)
            .saturating_mul(scaled(NAMED_FORMAT_LENGTH as u64, REGEX_FACTOR)),
        "containsIP" | "containsCIDR" => 5 + scaled(size(1), STRING_FACTOR),
        operator::IN if matches!(args.get(1), Some(Val::List(_))) => size(1),
        operator::EQUALS | operator::NOT_EQUALS => scaled(size(0).min(size(1)), STRING_FACTOR),
        operator::LESS | operator::LESS_EQUALS | operator::GREATER | operator::GREATER_EQUALS if text(0) => {
            scaled(size(0).min(size(1)), STRING_FACTOR)
        }
        operator::ADD if text(0) => {
            let joined = size(0).saturating_add(size(1));
            if joined > MAX_TEXT {
                UNAFFORDABLE
            } else {
                scaled(joined, STRING_FACTOR)
            }
        }
        // Quadratic in the worst case.
        "sets.contains" | "sets.equivalent" | "sets.intersects" => 1 + size(0).saturating_mul(size(1)) / 10,
        _ => 1,
    }
}

/// Going through a value once.
fn traversal(value: &Val<'_>) -> u64 {
    match value {
        Val::Text(text) => (text.len() as f64 * STRING_FACTOR) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * STRING_FACTOR) as u64,
        Val::List(list) => list.iter().map(|item| traversal(&item)).sum(),
        _ => 1,
    }
}

/// What one evaluation may go through. Prices look at the outermost list or map only, as those of
/// the real server do; deep values would make cheap comparisons long.
pub(super) const MAX_WORK: u64 = 5_000_000;

/// The size of everything a function goes through.
pub(super) fn work(function: &str, args: &[Val<'_>]) -> u64 {
    match function {
        operator::INDEX
        | operator::OPTIONAL_INDEX
        | operator::OPTIONAL_SELECT
        | operator::INSERT
        | "size"
        | "type"
        | "dyn"
        | "value"
        | "hasValue"
        | "optional.of"
        | "first"
        | "last" => 1,
        _ => args.iter().map(weight).sum(),
    }
}

fn weight(value: &Val<'_>) -> u64 {
    let of_text = |text: &str| 1 + text.len() as u64 / 64;
    match value {
        Val::Text(text) => of_text(text),
        Val::Bytes(bytes) => 1 + bytes.len() as u64 / 64,
        Val::List(List::Json { items, .. }) => 1 + items.iter().map(json_weight).sum::<u64>(),
        Val::List(List::Made(items)) => 1 + items.iter().map(weight).sum::<u64>(),
        Val::Map(MapVal::Json { entries, .. }) => 1 + entries.values().map(json_weight).sum::<u64>(),
        Val::Map(MapVal::Made(entries)) => 1 + entries.values().map(weight).sum::<u64>(),
        Val::Optional(Some(inner)) => weight(inner),
        _ => 1,
    }
}

fn json_weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 64,
        Value::Array(items) => 1 + items.iter().map(json_weight).sum::<u64>(),
        Value::Object(entries) => 1 + entries.values().map(json_weight).sum::<u64>(),
        _ => 1,
    }
}

fn joined_size(args: &[Val<'_>]) -> u64 {
    let Some(Val::List(list)) = args.first() else {
        return 1;
    };
    let separators = args.get(1).map_or(0, Val::size).saturating_mul(list.len() as u64);
    list.iter()
        .map(|item| item.size())
        .fold(separators, u64::saturating_add)
}
