//! Custom kinds in OpenAPI documents: their schema and that of their lists, in the third version of
//! the format as they are, in the second as far as it and old clients go.

use serde_json::{Map, Value, json};

use crate::crd::{CustomKind, CustomVersion};

const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// The fields of a schema that are published. Examples and external documentation are not.
const PUBLISHED: [&str; 35] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// The version of the document format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    V2,
    V3,
}

/// The name of a schema: the group backwards, the version and the kind.
pub fn schema_name(group: &str, version: &str, kind: &str) -> String {
    let backwards: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{version}.{kind}", backwards.join("."))
}

/// The schemas of a version of a kind and of its list, by their names.
pub fn schemas(kind: &CustomKind, version: &CustomVersion, format: Format) -> [(String, Value); 2] {
    let name = |kind_name: &str| schema_name(&kind.group, &version.name, kind_name);
    let item = name(&kind.kind);
    let list = list_schema(kind, version, &item, format);
    [
        (item, object_schema(kind, version, format)),
        (name(&kind.list_kind), list),
    ]
}

fn object_schema(kind: &CustomKind, version: &CustomVersion, format: Format) -> Value {
    let written = version.openapi();
    let opaque = !written.is_object() || (format == Format::V2 && flag(&written, PRESERVE));
    let mut schema = if opaque {
        // Clients would take any property named here for all there are.
        Map::from_iter([("type".to_owned(), json!("object"))])
    } else {
        let mut schema = published(&written, format);
        let mut properties = take_properties(&mut schema);
        properties.insert(
            "metadata".to_owned(),
            metadata("ObjectMeta", "Standard object's metadata. ", "metadata", format),
        );
        add_type_fields(&mut properties);
        schema.insert("properties".to_owned(), Value::Object(properties));
        schema
    };
    add_identity(&mut schema, kind, version, &kind.kind);
    Value::Object(schema)
}

fn list_schema(kind: &CustomKind, version: &CustomVersion, item: &str, format: Format) -> Value {
    let mut properties = Map::new();
    let description = format!("List of {}. More info: {CONVENTIONS}", kind.plural);
    let items = json!({"$ref": format!("{}{item}", prefix(format))});
    properties.insert(
        "items".to_owned(),
        json!({"description": description, "type": "array", "items": items}),
    );
    properties.insert(
        "metadata".to_owned(),
        metadata("ListMeta", "Standard list metadata. ", "types-kinds", format),
    );
    add_type_fields(&mut properties);
    let mut schema = Map::new();
    schema.insert(
        "description".to_owned(),
        json!(format!("{} is a list of {}", kind.list_kind, kind.kind)),
    );
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("required".to_owned(), json!(["items"]));
    schema.insert("properties".to_owned(), Value::Object(properties));
    add_identity(&mut schema, kind, version, &kind.list_kind);
    Value::Object(schema)
}

fn add_identity(schema: &mut Map<String, Value>, kind: &CustomKind, version: &CustomVersion, name: &str) {
    let identity = json!([{"group": kind.group, "version": version.name, "kind": name}]);
    schema.insert("x-kubernetes-group-version-kind".to_owned(), identity);
    if !version.selectable_fields.is_empty() {
        let fields: Value = version
            .selectable_fields
            .iter()
            .map(|field| json!({"fieldPath": field.name}))
            .collect();
        schema.insert("x-kubernetes-selectable-fields".to_owned(), fields);
    }
}

fn prefix(format: Format) -> &'static str {
    match format {
        Format::V2 => "#/definitions/",
        Format::V3 => "#/components/schemas/",
    }
}

/// A reference to common metadata; the third version has no room for a description beside one.
fn metadata(kind: &str, about: &str, anchor: &str, format: Format) -> Value {
    let target = format!("{}io.k8s.apimachinery.pkg.apis.meta.v1.{kind}", prefix(format));
    let description = format!("{about}More info: {CONVENTIONS}#{anchor}");
    match format {
        Format::V2 => json!({"description": description, "$ref": target}),
        Format::V3 => json!({"description": description, "allOf": [{"$ref": target}]}),
    }
}

fn add_type_fields(properties: &mut Map<String, Value>) {
    let fields = [
        (
            "apiVersion",
            "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values.",
            "resources",
        ),
        (
            "kind",
            "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase.",
            "types-kinds",
        ),
    ];
    for (field, about, anchor) in fields {
        let description = format!("{about} More info: {CONVENTIONS}#{anchor}");
        properties.insert(
            field.to_owned(),
            json!({"description": description, "type": "string"}),
        );
    }
}

fn flag(schema: &Value, field: &str) -> bool {
    schema.get(field).and_then(Value::as_bool).unwrap_or_default()
}

