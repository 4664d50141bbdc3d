//! A step that stands for many: one for each item of a list, of a parameter that holds a list, or of a
//! sequence of numbers.

use serde_json::{Map, Value};

use crate::{
    expression::to_json,
    model::{Sequence, Step},
    scope::Scope,
    tags::{self, Stage},
};

/// More than anybody's cluster can run; a typing error in a sequence must not take all memory.
const MOST: usize = 100_000;

/// The steps that a step stands for, with the names Argo gives them; itself if it is no loop.
pub fn expand(step: &Step, scope: &Scope) -> Result<Vec<Step>, String> {
    if !step.is_loop() {
        return Ok(vec![step.clone()]);
    }
    let items = items(step)?;
    if items.len() > MOST {
        return Err(format!("{} items are more than {MOST}", items.len()));
    }
    let mut template = step.clone();
    template.with_items = None;
    template.with_param = String::new();
    template.with_sequence = None;
    let hooks = std::mem::take(&mut template.hooks);
    let written = serde_json::to_value(&template).map_err(|error| error.to_string())?;
    let mut steps = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let mut scope = scope.clone();
        for (name, value) in meanings(item) {
            scope.set(name, value);
        }
        let replaced = tags::replace(&written, &scope, Stage::Lenient).map_err(|error| error.to_string())?;
        let mut expanded: Step = serde_json::from_value(replaced).map_err(|error| error.to_string())?;
        expanded.name = format!("{}({index}:{})", step.name, label(item));
        // Hooks speak of the step itself, which has not run yet; of their items they may speak now.
        let hooks_written = serde_json::to_value(&hooks).map_err(|error| error.to_string())?;
        let mut only_item = Scope::default();
        for (name, value) in meanings(item) {
            only_item.set(name, value);
        }
        let hooks =
            tags::replace(&hooks_written, &only_item, Stage::Lenient).map_err(|error| error.to_string())?;
        expanded.hooks = serde_json::from_value(hooks).map_err(|error| error.to_string())?;
        steps.push(expanded);
    }
    Ok(steps)
}

fn items(step: &Step) -> Result<Vec<Value>, String> {
    if let Some(items) = &step.with_items {
        return Ok(items.clone());
    }
    if let Some(sequence) = &step.with_sequence {
        return numbers(sequence);
    }
    let parsed: Result<Value, _> = serde_json::from_str(&step.with_param);
    match parsed {
        Ok(Value::Array(items)) => Ok(items),
        _ => Err(format!(
            "withParam value could not be parsed as a JSON list: {}",
            step.with_param
        )),
    }
}

fn numbers(sequence: &Sequence) -> Result<Vec<Value>, String> {
    let read = |text: &str| {
        text.trim()
            .parse::<i64>()
            .map_err(|_| format!("withSequence: `{text}` is no integer"))
    };
    let start = sequence.start.as_ref().map_or(Ok(0), |start| read(&start.0))?;
    let end = match (&sequence.count, &sequence.end) {
        (Some(count), None) => match read(&count.0)? {
            0 => return Ok(Vec::new()),
            count if count < 0 => {
                return Err(format!(
                    "withSequence: count must not be negative, and is {count}"
                ));
            }
            count => start.saturating_add(count - 1),
        },
        (None, Some(end)) => read(&end.0)?,
        _ => return Err("withSequence needs either count or end".to_owned()),
    };
    if start.abs_diff(end) as usize >= MOST {
        return Err(format!(
            "withSequence: from {start} to {end} is more than {MOST} items"
        ));
    }
    let range: Vec<i64> = if start <= end {
        (start..=end).collect()
    } else {
        (end..=start).rev().collect()
    };
    range
        .into_iter()
        .map(|number| formatted(&sequence.format, number).map(Value::String))
        .collect()
}

