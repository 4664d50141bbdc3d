//! The rules of a schema: that they compile, and that they cannot cost too much.

use std::sync::Arc;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Place, Walk, shown_as};
use crate::{
    cel::{
        declared::Declared,
        rules::{CompiledRule, Source, compile_rule, field_path},
    },
    crd::{
        internal,
        props::{at, list, text},
    },
    structural::Structural,
};

/// What one rule and what all rules of a schema may cost by estimate.
const RULE_LIMIT: u64 = 10_000_000;
const SCHEMA_LIMIT: u64 = 100_000_000;
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

impl Walk<'_> {
    /// Compiles the rules of one place.
    pub(super) fn rules(&mut self, schema: &Value, place: &Place, path: &Path, errors: &mut Vec<FieldError>) {
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
pub(super) fn multiplied(cardinality: Option<u64>, schema: &Value) -> Option<u64> {
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
pub(super) struct Costs {
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

    pub(super) fn validate(&self, path: &Path, errors: &mut Vec<FieldError>) {
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

/// The fields of a rule, before its expressions are looked at.
pub(super) fn validate_rule_fields(rule: &Value, schema: &Value, path: &Path, errors: &mut Vec<FieldError>) {
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
