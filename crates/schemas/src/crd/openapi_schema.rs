//! The schema of a version: what OpenAPI allows and definitions do not, lists and their keys, and
//! the rules.

mod lists;
mod rules;

use manifests::field::{ErrorKind, FieldError, Path};
use serde_json::{Value, json};

pub(super) use self::lists::{has_granular_set, map_key_errors};
use self::{
    lists::validate_extensions,
    rules::{Costs, multiplied, validate_rule_fields},
};
use super::{
    defaults, internal,
    props::{at, default, entries, flag, list, object, text},
    structure,
    validate::Options,
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// Fields that may stand at the root next to a status that is written on its own.
const ROOT_FIELDS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Validates what is in `schema:` of a version.
pub(super) fn validate(
    validation: &Value,
    has_status: bool,
    options: &Options<'_>,
    unchanged: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = object(validation, "openAPIV3Schema") else {
        return;
    };
    let path = path.child("openAPIV3Schema");
    if has_status {
        validate_root_fields(schema, &path, errors);
    }
    if flag(schema, "nullable") {
        errors.push(FieldError::forbidden(
            &path.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let mut rules_checked = false;
    if options.structural {
        let mut found = structure::validate(schema, &path);
        if found.is_empty() && structure::unsupported(schema).is_none() {
            found = defaults::validate(schema, options.pruned_defaults, &path);
            rules_checked = found.is_empty();
        }
        errors.append(&mut found);
    }
    let mut walk = Walk {
        options,
        limit_rules: !unchanged,
        costs: Costs::default(),
    };
    let place = Place {
        defaults: Ok(()),
        in_meta: false,
        uncorrelatable: None,
        is_root: true,
        cardinality: Some(1),
        rules: rules_checked,
    };
    let found = walk.schema(schema, &place, &path);
    errors.extend(found.schema);
    errors.extend(found.rules);
    walk.costs.validate(&path, errors);
}

fn validate_root_fields(schema: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(&path.child("type"), &json!(kind), detail));
        return;
    }
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "";
    let allowed = |name: &str| ROOT_FIELDS.iter().any(|(allowed, _)| *allowed == name);
    let fields = schema.as_object().into_iter().flatten();
    if fields
        .into_iter()
        .any(|(name, value)| is_set(value) && !allowed(name))
    {
        let names: Vec<&str> = ROOT_FIELDS.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.push(shown_as(path, internal::schema(schema), detail));
    }
}

fn shown_as(path: &Path, value: String, detail: impl Into<String>) -> FieldError {
    FieldError {
        kind: ErrorKind::Invalid,
        field: path.as_str().to_owned(),
        value,
        detail: detail.into(),
    }
}

/// What the places above say about a place.
#[derive(Clone)]
struct Place {
    /// Whether a default may be set; if not, why.
    defaults: Result<(), String>,
    in_meta: bool,
    /// The place above whose items cannot be found again in the old object.
    uncorrelatable: Option<Path>,
    is_root: bool,
    /// How often a value of this place can be in an object; `None` without a bound.
    cardinality: Option<u64>,
    /// Whether rules are compiled here.
    rules: bool,
}

/// Errors of rules come after all others.
#[derive(Default)]
struct Found {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

impl Found {
    fn add(&mut self, mut other: Self) {
        self.schema.append(&mut other.schema);
        self.rules.append(&mut other.rules);
    }
}

struct Walk<'a> {
    options: &'a Options<'a>,
    limit_rules: bool,
    costs: Costs,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, place: &Place, path: &Path) -> Found {
        let mut found = Found::default();
        self.unsupported(schema, place, path, &mut found.schema);
        self.below(schema, place, path, &mut found);
        validate_extensions(schema, self.options, path, &mut found.schema);
        let rules = list(schema, "x-kubernetes-validations");
        for (i, rule) in rules.iter().enumerate() {
            validate_rule_fields(
                rule,
                schema,
                &path.child("x-kubernetes-validations").index(i),
                &mut found.schema,
            );
        }
        if !rules.is_empty() && found.schema.is_empty() && place.rules {
            self.rules(schema, place, path, &mut found.rules);
        }
        found
    }

    fn unsupported(&self, schema: &Value, place: &Place, path: &Path, errors: &mut Vec<FieldError>) {
        let kind = text(schema, "type");
        if self.options.valid_types && has_unknown_type(schema) {
            errors.push(FieldError::not_supported(
                &path.child("type"),
                &json!(kind),
                &TYPES,
            ));
        }
        if let (Some(_), Err(reason)) = (default(schema), &place.defaults) {
            let reason = if reason.is_empty() {
                String::new()
            } else {
                format!(" {reason}")
            };
            errors.push(FieldError::forbidden(
                &path.child("default"),
                format!("must not be set{reason}"),
            ));
        }
        for field in [
            "id",
            "additionalItems",
            "patternProperties",
            "definitions",
            "dependencies",
            "$ref",
        ] {
            let set = match at(schema, &[field]) {
                Value::Null => false,
                Value::String(text) => field == "$ref" || !text.is_empty(),
                Value::Object(entries) => {
                    field == "additionalItems" || field == "dependencies" || !entries.is_empty()
                }
                _ => true,
            };
            if set {
                errors.push(FieldError::forbidden(
                    &path.child(field),
                    format!("{field} is not supported"),
                ));
            }
        }
        if kind == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            errors.push(FieldError::forbidden(&path.child("type"), detail));
        }
        if at(schema, &["items"]).is_array() {
            let detail = "items must be a schema object and not an array";
            errors.push(FieldError::forbidden(&path.child("items"), detail));
        }
        if place.in_meta && flag(schema, "x-kubernetes-embedded-resource") {
            let detail = "must not be used inside of resource meta";
            errors.push(FieldError::forbidden(
                &path.child("x-kubernetes-embedded-resource"),
                detail,
            ));
        }
        if flag(schema, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.push(FieldError::forbidden(&path.child("uniqueItems"), detail));
        }
    }

    /// The schemas within the schema.
    fn below(&mut self, schema: &Value, place: &Place, path: &Path, found: &mut Found) {
        let inner = Place {
            is_root: false,
            cardinality: multiplied(place.cardinality, schema),
            ..place.clone()
        };
        let additional = at(schema, &["additionalProperties"]);
        if !additional.is_null() {
            let path = path.child("additionalProperties");
            if entries(schema, "properties").next().is_some() && additional != &Value::Bool(true) {
                let detail = "additionalProperties and properties are mutual exclusive";
                found.schema.push(FieldError::forbidden(&path, detail));
            }
            if additional.is_object() {
                let mut inner = inner.clone();
                if place.in_meta {
                    inner.defaults =
                        Err("inside additionalProperties applying to object metadata".to_owned());
                }
                found.add(self.schema(additional, &inner, &path));
            }
        }
        for (name, property) in entries(schema, "properties") {
            let mut inner = inner.clone();
            let is_meta = matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
            if is_meta && (place.is_root || flag(schema, "x-kubernetes-embedded-resource")) {
                inner.in_meta = true;
                if place.is_root {
                    inner.defaults = Err(format!("in top-level {name}"));
                }
            }
            found.add(self.schema(property, &inner, &path.child("properties").key(name)));
        }
        let alternative = Place {
            rules: false,
            ..inner.clone()
        };
        if let Some(not) = object(schema, "not") {
            found.add(self.schema(not, &alternative, &path.child("not")));
        }
        for junctor in ["allOf", "oneOf", "anyOf"] {
            for (i, nested) in list(schema, junctor).iter().enumerate() {
                found.add(self.schema(nested, &alternative, &path.child(junctor).index(i)));
            }
        }
        if let Some(items) = object(schema, "items") {
            let mut inner = inner.clone();
            if text(schema, "x-kubernetes-list-type") != "map" && inner.uncorrelatable.is_none() {
                inner.uncorrelatable = Some(path.clone());
            }
            found.add(self.schema(items, &inner, &path.child("items")));
        }
    }
}

pub(super) fn has_unknown_type(schema: &Value) -> bool {
    let kind = text(schema, "type");
    !kind.is_empty() && !TYPES.contains(&kind)
}
