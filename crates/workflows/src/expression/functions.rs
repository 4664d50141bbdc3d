//! The functions of the language itself, and Argo's: `asInt`, `asFloat`, `toJson`, `jsonpath`.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use manifests::json_path::JsonPath;
use serde_json::{Map, Value, json};

use super::{
    ExpressionError,
    parse::Expression,
    run::{Runner, compare, equal, failed, kind, text_of, truth},
};

type Outcome = Result<Value, ExpressionError>;

/// Functions whose last argument is asked about each item.
pub(super) fn takes_predicate(name: &str) -> bool {
    matches!(
        name,
        "all"
            | "any"
            | "one"
            | "none"
            | "map"
            | "filter"
            | "find"
            | "findIndex"
            | "findLast"
            | "findLastIndex"
            | "count"
            | "sum"
            | "groupBy"
            | "sortBy"
            | "reduce"
    )
}

pub(super) fn over_items(runner: &mut Runner<'_>, name: &str, arguments: &[Expression]) -> Outcome {
    let Some(list) = arguments.first() else {
        return Err(failed(format!("{name} needs a list")));
    };
    let Value::Array(items) = runner.value(list)? else {
        return Err(failed(format!("{name} is for lists")));
    };
    let Some(predicate) = arguments.get(1) else {
        return match name {
            "count" => Ok(json!(
                items.iter().filter(|item| **item == Value::Bool(true)).count()
            )),
            "sum" => sum(&items),
            _ => Err(failed(format!("{name} needs a predicate, such as {{# > 1}}"))),
        };
    };
    if name == "reduce" {
        return reduce(runner, &items, predicate, arguments.get(2));
    }
    let mut answers = Vec::with_capacity(items.len());
    for item in &items {
        answers.push(runner.ask(predicate, item)?);
    }
    let truths = || answers.iter().map(truth).collect::<Result<Vec<bool>, _>>();
    match name {
        "map" => Ok(json!(answers)),
        "sum" => sum(&answers),
        "all" => Ok(json!(truths()?.into_iter().all(|holds| holds))),
        "any" => Ok(json!(truths()?.into_iter().any(|holds| holds))),
        "none" => Ok(json!(!truths()?.into_iter().any(|holds| holds))),
        "one" => Ok(json!(truths()?.into_iter().filter(|holds| *holds).count() == 1)),
        "count" => Ok(json!(truths()?.into_iter().filter(|holds| *holds).count())),
        "filter" => {
            let kept = items.iter().zip(truths()?).filter(|(_, holds)| *holds);
            Ok(kept.map(|(item, _)| item.clone()).collect())
        }
        "find" => {
            let place = truths()?.into_iter().position(|holds| holds);
            Ok(place.map_or(Value::Null, |at| items[at].clone()))
        }
        "findLast" => {
            let place = truths()?.into_iter().rposition(|holds| holds);
            Ok(place.map_or(Value::Null, |at| items[at].clone()))
        }
        "findIndex" => Ok(json!(place(truths()?.into_iter().position(|holds| holds)))),
        "findLastIndex" => Ok(json!(place(truths()?.into_iter().rposition(|holds| holds)))),
        "groupBy" => {
            let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for (item, key) in items.iter().zip(&answers) {
                groups.entry(text_of(key)).or_default().push(item.clone());
            }
            Ok(json!(groups))
        }
        _ => {
            let mut pairs: Vec<(Value, Value)> = answers.into_iter().zip(items).collect();
            pairs.sort_by(|left, right| compare(&left.0, &right.0).unwrap_or(std::cmp::Ordering::Equal));
            let is_down = match arguments.get(2) {
                Some(order) => text_of(&runner.value(order)?) == "desc",
                None => false,
            };
            if is_down {
                pairs.reverse();
            }
            Ok(pairs.into_iter().map(|(_, item)| item).collect())
        }
    }
}

fn place(found: Option<usize>) -> i64 {
    found.map_or(-1, |at| at as i64)
}

fn reduce(
    runner: &mut Runner<'_>,
    items: &[Value],
    predicate: &Expression,
    first: Option<&Expression>,
) -> Outcome {
    let mut items = items.iter();
    let mut reduced = match first {
        Some(first) => runner.value(first)?,
        None => items
            .next()
            .cloned()
            .ok_or_else(|| failed("reduce needs an item or a first value"))?,
    };
    // `#acc` is read as `#` and a name.
    for item in items {
        reduced = runner.with_local("acc", reduced, |runner| runner.ask(predicate, item))?;
    }
    Ok(reduced)
}

fn sum(items: &[Value]) -> Outcome {
    let integers: Option<i64> = items.iter().map(Value::as_i64).sum();
    if let Some(total) = integers {
        return Ok(json!(total));
    }
    let floats: Option<f64> = items.iter().map(Value::as_f64).sum();
    floats
        .map(|total| json!(total))
        .ok_or_else(|| failed("sum is for numbers"))
}

