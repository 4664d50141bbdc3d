//! What is wrong with a value, in words for people.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use manifests::spelling::nearest;
use serde_json::Value;

/// The rest of a sentence that begins with the value's place, and what may have been meant.
pub(super) fn sentence(kind: &Kind, value: &Value) -> (String, Option<String>) {
    let plain = |text: &str| (text.to_owned(), None);
    match kind {
        Kind::Required { .. } => plain("is required"),
        Kind::Type { kind } => type_sentence(kind, value),
        Kind::Enum { options } => choice(options, value),
        Kind::Constant { expected_value } => (format!("must be {expected_value}"), None),
        Kind::Format { format } if format == super::field::QUANTITY => {
            plain("must be an amount, such as `500m`, `2` or `4Gi`")
        }
        Kind::Format { format } => (format!("must have the format `{format}`"), None),
        Kind::MinLength { limit: 1 } => plain("must not be empty"),
        Kind::MinLength { limit } => (format!("must have at least {limit} characters"), None),
        Kind::MaxLength { limit } => (format!("must have at most {limit} characters"), None),
        Kind::Minimum { limit } => (format!("must be at least {limit}"), None),
        Kind::Maximum { limit } => (format!("must be at most {limit}"), None),
        Kind::ExclusiveMinimum { limit } => (format!("must be greater than {limit}"), None),
        Kind::ExclusiveMaximum { limit } => (format!("must be less than {limit}"), None),
        Kind::MultipleOf { multiple_of } => (format!("must be a multiple of {multiple_of}"), None),
        Kind::MinItems { limit } => (format!("must have at least {limit} items"), None),
        Kind::MaxItems { limit } => (format!("must have at most {limit} items"), None),
        Kind::MinProperties { limit } => (format!("must have at least {limit} entries"), None),
        Kind::MaxProperties { limit } => (format!("must have at most {limit} entries"), None),
        Kind::UniqueItems => plain("has the same item twice"),
        Kind::Pattern { pattern } => (format!("must match the pattern `{pattern}`"), None),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => (
            format!("has entries that are not known: {}", unexpected.join(", ")),
            None,
        ),
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } => plain("has too many items"),
        Kind::Contains => plain("lacks an item that it must have"),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => plain("is none of the forms it may have"),
        Kind::OneOfMultipleValid { .. } => plain("has more than one of the forms it may have"),
        Kind::Not { .. } | Kind::FalseSchema => plain("is not allowed"),
        other => (
            format!("does not keep to `{}` of the schema", other.keyword()),
            None,
        ),
    }
}

fn type_sentence(kind: &TypeKind, value: &Value) -> (String, Option<String>) {
    let wanted: Vec<&str> = match kind {
        TypeKind::Single(kind) => vec![article(kind.as_str())],
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| article(kind.as_str())).collect(),
    };
    let wanted = wanted.join(" or ");
    // What is a number in quotes was meant as one.
    let hint = match value {
        Value::String(text) if text.parse::<f64>().is_ok() && wanted.contains("number") => {
            Some("leave out the quotes".to_owned())
        }
        _ => None,
    };
    (format!("must be {wanted}, not {}", article(name(value))), hint)
}

fn article(kind: &str) -> &'static str {
    match kind {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a mapping",
        _ => "null",
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn choice(options: &Value, value: &Value) -> (String, Option<String>) {
    let texts: Vec<String> = options
        .as_array()
        .into_iter()
        .flatten()
        .map(|option| option.as_str().map_or_else(|| option.to_string(), str::to_owned))
        .collect();
    let meant = value
        .as_str()
        .and_then(|text| nearest(text, texts.iter().map(String::as_str)))
        .map(|near| format!("did you mean `{near}`?"));
    match texts.as_slice() {
        [one] => (format!("must be `{one}`"), meant),
        _ => (format!("must be one of {}", texts.join(", ")), meant),
    }
}
