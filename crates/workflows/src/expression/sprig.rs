//! The functions of sprig that workflows use. What would need a clock, a random number or the environment
//! is left out: a plan is made many times and must come out the same.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    ExpressionError,
    functions::{as_float, as_int, split},
    run::{failed, kind, text_of},
};

type Outcome = Result<Value, ExpressionError>;

pub(super) fn call(name: &str, arguments: &[Value]) -> Outcome {
    let given = |at: usize| {
        arguments
            .get(at)
            .ok_or_else(|| failed(format!("sprig.{name} needs {} arguments", at + 1)))
    };
    let text = |at: usize| given(at).map(text_of);
    let whole = |at: usize| as_int(given(at)?).map(|number| number.as_i64().unwrap_or_default());
    let list = |at: usize| {
        let value = given(at)?;
        value
            .as_array()
            .ok_or_else(|| failed(format!("sprig.{name} is for lists, not for {}", kind(value))))
    };
    let pattern = |at: usize| {
        let text = text(at)?;
        regex::Regex::new(&text).map_err(|error| failed(error.to_string()))
    };
    match name {
        "trim" => Ok(json!(text(0)?.trim())),
        "trimAll" => {
            let cut: Vec<char> = text(0)?.chars().collect();
            Ok(json!(text(1)?.trim_matches(cut.as_slice())))
        }
        "trimPrefix" => Ok(json!(
            text(1)?
                .strip_prefix(&text(0)?)
                .map_or_else(|| text(1), |rest| Ok(rest.to_owned()))?
        )),
        "trimSuffix" => Ok(json!(
            text(1)?
                .strip_suffix(&text(0)?)
                .map_or_else(|| text(1), |rest| Ok(rest.to_owned()))?
        )),
        "upper" => Ok(json!(text(0)?.to_uppercase())),
        "lower" => Ok(json!(text(0)?.to_lowercase())),
        "title" => Ok(json!(title(&text(0)?))),
        "untitle" => Ok(json!(untitle(&text(0)?))),
        "repeat" => {
            let times = usize::try_from(whole(0)?).unwrap_or_default();
            let text = text(1)?;
            if text.len().saturating_mul(times) > 1_000_000 {
                return Err(failed("sprig.repeat would make more than a megabyte"));
            }
            Ok(json!(text.repeat(times)))
        }
        "substr" => {
            let letters: Vec<char> = text(2)?.chars().collect();
            let from = usize::try_from(whole(0)?).unwrap_or_default().min(letters.len());
            let to = usize::try_from(whole(1)?)
                .unwrap_or(letters.len())
                .clamp(from, letters.len());
            Ok(json!(letters[from..to].iter().collect::<String>()))
        }
        "trunc" => {
            let letters: Vec<char> = text(1)?.chars().collect();
            let count = whole(0)?;
            let kept = usize::try_from(count.unsigned_abs())
                .unwrap_or(letters.len())
                .min(letters.len());
            let range = if count < 0 {
                letters.len() - kept..letters.len()
            } else {
                0..kept
            };
            Ok(json!(letters[range].iter().collect::<String>()))
        }
        "replace" => Ok(json!(text(2)?.replace(&text(0)?, &text(1)?))),
        "contains" => Ok(json!(text(1)?.contains(&text(0)?))),
        "hasPrefix" => Ok(json!(text(1)?.starts_with(&text(0)?))),
        "hasSuffix" => Ok(json!(text(1)?.ends_with(&text(0)?))),
        "nospace" => Ok(json!(text(0)?.split_whitespace().collect::<String>())),
        "quote" => Ok(json!(json!(text(0)?).to_string())),
        "squote" => Ok(json!(format!("'{}'", text(0)?))),
        "indent" | "nindent" => {
            let pad = " ".repeat(usize::try_from(whole(0)?).unwrap_or_default().min(1000));
            let padded = format!("{pad}{}", text(1)?.replace('\n', &format!("\n{pad}")));
            Ok(json!(if name == "nindent" {
                format!("\n{padded}")
            } else {
                padded
            }))
        }
        "cat" => Ok(json!(arguments.iter().map(text_of).collect::<Vec<_>>().join(" "))),
        "snakecase" => Ok(json!(words(&text(0)?).join("_"))),
        "kebabcase" => Ok(json!(words(&text(0)?).join("-"))),
        "camelcase" => Ok(json!(
            words(&text(0)?)
                .iter()
                .map(|word| title(word))
                .collect::<String>()
        )),
        "splitList" => Ok(split(&text(1)?, &text(0)?)),
        "split" => {
            let (between, whole) = (text(0)?, text(1)?);
            let parts = split(&whole, &between);
            let numbered = parts.as_array().into_iter().flatten().enumerate();
            Ok(Value::Object(
                numbered
                    .map(|(at, part)| (format!("_{at}"), part.clone()))
                    .collect(),
            ))
        }
        "join" => {
            let between = text(0)?;
            let parts: Vec<String> = list(1)?.iter().map(text_of).collect();
            Ok(json!(parts.join(&between)))
        }
        "sortAlpha" => {
            let mut parts: Vec<String> = list(0)?.iter().map(text_of).collect();
            parts.sort();
            Ok(json!(parts))
        }
        "toString" => Ok(json!(text(0)?)),
        "toStrings" => Ok(list(0)?.iter().map(|item| json!(text_of(item))).collect()),
        "int" | "int64" | "atoi" => Ok(as_int(given(0)?)
            .or_else(|_| as_float(given(0)?).and_then(|float| as_int(&float)))
            .unwrap_or_else(|_| json!(0))),
        "float64" => Ok(as_float(given(0)?).unwrap_or_else(|_| json!(0.0))),
        "add" | "mul" | "max" | "biggest" | "min" => {
            let mut numbers = Vec::new();
            for at in 0..arguments.len() {
                numbers.push(whole(at)?);
            }
            let first = numbers
                .first()
                .copied()
                .ok_or_else(|| failed(format!("sprig.{name} needs a number")))?;
            let total = numbers[1..].iter().fold(first, |total, number| match name {
                "add" => total.wrapping_add(*number),
                "mul" => total.wrapping_mul(*number),
                "min" => total.min(*number),
                _ => total.max(*number),
            });
            Ok(json!(total))
        }
        "add1" => Ok(json!(whole(0)?.wrapping_add(1))),
        "sub" => Ok(json!(whole(0)?.wrapping_sub(whole(1)?))),
        "div" => whole(0)?
            .checked_div(whole(1)?)
            .map(|number| json!(number))
            .ok_or_else(|| failed("division by zero")),
        "mod" => whole(0)?
            .checked_rem(whole(1)?)
            .map(|number| json!(number))
            .ok_or_else(|| failed("division by zero")),
        "ceil" => Ok(json!(as_float(given(0)?)?.as_f64().unwrap_or_default().ceil())),
        "floor" => Ok(json!(as_float(given(0)?)?.as_f64().unwrap_or_default().floor())),
        "round" => {
            let scale = 10f64.powi(i32::try_from(whole(1)?).unwrap_or_default());
            Ok(json!(
                (as_float(given(0)?)?.as_f64().unwrap_or_default() * scale).round() / scale
            ))
        }
        "until" => Ok((0..whole(0)?.clamp(0, 1_000_000))
            .map(|number| json!(number))
            .collect()),
        "list" | "tuple" => Ok(json!(arguments)),
        "dict" => {
            let pairs = arguments
                .chunks(2)
                .map(|pair| (text_of(&pair[0]), pair.get(1).cloned().unwrap_or_default()));
            Ok(Value::Object(pairs.collect::<Map<_, _>>()))
        }
        "get" => Ok(given(0)?.get(text(1)?).cloned().unwrap_or_default()),
        "hasKey" => Ok(json!(given(0)?.get(text(1)?).is_some())),
        "keys" => match given(0)? {
            Value::Object(map) => Ok(map.keys().map(|key| json!(key)).collect()),
            other => Err(failed(format!("sprig.keys is for maps, not for {}", kind(other)))),
        },
        "first" => Ok(list(0)?.first().cloned().unwrap_or_default()),
        "last" => Ok(list(0)?.last().cloned().unwrap_or_default()),
        "rest" => Ok(list(0)?.iter().skip(1).cloned().collect()),
        "initial" => {
            let items = list(0)?;
            Ok(items[..items.len().saturating_sub(1)].iter().cloned().collect())
        }
        "append" => Ok(list(0)?.iter().chain([given(1)?]).cloned().collect()),
        "prepend" => Ok([given(1)?].into_iter().chain(list(0)?).cloned().collect()),
        "reverse" => Ok(list(0)?.iter().rev().cloned().collect()),
        "has" => Ok(json!(list(1)?.contains(given(0)?))),
        "uniq" => {
            let mut kept: Vec<&Value> = Vec::new();
            for item in list(0)? {
                if !kept.contains(&item) {
                    kept.push(item);
                }
            }
            Ok(json!(kept))
        }
        "default" => Ok(if is_empty(arguments.get(1).unwrap_or(&Value::Null)) {
            given(0)?.clone()
        } else {
            given(1)?.clone()
        }),
        "empty" => Ok(json!(is_empty(given(0)?))),
        "coalesce" => Ok(arguments
            .iter()
            .find(|value| !is_empty(value))
            .cloned()
            .unwrap_or_default()),
        "ternary" => Ok(if given(2)? == &Value::Bool(true) {
            given(0)?.clone()
        } else {
            given(1)?.clone()
        }),
        "toJson" | "toRawJson" => Ok(json!(super::to_json(given(0)?))),
        "toPrettyJson" => Ok(json!(serde_json::to_string_pretty(given(0)?).unwrap_or_default())),
        "fromJson" => Ok(serde_json::from_str(&text(0)?).unwrap_or_default()),
        "b64enc" => Ok(json!(BASE64_STANDARD.encode(text(0)?))),
        "b64dec" => {
            let bytes = BASE64_STANDARD
                .decode(text(0)?)
                .map_err(|error| failed(error.to_string()))?;
            Ok(json!(String::from_utf8_lossy(&bytes)))
        }
        "sha256sum" => {
            let digest = Sha256::digest(text(0)?.as_bytes());
            Ok(json!(
                digest
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>()
            ))
        }
        "regexMatch" => Ok(json!(pattern(0)?.is_match(&text(1)?))),
        "regexFind" => Ok(json!(
            pattern(0)?.find(&text(1)?).map_or("", |found| found.as_str())
        )),
        "regexFindAll" => {
            let whole_text = text(1)?;
            let pattern = pattern(0)?;
            let found = pattern.find_iter(&whole_text).map(|found| json!(found.as_str()));
            let count = whole(2).unwrap_or(-1);
            Ok(match usize::try_from(count) {
                Ok(count) => found.take(count).collect(),
                Err(_) => found.collect(),
            })
        }
        "regexReplaceAll" => Ok(json!(pattern(0)?.replace_all(&text(1)?, text(2)?.as_str()))),
        "regexSplit" => Ok(pattern(0)?.split(&text(1)?).map(|part| json!(part)).collect()),
        "base" => Ok(json!(text(0)?.rsplit('/').next().unwrap_or_default())),
        "dir" => Ok(json!(text(0)?.rsplit_once('/').map_or(".", |(folder, _)| folder))),
        "ext" => {
            let path = text(0)?;
            let file = path.rsplit('/').next().unwrap_or_default();
            Ok(json!(file.rfind('.').map_or("", |at| &file[at..])))
        }
        "fail" => Err(failed(text(0)?)),
        _ => Err(ExpressionError::Unknown(format!("sprig.{name}"))),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

fn title(text: &str) -> String {
    let mut is_start = true;
    let letters = text.chars().flat_map(|letter| {
        let shown: Vec<char> = if is_start {
            letter.to_uppercase().collect()
        } else {
            vec![letter]
        };
        is_start = !letter.is_alphanumeric();
        shown
    });
    letters.collect()
}

fn untitle(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let mut letters = word.chars();
        let first = letters
            .next()
            .map(|first| first.to_lowercase().collect::<String>());
        format!("{}{}", first.unwrap_or_default(), letters.as_str())
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The words of `someName`, `some_name` and `some-name`, in lower case.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        let is_border = !letter.is_alphanumeric();
        if (is_border || (letter.is_uppercase() && was_lower))
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        if !is_border && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