/// A number by a format of C: `%d`, `testuser%02X`.
fn formatted(format: &str, number: i64) -> Result<String, String> {
    if format.is_empty() {
        return Ok(number.to_string());
    }
    let wrong = || format!("withSequence: `{format}` is no format for a number, such as `%03d`");
    let mut text = String::new();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        if letters.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let (mut is_zero, mut is_left, mut is_signed) = (false, false, false);
        while let Some(flag) = letters.next_if(|letter| matches!(letter, '0' | '-' | '+')) {
            match flag {
                '0' => is_zero = true,
                '-' => is_left = true,
                _ => is_signed = true,
            }
        }
        let mut width = 0usize;
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            width = (width * 10 + digit.to_digit(10).unwrap_or_default() as usize).min(1000);
        }
        let digits = match letters.next().ok_or_else(wrong)? {
            'd' | 'v' if is_signed && number >= 0 => format!("+{number}"),
            'd' | 'v' => number.to_string(),
            'x' => format!("{number:x}"),
            'X' => format!("{number:X}"),
            'o' => format!("{number:o}"),
            'b' => format!("{number:b}"),
            _ => return Err(wrong()),
        };
        let padding = width.saturating_sub(digits.len());
        if is_left {
            text.push_str(&digits);
            text.push_str(&" ".repeat(padding));
        } else if is_zero {
            let (sign, rest) = match digits.strip_prefix('-') {
                Some(rest) => ("-", rest),
                None => ("", digits.as_str()),
            };
            text.push_str(sign);
            text.push_str(&"0".repeat(padding));
            text.push_str(rest);
        } else {
            text.push_str(&" ".repeat(padding));
            text.push_str(&digits);
        }
    }
    Ok(text)
}

/// What `{{item}}` and `{{item.key}}` stand for.
fn meanings(item: &Value) -> Vec<(String, String)> {
    let mut meanings = vec![("item".to_owned(), as_text(item))];
    if let Value::Object(map) = item {
        meanings.extend(
            map.iter()
                .map(|(key, value)| (format!("item.{key}"), as_text(value))),
        );
    }
    meanings
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => to_json(other),
    }
}

/// What an item is called in the name of its node.
fn label(item: &Value) -> String {
    let text = match item {
        Value::Object(map) => pairs(map),
        other => as_text(other),
    };
    // Parentheses are what names of items are recognised by.
    text.replace(['(', ')'], "")
}

fn pairs(map: &Map<String, Value>) -> String {
    let mut pairs: Vec<String> = map
        .iter()
        .map(|(key, value)| format!("{key}:{}", as_text(value)))
        .collect();
    pairs.sort();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(step: Value) -> Vec<String> {
        let step: Step = serde_json::from_value(step).unwrap();
        let steps = expand(&step, &Scope::default()).unwrap();
        steps.into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn items_are_part_of_the_name() {
        assert_eq!(
            names(json!({"name": "s", "withItems": ["a (b)", 2, {"b": 1, "a": "x"}, true]})),
            ["s(0:a b)", "s(1:2)", "s(2:a:x,b:1)", "s(3:true)"]
        );
    }

    #[test]
    fn sequences_count_up_and_down() {
        assert_eq!(
            names(json!({"name": "s", "withSequence": {"count": 2}})),
            ["s(0:0)", "s(1:1)"]
        );
        assert_eq!(
            names(json!({"name": "s", "withSequence": {"start": "2", "end": "1"}})),
            ["s(0:2)", "s(1:1)"]
        );
        assert_eq!(
            names(json!({"name": "s", "withSequence": {"count": "1", "start": 10, "format": "u%03X"}})),
            ["s(0:u00A)"]
        );
        assert!(names(json!({"name": "s", "withSequence": {"count": 0}})).is_empty());
    }

    #[test]
    fn items_are_put_in_where_they_are_named() {
        let step: Step = serde_json::from_value(json!({
            "name": "s", "template": "t", "withParam": "[{\"a\": 1}]", "when": "{{item.a}} == 1",
            "arguments": {"parameters": [{"name": "p", "value": "{{item}}"}]},
        }))
        .unwrap();
        let steps = expand(&step, &Scope::default()).unwrap();
        assert_eq!(steps[0].when, "1 == 1");
        assert_eq!(
            steps[0].arguments.parameters[0].value.as_ref().unwrap().0,
            "{\"a\":1}"
        );
        assert!(!steps[0].is_loop());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let step: Step = serde_json::from_value(json!({"name": "s", "withParam": "x"})).unwrap();
        assert_eq!(
            expand(&step, &Scope::default()),
            Err("withParam value could not be parsed as a JSON list: x".to_owned())
        );
    }
}
