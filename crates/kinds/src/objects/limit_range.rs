//! LimitRange: bounds and defaults for the resources of single pods, containers and claims.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    field::{Errors, Field},
    resource_names::{self, is_overcommit_allowed},
};
use crate::{names, quantity::Quantity, read, resource_list::amount_of, strategy::Strategy};

const TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];
/// Above this, thousandths do not fit 64 bits.
const MAX_MILLI_VALUE: i64 = i64::MAX / 1000;

pub(crate) static STRATEGY: Strategy = Strategy {
    default,
    validate,
    validate_update: |range, _, errors| validate(range, errors),
    ..Strategy::NONE
};

fn default(range: &mut Value) {
    for limit in range
        .get_mut("spec")
        .map_or(&mut [][..], |spec| read::list_mut(spec, "limits"))
    {
        if read::text(limit, "type") == "Container" {
            fill(limit, "max", "default");
            fill(limit, "default", "defaultRequest");
            fill(limit, "min", "defaultRequest");
        }
    }
}

/// Copies the entries of one map that another does not have.
fn fill(limit: &mut Value, from: &str, to: &str) {
    let source: Map<String, Value> = read::get(limit, from).as_object().cloned().unwrap_or_default();
    if source.is_empty() {
        return;
    }
    let target = read::object_mut(limit, to);
    for (name, amount) in source {
        target.entry(name).or_insert(amount);
    }
}

fn validate(range: &Value, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for limit in Field::root(range).child("spec.limits").items() {
        let kind = limit.child("type");
        validate_type(&kind, errors);
        if !seen.insert(read::text(limit.value, "type")) {
            kind.duplicate_as(kind.text(), errors);
        }
        validate_names(&limit, errors);
        for name in resources(&limit) {
            Bounds::of(&limit, name).validate(errors);
        }
    }
}

fn validate_type(kind: &Field<'_>, errors: &mut Errors) {
    if kind.syntax(names::qualified_name, errors)
        && !kind.text().contains('/')
        && !TYPES.contains(&kind.text())
    {
        kind.invalid("must be a standard limit type or fully qualified", errors);
    }
}

fn validate_names(limit: &Field<'_>, errors: &mut Errors) {
    let kind = limit.child("type").text();
    for (name, entry) in limit.child("max").entries() {
        validate_name(kind, name, &entry, errors);
    }
    for (name, entry) in limit.child("min").entries() {
        validate_name(kind, name, &entry, errors);
    }
    for field in ["default", "defaultRequest"] {
        let field = limit.child(field);
        if kind != "Pod" {
            for (name, entry) in field.entries() {
                validate_name(kind, name, &entry, errors);
            }
        } else if !field.is_empty() {
            field.forbidden("may not be specified when `type` is 'Pod'", errors);
        }
    }
    if kind == "PersistentVolumeClaim"
        && !limit.child("min.storage").is_set()
        && !limit.child("max.storage").is_set()
    {
        limit.renamed("limits").required_because(
            "either minimum or maximum storage value is required, but neither was provided",
            errors,
        );
    }
    for (name, entry) in limit.child("maxLimitRequestRatio").entries() {
        validate_name(kind, name, &entry, errors);
    }
}

fn validate_name(kind: &str, name: &str, entry: &Field<'_>, errors: &mut Errors) {
    if kind == "Pod" || kind == "Container" {
        entry.named(name, resource_names::of_containers, errors);
    } else {
        entry.named(name, resource_names::standard, errors);
    }
}

fn resources<'a>(limit: &Field<'a>) -> BTreeSet<&'a str> {
    let maps: &[&str] = match read::text(limit.value, "type") {
        "Pod" => &["max", "min", "maxLimitRequestRatio"],
        _ => &["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"],
    };
    maps.iter()
        .flat_map(|map| read::entries(limit.value, map))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// All that one limit says of one resource.
struct Bounds<'a> {
    limit: &'a Field<'a>,
    name: &'a str,
    min: Option<Quantity>,
    max: Option<Quantity>,
    default: Option<Quantity>,
    default_request: Option<Quantity>,
    max_ratio: Option<Quantity>,
}

impl<'a> Bounds<'a> {
    fn of(limit: &'a Field<'a>, name: &'a str) -> Self {
        let amount = |map| limit.child(map).value.get(name).map(amount_of);
        let is_pod = limit.child("type").text() == "Pod";
        Self {
            limit,
            name,
            min: amount("min"),
            max: amount("max"),
            default: amount("default").filter(|_| !is_pod),
            default_request: amount("defaultRequest").filter(|_| !is_pod),
            max_ratio: amount("maxLimitRequestRatio"),
        }
    }

    fn validate(&self, errors: &mut Errors) {
        self.validate_order(errors);
        self.validate_ratio(errors);
        if let (Some(default), Some(request)) = (self.default, self.default_request)
            && !is_overcommit_allowed(self.name)
            && default != request
        {
            let detail = format!(
                "default value {default} must equal to defaultRequest value {request} in {}",
                self.name
            );
            self.complain("defaultRequest", request, &detail, errors);
        }
    }

    /// min ≤ default request ≤ default ≤ max. Each row: the smaller and the larger with their names,
    /// the field to complain about, and the amount shown.
    fn validate_order(&self, errors: &mut Errors) {
        let (min, max) = ((self.min, "min"), (self.max, "max"));
        let (request, default) = (
            (self.default_request, "default request"),
            (self.default, "default"),
        );
        let rows = [
            (min, max, "min", self.min),
            (min, request, "defaultRequest", self.default_request),
            (request, max, "defaultRequest", self.default_request),
            (
                request,
                (self.default, "default limit"),
                "defaultRequest",
                self.default_request,
            ),
            (min, default, "default", self.min),
            (default, max, "default", self.max),
        ];
        for ((smaller, small_name), (larger, large_name), field, shown) in rows {
            if let (Some(smaller), Some(larger), Some(shown)) = (smaller, larger, shown)
                && smaller > larger
            {
                let detail =
                    format!("{small_name} value {smaller} is greater than {large_name} value {larger}");
                self.complain(field, shown, &detail, errors);
            }
        }
    }

    fn validate_ratio(&self, errors: &mut Errors) {
        let Some(ratio) = self.max_ratio else { return };
        if ratio < Quantity::from_int(1) {
            self.complain(
                "maxLimitRequestRatio",
                ratio,
                &format!("ratio {ratio} is less than 1"),
                errors,
            );
        }
        let (Some(min), Some(max)) = (self.min, self.max) else {
            return;
        };
        let fits_milli = [ratio, min, max]
            .iter()
            .all(|amount| amount.value() < MAX_MILLI_VALUE);
        let (wanted, possible) = if fits_milli {
            (
                ratio.milli_value() as f64 / 1000.0,
                max.milli_value() as f64 / min.milli_value() as f64,
            )
        } else {
            (ratio.value() as f64, max.value() as f64 / min.value() as f64)
        };
        if wanted > possible {
            let detail = format!("ratio {ratio} is greater than max/min = {possible:.6}");
            self.complain("maxLimitRequestRatio", ratio, &detail, errors);
        }
    }

    fn complain(&self, field: &str, shown: Quantity, detail: &str, errors: &mut Errors) {
        let map = self.limit.child(field);
        map.key(self.name).invalid_as(shown.to_string(), detail, errors);
    }
}
