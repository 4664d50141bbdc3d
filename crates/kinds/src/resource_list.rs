//! Named amounts (`cpu: 500m`), as in requests, limits and quotas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{quantity::Quantity, read::entries};

/// Amounts by the name of their resource, which is borrowed from the object.
pub(crate) type Amounts<'a> = BTreeMap<&'a str, Quantity>;

/// The amount in a field; a missing one is zero.
pub(crate) fn amount_of(value: &Value) -> Quantity {
    match value {
        Value::String(text) => Quantity::parse(text).unwrap_or(Quantity::ZERO),
        Value::Number(number) => Quantity::parse(&number.to_string()).unwrap_or(Quantity::ZERO),
        _ => Quantity::ZERO,
    }
}

/// The amounts in a field.
pub(crate) fn amounts<'a>(value: &'a Value, field: &str) -> Amounts<'a> {
    entries(value, field)
        .map(|(name, value)| (name.as_str(), amount_of(value)))
        .collect()
}

/// Adds each amount to the one of the same name.
pub(crate) fn add<'a>(list: &mut Amounts<'a>, other: &Amounts<'a>) {
    for (name, amount) in other {
        list.entry(name)
            .and_modify(|sum| *sum = sum.plus(*amount))
            .or_insert(*amount);
    }
}

/// Raises each amount to the one of the same name, if that is larger.
pub(crate) fn raise<'a>(list: &mut Amounts<'a>, other: &Amounts<'a>) {
    for (name, amount) in other {
        let highest = list.entry(name).or_insert(*amount);
        if *amount > *highest {
            *highest = *amount;
        }
    }
}

/// The amounts as they stand in an object.
pub(crate) fn to_object<N: ToString>(list: impl IntoIterator<Item = (N, Quantity)>) -> Map<String, Value> {
    list.into_iter()
        .map(|(name, amount)| (name.to_string(), Value::String(amount.to_string())))
        .collect()
}
