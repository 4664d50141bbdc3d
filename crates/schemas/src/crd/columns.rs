//! Printer columns, and the paths of the scale subresource.

use manifests::{
    field::{FieldError, Path},
    json_path::JsonPath,
};
use serde_json::{Value, json};

use super::props::{at, list, text};
use crate::golang;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

pub(super) fn validate(column: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    let kind = text(column, "type");
    let one_of = |choices: &[&str]| format!("must be one of {}", choices.join(","));
    if kind.is_empty() {
        errors.push(FieldError::required(&path.child("type"), one_of(&TYPES)));
    } else if !TYPES.contains(&kind) {
        errors.push(FieldError::invalid(
            &path.child("type"),
            &json!(kind),
            one_of(&TYPES),
        ));
    }
    let format = text(column, "format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        errors.push(FieldError::invalid(
            &path.child("format"),
            &json!(format),
            one_of(&FORMATS),
        ));
    }
    let json_path = text(column, "jsonPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(&path.child("JSONPath"), ""));
    } else {
        validate_path(json_path, &path.child("JSONPath"), errors);
    }
}

fn validate_path(json_path: &str, path: &Path, errors: &mut Vec<FieldError>) -> bool {
    let simple = json_path.starts_with('.');
    if !simple {
        errors.push(FieldError::invalid(
            path,
            &json!(json_path),
            "must be a simple json path starting with .",
        ));
    }
    simple
}

pub(super) fn validate_subresources(subresources: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let scale = at(subresources, &["scale"]);
    if scale.is_null() {
        return;
    }
    let fields = [
        (
            "specReplicasPath",
            &[".spec."][..],
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            &[".status."],
            "should be a json path under .status",
        ),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ];
    for (field, roots, detail) in fields {
        let path = path.child("scale").child(field);
        let json_path = text(scale, field);
        if json_path.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(FieldError::required(&path, ""));
            }
        } else if validate_path(json_path, &path, errors)
            && !roots.iter().any(|root| json_path.starts_with(root))
        {
            errors.push(FieldError::invalid(&path, &json!(json_path), detail));
        }
    }
}

/// The columns of a table of a custom kind, after the name.
#[derive(Debug)]
pub struct Columns(Vec<Column>);

#[derive(Debug)]
pub struct Column {
    /// What a table says about the column: name, type, format, description, priority.
    pub definition: Value,
    kind: String,
    /// `None` for a path nobody can read; its cells are empty.
    path: Option<JsonPath>,
}

impl Columns {
    /// The columns of a version; its age when there are none.
    pub(super) fn of(version: &Value) -> Self {
        let columns = list(version, "additionalPrinterColumns");
        if columns.is_empty() {
            let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
                "description": "When the object was created."});
            return Self(vec![Column::of(&age)]);
        }
        Self(columns.iter().map(Column::of).collect())
    }

    /// The definitions of the columns after the name.
    pub fn definitions(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|column| &column.definition)
    }

    /// The cells of an object after its name. `age` says how long ago a timestamp was; it gets the
    /// text of the timestamp and answers `None` when that is none.
    pub fn cells(&self, object: &Value, age: impl Fn(&str) -> Option<String>) -> Vec<Value> {
        self.0.iter().map(|column| column.cell(object, &age)).collect()
    }
}

impl Column {
    fn of(column: &Value) -> Self {
        let (json_path, kind) = (text(column, "jsonPath"), text(column, "type"));
        let description = match text(column, "description") {
            "" => format!("Custom resource definition column (in JSONPath format): {json_path}"),
            description => description.to_owned(),
        };
        let definition = json!({
            "name": text(column, "name"),
            "type": kind,
            "format": text(column, "format"),
            "description": description,
            "priority": column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
        });
        Self {
            definition,
            kind: kind.to_owned(),
            path: JsonPath::parse(json_path).ok(),
        }
    }

    fn cell(&self, object: &Value, age: &impl Fn(&str) -> Option<String>) -> Value {
        let found = self
            .path
            .as_ref()
            .map(|path| path.find(object))
            .unwrap_or_default();
        let Some(value) = found.first() else {
            return Value::Null;
        };
        match (self.kind.as_str(), *value) {
            ("string", value) => Value::from(printed(value)),
            ("integer", Value::Number(number)) => match number.as_i64() {
                Some(integer) => Value::from(integer),
                None => Value::from(number.as_f64().unwrap_or_default() as i64),
            },
            ("number", Value::Number(number)) => json!(number.as_f64()),
            ("boolean", Value::Bool(flag)) => Value::Bool(*flag),
            ("date", Value::String(text)) => Value::from(age(text).unwrap_or_else(|| "<invalid>".to_owned())),
            _ => Value::Null,
        }
    }
}

/// A value as a column of type string shows it.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => golang::plain(number),
        other => golang::json(other),
    }
}
