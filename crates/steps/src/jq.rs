//! The part of jq that picks a field: `.status.conditions[0].type`, `.metadata["name"]`. Pure.

use serde_json::Value;

use crate::Broken;

/// What a filter picks, as jq prints it without quotes.
pub(crate) fn pick(filter: &str, object: &Value) -> Result<String, Broken> {
    let unknown = || {
        Broken(format!(
            "jqFilter `{filter}`: only paths such as `.status.conditions[0].type` are known; use jsonPath for others"
        ))
    };
    let mut rest = filter.trim();
    if !rest.starts_with('.') {
        return Err(unknown());
    }
    let mut found = object;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix(".[").or_else(|| rest.strip_prefix('[')) {
            let (key, after) = inner.split_once(']').ok_or_else(unknown)?;
            found = match key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
                Some(key) => &found[key],
                None => found
                    .get(key.parse::<usize>().map_err(|_| unknown())?)
                    .unwrap_or(&Value::Null),
            };
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('.').ok_or_else(unknown)?;
        let end = name
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(name.len());
        let (key, after) = name.split_at(end);
        if key.is_empty() && !after.is_empty() {
            return Err(unknown());
        }
        if !key.is_empty() {
            found = found.get(key).unwrap_or(&Value::Null);
        }
        rest = after;
    }
    Ok(match found {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_picked_and_the_rest_is_refused() {
        let object = json!({"a": {"b-c": [{"d": "x"}, 7]}});
        assert_eq!(pick(".a[\"b-c\"][0].d", &object).unwrap(), "x");
        assert_eq!(pick(".a.[\"b-c\"][1]", &object).unwrap(), "7");
        assert_eq!(pick(".a.none", &object).unwrap(), "null");
        assert_eq!(pick(".", &json!("t")).unwrap(), "t");
        assert!(pick(".a | keys", &object).is_err());
        assert!(pick(".a[]", &object).is_err());
    }
}
