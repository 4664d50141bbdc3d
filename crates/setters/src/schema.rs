//! Whether the value of a setter fits its OpenAPI schema, in the words of the validator kustomize uses.

use regex::Regex;
use serde_json::Value;

use crate::definitions::Setter;

/// Says what is wrong with the value of a setter.
pub(crate) fn check(setter: &Setter) -> Result<(), String> {
    let schema = &setter.schema;
    let value = if setter.list_values.is_empty() {
        read(&setter.value, types(schema).contains(&"string"))?
    } else {
        let are_strings = types(&schema["items"]).contains(&"string");
        let items = setter.list_values.iter().map(|value| read(value, are_strings));
        Value::Array(items.collect::<Result<_, _>>()?)
    };
    let mut problems = Vec::new();
    validate(&setter.name, &value, schema, &mut problems);
    if problems.is_empty() {
        return Ok(());
    }
    let list = problems.join("\n");
    Err(format!(
        "The input value doesn't validate against provided OpenAPI schema: validation failure list:\n{list}\n"
    ))
}

/// The types a schema allows; the names old definitions used are understood.
fn types(schema: &Value) -> Vec<&str> {
    let named = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    };
    let known = named.into_iter().map(|name| match name {
        "int" => "integer",
        "bool" => "boolean",
        name => name,
    });
    known.collect()
}

/// The one type a schema has, if it is one of a scalar.
pub(crate) fn scalar_type(schema: &Value) -> Option<&str> {
    match types(schema).as_slice() {
        [name] => Some(*name),
        _ => None,
    }
}

pub(crate) fn has_type(schema: &Value) -> bool {
    !types(schema).is_empty()
}

/// A value as YAML 1.2 reads it, where `yes` is a text.
fn read(value: &str, is_string: bool) -> Result<Value, String> {
    if is_string || is_old_boolean(value) || is_beyond_json(value) {
        return Ok(Value::String(value.to_owned()));
    }
    let text = format!("value: {value}");
    let parsed = manifests::yaml::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(parsed.value["value"].clone())
}

fn is_old_boolean(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off"
    )
}

/// Numbers that JSON, in which values are compared, does not have.
fn is_beyond_json(value: &str) -> bool {
    let number = value.trim_start_matches(['+', '-']).to_ascii_lowercase();
    matches!(number.as_str(), ".inf" | ".nan")
}

fn validate(name: &str, value: &Value, schema: &Value, problems: &mut Vec<String>) {
    let types = types(schema);
    let actual = type_of(value);
    let fits = types.is_empty()
        || types.contains(&actual)
        || (actual == "integer" && types.contains(&"number"))
        || (actual == "null" && schema["nullable"] == true);
    if !fits {
        problems.push(format!(
            "{name} in body must be of type {}: {actual:?}",
            types.join(",")
        ));
        return;
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.iter().any(|one| is_equal(one, value))
    {
        let allowed: Vec<String> = allowed.iter().map(go_text).collect();
        problems.push(format!("{name} in body should be one of [{}]", allowed.join(" ")));
    }
    match value {
        Value::String(text) => validate_text(name, text, schema, problems),
        Value::Number(number) => {
            validate_number(name, number.as_f64().unwrap_or_default(), schema, problems);
        }
        Value::Array(items) => validate_list(name, items, schema, problems),
        _ => {}
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(number) if number.fract() == 0.0 => "integer",
            _ => "number",
        },
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| other.as_f64() == Some(number))
}

/// A value as Go prints it.
fn go_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn validate_text(name: &str, text: &str, schema: &Value, problems: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    if let Some(most) = schema["maxLength"].as_u64()
        && length > most
    {
        problems.push(format!("{name} in body should be at most {most} chars long"));
    }
    if let Some(least) = schema["minLength"].as_u64()
        && length < least
    {
        problems.push(format!("{name} in body should be at least {least} chars long"));
    }
    if let Some(pattern) = schema["pattern"].as_str().filter(|pattern| !pattern.is_empty()) {
        let matches = Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
        if !matches {
            problems.push(format!("{name} in body should match '{pattern}'"));
        }
    }
}

fn validate_number(name: &str, number: f64, schema: &Value, problems: &mut Vec<String>) {
    if let Some(most) = schema["maximum"].as_f64() {
        match schema["exclusiveMaximum"] == true {
            true if number >= most => problems.push(format!("{name} in body should be less than {most}")),
            false if number > most => {
                problems.push(format!("{name} in body should be less than or equal to {most}"));
            }
            _ => {}
        }
    }
    if let Some(least) = schema["minimum"].as_f64() {
        match schema["exclusiveMinimum"] == true {
            true if number <= least => {
                problems.push(format!("{name} in body should be greater than {least}"));
            }
            false if number < least => {
                problems.push(format!(
                    "{name} in body should be greater than or equal to {least}"
                ));
            }
            _ => {}
        }
    }
    if let Some(factor) = schema["multipleOf"].as_f64().filter(|factor| *factor > 0.0)
        && (number / factor).fract() != 0.0
    {
        problems.push(format!("{name} in body should be a multiple of {factor}"));
    }
}

fn validate_list(name: &str, items: &[Value], schema: &Value, problems: &mut Vec<String>) {
    let length = items.len() as u64;
    for (index, item) in items.iter().enumerate() {
        validate(&format!("{name}.{index}"), item, &schema["items"], problems);
    }
    if let Some(least) = schema["minItems"].as_u64()
        && length < least
    {
        problems.push(format!("{name} in body should have at least {least} items"));
    }
    if let Some(most) = schema["maxItems"].as_u64()
        && length > most
    {
        problems.push(format!("{name} in body should have at most {most} items"));
    }
    let repeats = |index: usize, item: &Value| items[..index].contains(item);
    if schema["uniqueItems"] == true && items.iter().enumerate().any(|(index, item)| repeats(index, item)) {
        problems.push(format!("{name} in body shouldn't contain duplicates"));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn problem(value: &str, schema: Value) -> String {
        let setter = Setter {
            name: "x".to_owned(),
            value: value.to_owned(),
            list_values: Vec::new(),
            enum_values: BTreeMap::new(),
            schema,
        };
        let problem = check(&setter).err().unwrap_or_default();
        problem.lines().nth(1).unwrap_or_default().to_owned()
    }

    #[test]
    fn values_are_held_against_their_schema() {
        let of_type = |name: &str| json!({ "type": name });
        assert_eq!(
            problem("four", of_type("integer")),
            "x in body must be of type integer: \"string\""
        );
        assert_eq!(
            problem("yes", of_type("bool")),
            "x in body must be of type boolean: \"string\""
        );
        assert_eq!(problem("4", of_type("int")), "");
        assert_eq!(problem("4", of_type("number")), "");
        assert_eq!(problem("4", of_type("string")), "");
        assert_eq!(
            problem("abc", json!({"maxLength": 2})),
            "x in body should be at most 2 chars long"
        );
        assert_eq!(
            problem("11", json!({"maximum": 10})),
            "x in body should be less than or equal to 10"
        );
        assert_eq!(
            problem("c", json!({"enum": ["a", "b"]})),
            "x in body should be one of [a b]"
        );
        assert_eq!(
            problem("c", json!({"pattern": "^[ab]$"})),
            "x in body should match '^[ab]$'"
        );
    }
}
