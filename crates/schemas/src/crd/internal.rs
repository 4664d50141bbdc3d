//! Errors about a schema or a version show the value as the Go struct the real server holds it in.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::golang;

/// How a field of a Go struct is shown when it is there and when it is not.
#[derive(Clone, Copy)]
enum Shown {
    Text,
    Flag,
    /// As JSON, or null.
    Plain,
    Schema,
    Schemas,
    SchemaMap,
    Rules,
    /// A schema or a list of them.
    Items,
    /// A schema or a truth value.
    Additional,
}

const SCHEMA: [(&str, &str, Shown); 44] = [
    ("ID", "id", Shown::Text),
    ("Schema", "$schema", Shown::Text),
    ("Ref", "$ref", Shown::Plain),
    ("Description", "description", Shown::Text),
    ("Type", "type", Shown::Text),
    ("Nullable", "nullable", Shown::Flag),
    ("Format", "format", Shown::Text),
    ("Title", "title", Shown::Text),
    ("Default", "default", Shown::Plain),
    ("Maximum", "maximum", Shown::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Shown::Flag),
    ("Minimum", "minimum", Shown::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Shown::Flag),
    ("MaxLength", "maxLength", Shown::Plain),
    ("MinLength", "minLength", Shown::Plain),
    ("Pattern", "pattern", Shown::Text),
    ("MaxItems", "maxItems", Shown::Plain),
    ("MinItems", "minItems", Shown::Plain),
    ("UniqueItems", "uniqueItems", Shown::Flag),
    ("MultipleOf", "multipleOf", Shown::Plain),
    ("Enum", "enum", Shown::Plain),
    ("MaxProperties", "maxProperties", Shown::Plain),
    ("MinProperties", "minProperties", Shown::Plain),
    ("Required", "required", Shown::Plain),
    ("Items", "items", Shown::Items),
    ("AllOf", "allOf", Shown::Schemas),
    ("OneOf", "oneOf", Shown::Schemas),
    ("AnyOf", "anyOf", Shown::Schemas),
    ("Not", "not", Shown::Schema),
    ("Properties", "properties", Shown::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Shown::Additional),
    ("PatternProperties", "patternProperties", Shown::SchemaMap),
    ("Dependencies", "dependencies", Shown::Plain),
    ("AdditionalItems", "additionalItems", Shown::Additional),
    ("Definitions", "definitions", Shown::SchemaMap),
    ("ExternalDocs", "externalDocs", Shown::Plain),
    ("Example", "example", Shown::Plain),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Shown::Plain,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Shown::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Shown::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Shown::Plain),
    ("XListType", "x-kubernetes-list-type", Shown::Plain),
    ("XMapType", "x-kubernetes-map-type", Shown::Plain),
    ("XValidations", "x-kubernetes-validations", Shown::Rules),
];

const RULE: [(&str, &str, Shown); 6] = [
    ("Rule", "rule", Shown::Text),
    ("Message", "message", Shown::Text),
    ("MessageExpression", "messageExpression", Shown::Text),
    ("Reason", "reason", Shown::Plain),
    ("FieldPath", "fieldPath", Shown::Text),
    ("OptionalOldSelf", "optionalOldSelf", Shown::Plain),
];

pub(super) fn schema(schema: &Value) -> String {
    structure(schema, &SCHEMA)
}

pub(super) fn rule(rule: &Value) -> String {
    structure(rule, &RULE)
}

fn structure(value: &Value, fields: &[(&str, &str, Shown)]) -> String {
    let mut out = String::from("{");
    for (name, key, how) in fields {
        let separator = if out.len() > 1 { "," } else { "" };
        let _ = write!(out, "{separator}\"{name}\":{}", shown(value.get(key), *how));
    }
    out.push('}');
    out
}

fn shown(value: Option<&Value>, how: Shown) -> String {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return match how {
            Shown::Text => "\"\"",
            Shown::Flag => "false",
            _ => "null",
        }
        .to_owned();
    };
    match (how, value) {
        (Shown::Schema, _) => schema(value),
        (Shown::Schemas, Value::Array(schemas)) => joined(schemas.iter().map(schema)),
        (Shown::Rules, Value::Array(rules)) => joined(rules.iter().map(rule)),
        (Shown::SchemaMap, Value::Object(entries)) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", golang::json(&json!(key)), schema(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        (Shown::Items, Value::Object(_)) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(value)),
        (Shown::Additional, Value::Bool(allows)) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (Shown::Additional, Value::Object(_)) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(value)),
        _ => golang::json(value),
    }
}

fn joined(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The versions of a definition. What all versions share has been moved out of them.
pub(super) fn versions(versions: &[Value], shared: &[&str]) -> String {
    joined(versions.iter().map(|version| {
        let own = |key: &str| version.get(key).filter(|value| !shared.contains(&key) && !value.is_null());
        let schema = own("schema").map_or("null".to_owned(), |value| {
            format!("{{\"OpenAPIV3Schema\":{}}}", shown(value.get("openAPIV3Schema"), Shown::Schema))
        });
        let subresources = own("subresources").map_or("null".to_owned(), subresources);
        let plain = |key: &str| own(key).map_or("null".to_owned(), golang::json);
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\"Subresources\":{subresources},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            shown(version.get("name"), Shown::Text),
            shown(version.get("served"), Shown::Flag),
            shown(version.get("storage"), Shown::Flag),
            shown(version.get("deprecated"), Shown::Flag),
            shown(version.get("deprecationWarning"), Shown::Plain),
            plain("additionalPrinterColumns"),
            plain("selectableFields"),
        )
    }))
}

fn subresources(value: &Value) -> String {
    let status = if value.get("status").is_some_and(|status| !status.is_null()) {
        "{}"
    } else {
        "null"
    };
    let scale = value
        .get("scale")
        .filter(|scale| !scale.is_null())
        .map_or("null".to_owned(), |scale| {
            structure(
                scale,
                &[
                    ("SpecReplicasPath", "specReplicasPath", Shown::Text),
                    ("StatusReplicasPath", "statusReplicasPath", Shown::Text),
                    ("LabelSelectorPath", "labelSelectorPath", Shown::Plain),
                ],
            )
        });
    format!("{{\"Status\":{status},\"Scale\":{scale}}}")
}
