//! Conditions on fields of an object: `status.succeeded > 0, status.phase in (Done, Ready)`. Pure.

use serde_json::Value;

use crate::Broken;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    path: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(f64),
    Below(f64),
}

impl Condition {
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, Broken> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let requirements = split(text)
            .into_iter()
            .map(|part| requirement(part.trim()).ok_or_else(|| Broken(format!("`{text}` is no condition"))))
            .collect::<Result<_, _>>()?;
        Ok(Some(Self { requirements }))
    }

    /// Whether all of it is so.
    pub(crate) fn holds(&self, object: &Value) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.test.holds(find(object, &requirement.path)))
    }
}

impl Test {
    fn holds(&self, value: Option<&Value>) -> bool {
        let text = value.map(text);
        let number = || text.as_deref().and_then(|text| text.parse::<f64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::In(values) => text.is_some_and(|text| values.contains(&text)),
            Self::NotIn(values) => text.is_none_or(|text| !values.contains(&text)),
            Self::Above(limit) => number().is_some_and(|number| number > *limit),
            Self::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// At commas that are not inside of brackets or quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0i32, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' | '[' if !is_quoted => depth += 1,
            ')' | ']' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn requirement(text: &str) -> Option<Requirement> {
    let made = |path: &str, test: Test| {
        let path = path.trim();
        (!path.is_empty()).then(|| Requirement {
            path: path.to_owned(),
            test,
        })
    };
    let list = |text: &str| -> Option<Vec<String>> {
        let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|value| value.trim().to_owned()).collect())
    };
    if let Some((path, values)) = outside(text, " notin ") {
        return made(path, Test::NotIn(list(values)?));
    }
    if let Some((path, values)) = outside(text, " in ") {
        return made(path, Test::In(list(values)?));
    }
    if let Some((path, value)) = outside(text, "!=") {
        return made(path, Test::NotIn(vec![unquoted(value)]));
    }
    if let Some((path, value)) = outside(text, "==").or_else(|| outside(text, "=")) {
        return made(path, Test::In(vec![unquoted(value)]));
    }
    if let Some((path, value)) = outside(text, ">") {
        return made(path, Test::Above(value.trim().parse().ok()?));
    }
    if let Some((path, value)) = outside(text, "<") {
        return made(path, Test::Below(value.trim().parse().ok()?));
    }
    match text.strip_prefix('!') {
        Some(path) => made(path, Test::Missing),
        None if text.contains(char::is_whitespace) => None,
        None => made(text, Test::Exists),
    }
}

/// What is before and after a word that stands outside of brackets.
fn outside<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let mut depth = 0i32;
    for (at, letter) in text.char_indices() {
        match letter {
            '#' | '(' | '[' if letter != '#' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && text.get(at..).is_some_and(|rest| rest.starts_with(word)) {
            return Some((text.get(..at)?, text.get(at + word.len()..)?));
        }
    }
    None
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches('"').to_owned()
}

/// What a path with dots leads to; `#(key=="value")` picks an item of a list, a number one by its place.
fn find<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let (first, rest) = first_part(path);
    let found = if let Some(filter) = first.strip_prefix("#(").and_then(|rest| rest.strip_suffix(')')) {
        let (key, wanted) = filter.split_once("==").or_else(|| filter.split_once('='))?;
        let (key, wanted) = (key.trim(), unquoted(wanted));
        let mut items = value.as_array()?.iter();
        items.find(|item| find(item, key).map(text).as_deref() == Some(wanted.as_str()))?
    } else {
        match value {
            Value::Array(items) => items.get(first.parse::<usize>().ok()?)?,
            value => value.get(first)?,
        }
    };
    match rest {
        Some(rest) => find(found, rest),
        None => Some(found),
    }
}

fn first_part(path: &str) -> (&str, Option<&str>) {
    let mut depth = 0i32;
    for (at, letter) in path.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '.' if depth == 0 => {
                return (path.get(..at).unwrap_or_default(), path.get(at + 1..));
            }
            _ => {}
        }
    }
    (path, None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_asked_of_fields() {
        let object = json!({
            "status": {"succeeded": 2, "phase": "Done", "ok": true,
                "conditions": [{"type": "Ready", "status": "False"}, {"type": "Complete", "status": "True"}]},
        });
        for (text, expected) in [
            ("status.succeeded > 1", true),
            ("status.succeeded > 1, status.phase == Done", true),
            ("status.succeeded < 1", false),
            ("status.failed > 3", false),
            ("status.phase in (Ready, Done)", true),
            ("status.phase notin (Done)", false),
            ("status.phase != Done", false),
            ("status.missing != Done", true),
            ("status.ok = true", true),
            ("status.phase", true),
            ("!status.phase", false),
            ("status.conditions.#(type==\"Complete\").status == True", true),
            ("status.conditions.0.type == Ready", true),
        ] {
            let condition = Condition::parse(text).unwrap().unwrap();
            assert_eq!(condition.holds(&object), expected, "{text}");
        }
        assert!(Condition::parse("  ").unwrap().is_none());
        assert!(Condition::parse("status.x > many").is_err());
        assert!(Condition::parse("no condition").is_err());
    }
}
