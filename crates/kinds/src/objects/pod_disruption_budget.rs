//! PodDisruptionBudget: how many of the selected pods may be evicted at once.

use serde_json::Value;

use super::{
    conditions,
    field::{Errors, Field},
    int_or_percent,
};
use crate::{label_selector, strategy::Strategy};

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: super::clear_status,
    prepare_for_update: super::keep_status,
    validate,
    validate_update: |budget, _, errors| validate(budget, errors),
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |budget, _, errors| validate_status(budget, errors),
    ..Strategy::NONE
};

fn validate(budget: &Value, errors: &mut Errors) {
    let root = Field::root(budget);
    let spec = root.child("spec");
    let (min, max) = (spec.child("minAvailable"), spec.child("maxUnavailable"));
    if min.is_set() && max.is_set() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        spec.invalid_shown("PodDisruptionBudgetSpec", detail, errors);
    }
    for number in [min, max] {
        if number.is_set() {
            int_or_percent::validate(number.value, &number.path(), errors);
            int_or_percent::validate_share(number.value, &number.path(), errors);
        }
    }
    let selector = spec.child("selector");
    label_selector::validate(selector.value, &selector.path(), errors);
    spec.child("unhealthyPodEvictionPolicy")
        .optional_one_of(&["AlwaysAllow", "IfHealthyBudget"], errors);
}

fn validate_status(budget: &Value, errors: &mut Errors) {
    let root = Field::root(budget);
    let status = root.child("status");
    conditions::validate(&status.child("conditions"), errors);
    for count in [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ] {
        status.child(count).not_negative(errors);
    }
}
