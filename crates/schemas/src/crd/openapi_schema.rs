//! The schema of a version: what OpenAPI allows and definitions do not, lists and their keys, and
//! the rules.

use std::sync::Arc;

use manifests::field::{ErrorKind, FieldError, Path};
use serde_json::{Value, json};

use super::{
    defaults, internal,
    props::{at, default, entries, flag, list, object, text, texts},
    structure,
    validate::Options,
};
use crate::{
    cel::{
        declared::Declared,
        rules::{CompiledRule, Source, compile_rule, field_path},
    },
    structural::{Structural, compile_pattern},
};

/// What one rule and what all rules of a schema may cost by estimate.
const RULE_LIMIT: u64 = 10_000_000;
const SCHEMA_LIMIT: u64 = 100_000_000;
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

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

    /// Compiles the rules of one place.
    fn rules(&mut self, schema: &Value, place: &Place, path: &Path, errors: &mut Vec<FieldError>) {
        let structural = Structural::without_rules(schema);
        let is_resource = place.is_root || structural.embedded_resource;
        let Some(declared) = Declared::of(&structural, is_resource, "selfType") else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            errors.push(FieldError::internal(
                &path.child("x-kubernetes-validations"),
                detail,
            ));
            return;
        };
        for (i, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
            let path = path.child("x-kubernetes-validations").index(i);
            let compiled = compile_rule(&Source::of(rule), Some(&declared), &structural);
            self.check_costs(&compiled, &declared, place, &path, errors);
            check_compiled(&compiled, rule, place, &path, errors);
        }
    }

    fn check_costs(
        &mut self,
        compiled: &CompiledRule,
        declared: &Arc<Declared>,
        place: &Place,
        path: &Path,
        errors: &mut Vec<FieldError>,
    ) {
        let times = place.cardinality.unwrap_or_else(|| declared.max_count());
        let cost = compiled.max_cost.saturating_mul(times);
        let mut check = |what: &str, field: &str, cost: u64| {
            let path = path.child(field);
            if self.limit_rules && cost > RULE_LIMIT {
                errors.push(FieldError::forbidden(&path, over_budget(what, cost, RULE_LIMIT)));
            }
            self.costs.add(path, cost);
        };
        check("estimated rule cost", "rule", cost);
        if matches!(compiled.message_program, Ok(Some(_))) {
            check(
                "estimated messageExpression cost",
                "messageExpression",
                compiled.message_max_cost,
            );
        }
    }
}

/// The number of times a schema's values multiply those above them.
fn multiplied(cardinality: Option<u64>, schema: &Value) -> Option<u64> {
    let bound = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_i64)
            .map(|bound| bound.max(0) as u64)
    };
    let times = match text(schema, "type") {
        "object" if !at(schema, &["additionalProperties"]).is_null() => bound("maxProperties")?,
        "array" => bound("maxItems")?,
        _ => 1,
    };
    cardinality.map(|cardinality| cardinality.saturating_mul(times))
}

fn check_compiled(
    compiled: &CompiledRule,
    rule: &Value,
    place: &Place,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    if let Err(detail) = &compiled.program {
        errors.push(shown_as(&path.child("rule"), internal::rule(rule), detail));
    }
    if let Err(detail) = &compiled.message_program {
        errors.push(shown_as(
            &path.child("messageExpression"),
            internal::rule(rule),
            detail,
        ));
    }
    if compiled.uses_old_self {
        if let Some(above) = &place.uncorrelatable {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
            errors.push(FieldError::invalid(
                &path.child("rule"),
                at(rule, &["rule"]),
                detail,
            ));
        }
    } else if let Some(optional) = rule.get("optionalOldSelf").filter(|optional| !optional.is_null()) {
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(
            &path.child("optionalOldSelf"),
            optional,
            detail,
        ));
    }
}

fn over_budget(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// What all rules of a schema cost together, and the worst of them.
#[derive(Default)]
struct Costs {
    total: u64,
    worst: Vec<(u64, Path)>,
}

impl Costs {
    fn add(&mut self, path: Path, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.worst.push((cost, path));
            self.worst.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.worst.truncate(4);
        }
    }

    fn validate(&self, path: &Path, errors: &mut Vec<FieldError>) {
        if self.total <= SCHEMA_LIMIT {
            return;
        }
        for (_, path) in &self.worst {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(path, detail));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(
            path,
            over_budget(what, self.total, SCHEMA_LIMIT),
        ));
    }
}

pub(super) fn has_unknown_type(schema: &Value) -> bool {
    let kind = text(schema, "type");
    !kind.is_empty() && !TYPES.contains(&kind)
}

/// Whether the items of a set could be changed in part.
pub(super) fn has_granular_set(schema: &Value) -> bool {
    text(schema, "x-kubernetes-list-type") == "set" && object(schema, "items").is_some_and(is_granular)
}

fn is_granular(items: &Value) -> bool {
    match text(items, "type") {
        "array" => !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic"),
        "object" => text(items, "x-kubernetes-map-type") != "atomic",
        _ => false,
    }
}

