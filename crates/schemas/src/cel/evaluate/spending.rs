//! What a call costs, given the values it is called with.

use crate::cel::{
    estimate::{NAMED_FORMAT_LENGTH, REGEX_FACTOR, STRING_FACTOR},
    syntax::operator,
    value::Val,
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
        operator::EQUALS | operator::NOT_EQUALS => {
            // The real price is by the shorter side; deep values are compared down to their leaves.
            scaled(size(0).min(size(1)), STRING_FACTOR).max(deep_comparison(args))
        }
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

/// Lists and maps inside of lists and maps are free in the real server; time is not. A tenth of a
/// unit for each nested item keeps budgets honest without changing what passes.
fn deep_comparison(args: &[Val<'_>]) -> u64 {
    match args {
        [Val::List(a), Val::List(b)] if a.len() == b.len() => a.len() as u64 / 10,
        _ => 0,
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
