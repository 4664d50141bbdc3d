//! Metadata goes through its Go type in the real server: unknown fields fall away, empty ones are
//! not written back, and a wrong type is an error in the words of Go's JSON decoder.

use manifests::json::go_kind;
use serde_json::{Map, Value};

use super::Meta;

/// What happens to a known field of the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// It is dropped: stored data is read as well as possible.
    Dropped,
    /// It is an error: requests must be right.
    Refused,
}

/// Brings the metadata of a resource into the form the real server writes it in. Paths of unknown
/// fields, below the metadata, are added to `unknown`.
pub(crate) fn decode(
    metadata: &mut Value,
    invalid: Invalid,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let mut decoder = Decoder {
        unknown,
        fields: Vec::new(),
        structure: None,
    };
    if invalid == Invalid::Dropped
        && let Value::Object(entries) = metadata
    {
        entries.retain(|name, value| match super::OBJECT.field(name) {
            Some(meta) => decoder.fits(value, meta),
            None => true,
        });
    }
    decoder.decode(metadata, &super::OBJECT, "")
}

struct Decoder<'a> {
    unknown: &'a mut Vec<String>,
    /// The fields that lead to the current value, and the structure the last of them is in.
    fields: Vec<&'static str>,
    structure: Option<&'static str>,
}

impl Decoder<'_> {
    fn fits(&mut self, value: &Value, meta: &'static Meta) -> bool {
        let mut copy = value.clone();
        let known = self.unknown.len();
        let fits = self.decode(&mut copy, meta, "").is_ok();
        self.unknown.truncate(known);
        self.fields.clear();
        fits
    }

    fn decode(&mut self, value: &mut Value, meta: &'static Meta, path: &str) -> Result<(), String> {
        match (meta, &mut *value) {
            (_, Value::Null)
            | (Meta::Anything, _)
            | (Meta::Text, Value::String(_))
            | (Meta::Flag, Value::Bool(_)) => Ok(()),
            (Meta::Integer, Value::Number(number)) if number.is_i64() => Ok(()),
            (Meta::Time, Value::String(text)) => super::validate::time(text),
            (Meta::Texts, Value::Object(entries)) => self.decode_texts(entries),
            (Meta::List(item, _), Value::Array(items)) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(i, value)| self.decode(value, item, &format!("{path}[{i}]"))),
            (Meta::Struct { name, kept, .. }, Value::Object(entries)) => {
                self.decode_struct(name, meta, entries, path)?;
                entries.retain(|name, value| kept.contains(&name.as_str()) || !is_empty(value));
                Ok(())
            }
            _ => Err(self.complaint(value, meta)),
        }
    }

    fn decode_texts(&mut self, entries: &mut Map<String, Value>) -> Result<(), String> {
        for value in entries.values_mut() {
            match value {
                Value::Null => *value = Value::String(String::new()),
                Value::String(_) => {}
                other => return Err(self.complaint(other, &Meta::Text)),
            }
        }
        Ok(())
    }

    fn decode_struct(
        &mut self,
        name: &'static str,
        meta: &'static Meta,
        entries: &mut Map<String, Value>,
        path: &str,
    ) -> Result<(), String> {
        let Meta::Struct { fields, .. } = meta else {
            return Ok(());
        };
        entries.retain(|entry, _| {
            let known = fields.iter().any(|(field, _)| field == entry);
            if !known {
                self.unknown.push(joined(path, entry));
            }
            known
        });
        for (field, meta) in *fields {
            if let Some(value) = entries.get_mut(*field) {
                let outer = self.structure.replace(name);
                self.fields.push(field);
                self.decode(value, meta, &joined(path, field))?;
                self.fields.pop();
                self.structure = outer;
            }
        }
        Ok(())
    }

    fn complaint(&self, value: &Value, meta: &Meta) -> String {
        if matches!(meta, Meta::Time) {
            return format!(
                "json: cannot unmarshal {} into Go value of type string",
                go_kind(value)
            );
        }
        let place = match self.structure {
            Some(structure) => format!("struct field {structure}.{}", self.fields.join(".")),
            None => "value".to_owned(),
        };
        let number = match value {
            Value::Number(number) if matches!(meta, Meta::Integer) => format!(" {number}"),
            _ => String::new(),
        };
        format!(
            "json: cannot unmarshal {}{number} into Go {place} of type {}",
            go_kind(value),
            go_type(meta)
        )
    }
}

fn joined(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(_) => false,
    }
}

fn go_type(meta: &Meta) -> String {
    match meta {
        Meta::Text | Meta::Time => "string".to_owned(),
        Meta::Flag => "bool".to_owned(),
        Meta::Integer => "int64".to_owned(),
        Meta::Anything => "v1.FieldsV1".to_owned(),
        Meta::Texts => "map[string]string".to_owned(),
        Meta::List(item, _) => format!("[]{}", go_type(item)),
        Meta::Struct { name, .. } => format!("v1.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mut metadata: Value, expected: &Value, unknown: &[&str]) {
        let mut paths = Vec::new();
        decode(&mut metadata, Invalid::Refused, &mut paths).unwrap();
        assert_eq!(metadata, *expected);
        assert_eq!(paths, unknown);
    }

    #[test]
    fn unknown_and_empty_fields_fall_away() {
        check(
            json!({"name": "a", "namespace": "", "foo": 1}),
            &json!({"name": "a"}),
            &["foo"],
        );
        check(
            json!({"ownerReferences": [{"uid": "u", "x": {}, "controller": null}], "labels": {"a": null}}),
            &json!({"ownerReferences": [{"uid": "u"}], "labels": {"a": ""}}),
            &["ownerReferences[0].x"],
        );
    }

    #[test]
    fn wrong_types_are_named_as_go_names_them() {
        let complaint =
            |mut metadata: Value| decode(&mut metadata, Invalid::Refused, &mut Vec::new()).unwrap_err();
        assert_eq!(
            complaint(json!({"labels": {"a": 1}})),
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
        );
        assert_eq!(
            complaint(json!({"ownerReferences": [{"name": 1}]})),
            "json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.name of type string"
        );
        assert_eq!(
            complaint(json!({"finalizers": "a"})),
            "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string"
        );
    }

    #[test]
    fn stored_fields_of_the_wrong_type_are_dropped() {
        let mut metadata = json!({"name": "a", "labels": 1, "generation": "x"});
        decode(&mut metadata, Invalid::Dropped, &mut Vec::new()).unwrap();
        assert_eq!(metadata, json!({"name": "a"}));
    }
}