pub(super) fn call(name: &str, arguments: &[Value]) -> Outcome {
    let given = |at: usize| {
        arguments
            .get(at)
            .ok_or_else(|| failed(format!("{name} needs {} arguments", at + 1)))
    };
    let text = |at: usize| {
        let value = given(at)?;
        value
            .as_str()
            .ok_or_else(|| failed(format!("{name} is for texts, not for {}", kind(value))))
    };
    let list = |at: usize| {
        let value = given(at)?;
        value
            .as_array()
            .ok_or_else(|| failed(format!("{name} is for lists, not for {}", kind(value))))
    };
    let number = |at: usize| {
        let value = given(at)?;
        value
            .as_f64()
            .ok_or_else(|| failed(format!("{name} is for numbers, not for {}", kind(value))))
    };
    match name {
        "asInt" | "int" => as_int(given(0)?),
        "asFloat" | "float" => as_float(given(0)?),
        "string" => Ok(json!(text_of(given(0)?))),
        "toJson" | "toJSON" => Ok(json!(super::to_json(given(0)?))),
        "fromJSON" => serde_json::from_str(text(0)?).map_err(|error| failed(error.to_string())),
        "jsonpath" => json_path(text(0)?, text(1)?),
        "len" => length(given(0)?),
        "trim" => {
            if arguments.len() == 1 {
                Ok(json!(text(0)?.trim()))
            } else {
                let cut: Vec<char> = text(1)?.chars().collect();
                Ok(json!(text(0)?.trim_matches(cut.as_slice())))
            }
        }
        "trimPrefix" => Ok(json!(text(0)?.strip_prefix(text(1)?).unwrap_or(text(0)?))),
        "trimSuffix" => Ok(json!(text(0)?.strip_suffix(text(1)?).unwrap_or(text(0)?))),
        "upper" => Ok(json!(text(0)?.to_uppercase())),
        "lower" => Ok(json!(text(0)?.to_lowercase())),
        "split" => Ok(split(text(0)?, text(1)?)),
        "splitAfter" => Ok(json!(text(0)?.split_inclusive(text(1)?).collect::<Vec<_>>())),
        "replace" => Ok(json!(text(0)?.replace(text(1)?, text(2)?))),
        "repeat" => repeat(text(0)?, number(1)?),
        "join" => {
            let between = arguments.get(1).map_or_else(String::new, text_of);
            let parts: Vec<String> = list(0)?.iter().map(text_of).collect();
            Ok(json!(parts.join(&between)))
        }
        "indexOf" => Ok(json!(place(text(0)?.find(text(1)?)))),
        "lastIndexOf" => Ok(json!(place(text(0)?.rfind(text(1)?)))),
        "hasPrefix" => Ok(json!(text(0)?.starts_with(text(1)?))),
        "hasSuffix" => Ok(json!(text(0)?.ends_with(text(1)?))),
        "toBase64" => Ok(json!(BASE64_STANDARD.encode(text(0)?))),
        "fromBase64" => {
            let bytes = BASE64_STANDARD
                .decode(text(0)?)
                .map_err(|error| failed(error.to_string()))?;
            String::from_utf8(bytes)
                .map(|text| json!(text))
                .map_err(|error| failed(error.to_string()))
        }
        "abs" => match given(0)?.as_i64() {
            Some(integer) => Ok(json!(integer.abs())),
            None => Ok(json!(number(0)?.abs())),
        },
        "ceil" => Ok(json!(number(0)?.ceil())),
        "floor" => Ok(json!(number(0)?.floor())),
        "round" => Ok(json!(number(0)?.round())),
        "max" | "min" | "mean" | "median" => extreme(name, arguments),
        "first" => Ok(list(0)?.first().cloned().unwrap_or_default()),
        "last" => Ok(list(0)?.last().cloned().unwrap_or_default()),
        "take" => {
            let count = number(1)? as usize;
            Ok(list(0)?.iter().take(count).cloned().collect())
        }
        "reverse" => Ok(list(0)?.iter().rev().cloned().collect()),
        "concat" => {
            let mut all = Vec::new();
            for at in 0..arguments.len() {
                all.extend_from_slice(list(at)?);
            }
            Ok(json!(all))
        }
        "flatten" => {
            let mut flat = Vec::new();
            flatten(list(0)?, &mut flat);
            Ok(json!(flat))
        }
        "uniq" => {
            let mut kept: Vec<Value> = Vec::new();
            for item in list(0)? {
                if !kept.iter().any(|known| equal(known, item)) {
                    kept.push(item.clone());
                }
            }
            Ok(json!(kept))
        }
        "sort" => {
            let mut items = list(0)?.clone();
            items.sort_by(|left, right| compare(left, right).unwrap_or(std::cmp::Ordering::Equal));
            if arguments.get(1).is_some_and(|order| order == "desc") {
                items.reverse();
            }
            Ok(json!(items))
        }
        "keys" | "values" | "toPairs" => of_map(name, given(0)?),
        "fromPairs" => {
            let mut map = Map::new();
            for pair in list(0)? {
                map.insert(text_of(&pair[0]), pair[1].clone());
            }
            Ok(Value::Object(map))
        }
        "get" => {
            let (of, at) = (given(0)?, given(1)?);
            Ok(match of {
                Value::Object(map) => map.get(&text_of(at)).cloned().unwrap_or_default(),
                Value::Array(items) => {
                    let at = at.as_i64().and_then(|at| usize::try_from(at).ok());
                    at.and_then(|at| items.get(at)).cloned().unwrap_or_default()
                }
                _ => Value::Null,
            })
        }
        "type" => Ok(json!(kind(given(0)?))),
        "date" => {
            let text = text(0)?;
            let parsed: Result<Timestamp, _> = text.parse();
            parsed
                .map(|time| json!(time.to_string()))
                .map_err(|error| failed(error.to_string()))
        }
        _ => Err(ExpressionError::Unknown(name.to_owned())),
    }
}