fn take_properties(schema: &mut Map<String, Value>) -> Map<String, Value> {
    match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// A schema as it is published.
fn published(schema: &Value, format: Format) -> Map<String, Value> {
    let mut out = Map::new();
    for field in PUBLISHED {
        let Some(value) = schema.get(field).filter(|value| !is_unset(field, value)) else {
            continue;
        };
        let below = |schema: &Value| Value::Object(published(schema, format));
        let value = match (field, value) {
            ("items" | "not" | "additionalProperties", Value::Object(_)) => below(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter().map(below).collect(),
            ("properties", Value::Object(properties)) => {
                let properties = properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), below(schema)));
                Value::Object(properties.collect())
            }
            _ => value.clone(),
        };
        out.insert(field.to_owned(), value);
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        add_alternatives(&mut out);
    }
    if format == Format::V2 {
        reduce(&mut out, schema);
    }
    if flag(schema, EMBEDDED) && !(format == Format::V2 && flag(schema, PRESERVE)) {
        add_resource_fields(&mut out, format);
    }
    out
}

fn is_unset(field: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(false) => field != "additionalProperties",
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty() && field != "enum",
        Value::Object(entries) => field == "properties" && entries.is_empty(),
        _ => false,
    }
}

/// An integer or a string, said in the format's own words.
fn add_alternatives(schema: &mut Map<String, Value>) {
    let both = json!([{"type": "integer"}, {"type": "string"}]);
    let first_of_all = schema
        .get("allOf")
        .and_then(|all| all.get(0))
        .and_then(|first| first.get("anyOf"));
    if schema.get("anyOf") == Some(&both) || first_of_all == Some(&both) {
        return;
    }
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf".to_owned(), both);
        return;
    }
    let mut all = vec![json!({"anyOf": both})];
    if let Some(Value::Array(rest)) = schema.remove("allOf") {
        all.extend(rest);
    }
    schema.insert("allOf".to_owned(), Value::Array(all));
}

/// Leaves out what the second version of the format or its old clients do not understand.
fn reduce(out: &mut Map<String, Value>, schema: &Value) {
    for field in ["allOf", "anyOf", "oneOf", "not", "default", "nullable"] {
        out.remove(field);
    }
    if flag(schema, "nullable") {
        out.remove("type");
    }
    if flag(schema, "nullable") || flag(schema, PRESERVE) {
        out.remove("items");
        out.remove("properties");
    }
    let is = |out: &Map<String, Value>, kind: &str| out.get("type").is_some_and(|value| value == kind);
    if (is(out, "array") && !out.contains_key("items")) || (is(out, "object") && flag(schema, PRESERVE)) {
        out.remove("type");
    }
    let nullable = |name: &str| {
        schema
            .get("properties")
            .and_then(|all| all.get(name))
            .is_some_and(|s| flag(s, "nullable"))
    };
    if let Some(Value::Array(required)) = out.get_mut("required") {
        let specified = schema
            .get("properties")
            .as_ref()
            .is_some_and(|_| out_has_properties(schema));
        required.retain(|name| !(specified && name.as_str().is_some_and(nullable)));
        if required.is_empty() {
            out.remove("required");
        }
    }
    if schema
        .get("additionalProperties")
        .is_some_and(|additional| flag(additional, "nullable"))
    {
        out.remove("required");
    }
}

fn out_has_properties(schema: &Value) -> bool {
    !flag(schema, "nullable") && !flag(schema, PRESERVE)
}

/// Embedded resources have a type and metadata like all resources.
fn add_resource_fields(schema: &mut Map<String, Value>, format: Format) {
    let mut properties = take_properties(schema);
    let fields = [
        (
            "apiVersion",
            "apiVersion defines the versioned schema of this representation of an object.",
            "resources",
        ),
        (
            "kind",
            "kind is a string value representing the type of this object. In CamelCase.",
            "types-kinds",
        ),
    ];
    for (field, about, anchor) in fields {
        let description = format!("{about} More info: {CONVENTIONS}#{anchor}");
        properties.insert(
            field.to_owned(),
            json!({"description": description, "type": "string"}),
        );
    }
    properties.insert(
        "metadata".to_owned(),
        metadata("ObjectMeta", "Standard object's metadata. ", "metadata", format),
    );
    schema.insert("properties".to_owned(), Value::Object(properties));
    let required = schema.entry("required").or_insert_with(|| json!([]));
    for field in ["kind", "apiVersion"] {
        if let Some(required) = required
            .as_array_mut()
            .filter(|required| !required.iter().any(|name| name == field))
        {
            required.push(json!(field));
        }
    }
}