/// The `x-kubernetes-` fields about lists and maps.
fn validate_extensions(schema: &Value, options: &Options<'_>, path: &Path, errors: &mut Vec<FieldError>) {
    const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
    const MAP_TYPE: &str = "x-kubernetes-map-type";
    const LIST_TYPE: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
        errors.push(FieldError::invalid(
            &path.child(PRESERVE),
            &json!(false),
            "must be true or undefined",
        ));
    }
    let kind = text(schema, "type");
    let must_be = |wanted: &str, field: &str| {
        let detail = format!("must be {wanted} if {field} is specified");
        match kind {
            "" => FieldError::required(&path.child("type"), detail),
            _ => FieldError::invalid(&path.child("type"), &json!(kind), detail),
        }
    };
    if let Some(map_type) = schema.get(MAP_TYPE).and_then(Value::as_str) {
        if kind != "object" {
            errors.push(must_be("object", MAP_TYPE));
        }
        if !matches!(map_type, "atomic" | "granular") {
            let supported = ["atomic", "granular"];
            errors.push(FieldError::not_supported(
                &path.child(MAP_TYPE),
                &json!(map_type),
                &supported,
            ));
        }
    }
    let list_type = schema.get(LIST_TYPE).and_then(Value::as_str);
    if let Some(list_type) = list_type {
        if kind != "array" {
            errors.push(must_be("array", LIST_TYPE));
        } else if options.atomic_sets && has_granular_set(schema) {
            let items = at(schema, &["items"]);
            let field = if text(items, "type") == "array" {
                LIST_TYPE
            } else {
                MAP_TYPE
            };
            let path = path.child("items").child(field);
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            errors.push(FieldError::invalid(&path, at(items, &[LIST_TYPE]), detail));
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"];
            errors.push(FieldError::not_supported(
                &path.child(LIST_TYPE),
                &json!(list_type),
                &supported,
            ));
        }
    }
    if !list(schema, KEYS).is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(FieldError::required(&path.child(LIST_TYPE), detail)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(&path.child(LIST_TYPE), &json!(other), detail)),
        }
    }
    if list_type == Some("map") {
        validate_map_list(schema, path, errors);
    }
    if options.map_keys {
        errors.append(&mut map_key_errors(schema, path));
    }
}

fn validate_map_list(schema: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let keys_path = path.child("x-kubernetes-list-map-keys");
    let keys = at(schema, &["x-kubernetes-list-map-keys"]);
    if list(schema, "x-kubernetes-list-map-keys").is_empty() {
        errors.push(FieldError::required(
            &keys_path,
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let Some(items) = object(schema, "items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&path.child("items"), detail));
        return;
    };
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
            &path.child("items").child("type"),
            &json!(text(items, "type")),
            detail,
        ));
        return;
    }
    let mut seen = Vec::new();
    for key in texts(schema, "x-kubernetes-list-map-keys") {
        match at(items, &["properties", key]) {
            Value::Null => {
                errors.push(FieldError::invalid(
                    &keys_path,
                    keys,
                    "entries must all be names of item properties",
                ));
            }
            property if matches!(text(property, "type"), "array" | "object") => {
                let path = path.child("items").child("properties").key(key).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(&path, &json!(text(items, "type")), detail));
            }
            _ => {}
        }
        if seen.contains(&key) {
            errors.push(FieldError::invalid(
                &keys_path,
                keys,
                "must not contain duplicate entries",
            ));
        }
        seen.push(key);
    }
}

/// Keys of items are always there, and neither they nor the items are null.
pub(super) fn map_key_errors(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list_type = text(schema, "x-kubernetes-list-type");
    let Some(items) = object(schema, "items").filter(|_| matches!(list_type, "set" | "map")) else {
        return errors;
    };
    let path = path.child("items");
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&path.child("nullable"), detail));
    }
    if list_type == "set" {
        return errors;
    }
    for key in texts(schema, "x-kubernetes-list-map-keys") {
        let Some(property) = object(at(items, &["properties"]), key) else {
            continue;
        };
        let path = path.child("properties").key(key);
        if !texts(items, "required").any(|required| required == key) && default(property).is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&path.child("default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.child("nullable"), detail));
        }
    }
    errors
}

/// The fields of a rule, before its expressions are looked at.
fn validate_rule_fields(rule: &Value, schema: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let has_newlines = |text: &str| text.contains(['\n', '\r']);
    let (message, source) = (text(rule, "message"), text(rule, "rule").trim());
    if source.is_empty() {
        errors.push(FieldError::required(&path.child("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(
            &path.child("message"),
            &json!(message),
            detail,
        ));
    } else if has_newlines(message.trim()) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(
            &path.child("message"),
            &json!(message),
            detail,
        ));
    } else if has_newlines(source) && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&path.child("message"), detail));
    }
    let expression = text(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&path.child("messageExpression"), detail));
    }
    if let Some(reason) = rule
        .get("reason")
        .and_then(Value::as_str)
        .filter(|reason| !REASONS.contains(reason))
    {
        errors.push(FieldError::not_supported(
            &path.child("reason"),
            &json!(reason),
            &REASONS,
        ));
    }
    let below = text(rule, "fieldPath");
    let mut invalid = |detail: &str| {
        errors.push(FieldError::invalid(
            &path.child("fieldPath"),
            &json!(below),
            detail,
        ));
    };
    if !below.is_empty() && below.trim().is_empty() {
        invalid("must be non-empty if specified");
    }
    if has_newlines(below) {
        invalid("must not contain line breaks");
    }
    if !below.is_empty() && field_path(below, &Structural::without_rules(schema), true).is_err() {
        invalid("must be a valid path");
    }
}

/// Why a pattern is no regular expression.
pub(super) fn pattern_error(pattern: &str) -> Option<String> {
    compile_pattern(pattern).err()
}