pub(super) fn as_int(value: &Value) -> Outcome {
    match value {
        Value::Number(number) => Ok(json!(
            number
                .as_i64()
                .unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64)
        )),
        Value::String(text) => text
            .trim()
            .parse::<i64>()
            .map(|number| json!(number))
            .map_err(|_| failed(format!("{} is no integer", manifests::field::quoted(text)))),
        other => Err(failed(format!("{} is no integer", kind(other)))),
    }
}

pub(super) fn as_float(value: &Value) -> Outcome {
    match value {
        Value::Number(number) => Ok(json!(number.as_f64().unwrap_or_default())),
        Value::String(text) => text
            .trim()
            .parse::<f64>()
            .map(|number| json!(number))
            .map_err(|_| failed(format!("{} is no number", manifests::field::quoted(text)))),
        other => Err(failed(format!("{} is no number", kind(other)))),
    }
}

/// Where several are found they are a list, otherwise the one that is found.
fn json_path(document: &str, path: &str) -> Outcome {
    let document: Value =
        serde_json::from_str(document).map_err(|error| failed(format!("jsonpath is for JSON: {error}")))?;
    // `$.a` is how others write `{.a}`.
    let path = path.trim();
    let braced = match path.strip_prefix('$') {
        Some(rest) => format!("{{{rest}}}"),
        None if path.starts_with('{') => path.to_owned(),
        None => format!("{{.{path}}}"),
    };
    let path = JsonPath::parse(&braced).map_err(|error| failed(error.to_string()))?;
    let found = path.find(&document);
    match found.as_slice() {
        [] => Err(failed("jsonpath finds nothing")),
        [one] if !braced.contains(['*', '?', ':']) => Ok((*one).clone()),
        several => Ok(several.iter().map(|value| (*value).clone()).collect()),
    }
}

fn length(value: &Value) -> Outcome {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        other => return Err(failed(format!("{} has no length", kind(other)))),
    };
    Ok(json!(length))
}

pub(super) fn split(text: &str, between: &str) -> Value {
    if between.is_empty() {
        return text.chars().map(|letter| json!(letter.to_string())).collect();
    }
    text.split(between).map(|part| json!(part)).collect()
}

fn repeat(text: &str, times: f64) -> Outcome {
    let times = times.max(0.0) as usize;
    if text.len().saturating_mul(times) > 1_000_000 {
        return Err(failed("repeat would make more than a megabyte"));
    }
    Ok(json!(text.repeat(times)))
}

fn extreme(name: &str, arguments: &[Value]) -> Outcome {
    let mut all = Vec::new();
    flatten(arguments, &mut all);
    if all.is_empty() {
        return Err(failed(format!("{name} needs a number")));
    }
    if name == "max" || name == "min" {
        let wanted = |order: std::cmp::Ordering| {
            if name == "max" {
                order.is_gt()
            } else {
                order.is_lt()
            }
        };
        let mut found = all[0].clone();
        for item in &all[1..] {
            let order = compare(item, &found).ok_or_else(|| failed(format!("{name} is for numbers")))?;
            if wanted(order) {
                found = item.clone();
            }
        }
        return Ok(found);
    }
    let numbers: Option<Vec<f64>> = all.iter().map(Value::as_f64).collect();
    let mut numbers = numbers.ok_or_else(|| failed(format!("{name} is for numbers")))?;
    if name == "mean" {
        return Ok(json!(numbers.iter().sum::<f64>() / numbers.len() as f64));
    }
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let median = if numbers.len() % 2 == 1 {
        numbers[middle]
    } else {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    };
    Ok(json!(median))
}

fn flatten(items: &[Value], into: &mut Vec<Value>) {
    for item in items {
        match item {
            Value::Array(inner) => flatten(inner, into),
            other => into.push(other.clone()),
        }
    }
}

fn of_map(name: &str, value: &Value) -> Outcome {
    let Value::Object(map) = value else {
        return Err(failed(format!("{name} is for maps, not for {}", kind(value))));
    };
    Ok(match name {
        "keys" => map.keys().map(|key| json!(key)).collect(),
        "values" => map.values().cloned().collect(),
        _ => map.iter().map(|(key, value)| json!([key, value])).collect(),
    })
}
