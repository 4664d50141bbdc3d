//! `$setElementOrder/<list>`: the order a merged list shall have, given beside its changes.

use serde_json::Value;

use super::lists::{self, Items, items_of, key_of};
use super::order::{self, Ranked, Ranks};
use super::{DIRECTIVE, ELEMENT_ORDER, Object, StrategicMergeError, field, without_directives};
use crate::shape::Shape;

/// Merges every list that comes with an order and takes both out of the patch.
pub(super) fn apply<S: Shape>(
    original: &mut Object,
    patch: &mut Object,
    shape: S,
) -> Result<(), StrategicMergeError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let order = patch
            .remove(&directive)
            .map(list)
            .transpose()?
            .unwrap_or_default();
        let name = directive[ELEMENT_ORDER.len()..].strip_prefix('/');
        let name = name.ok_or(StrategicMergeError::BadElementOrder)?;
        let current = original.remove(name).map(list).transpose()?;
        let changes = patch.remove(name).map(list).transpose()?;
        if let Some(merged) = merge(current, changes, &order, field(shape, name)?)? {
            original.insert(name.to_owned(), Value::Array(merged));
        }
    }
    Ok(())
}

fn merge<S: Shape>(
    current: Option<Vec<Value>>,
    changes: Option<Vec<Value>>,
    order: &[Value],
    field: S,
) -> Result<Option<Vec<Value>>, StrategicMergeError> {
    let key = field.patch_strategy().merge_key;
    check_consistent(changes.as_deref().unwrap_or_default(), order, key)?;
    if current.is_none() && changes.is_none() {
        return Ok(None);
    }
    let items = items_of(
        current.as_deref().unwrap_or_default(),
        changes.as_deref().unwrap_or_default(),
    )?;
    let key = key.filter(|_| items == Items::Objects);
    let server = keys(current.as_deref().unwrap_or_default(), key)?;
    let merged = match (current, changes) {
        (Some(current), Some(changes)) => lists::merge(current, changes, field)?,
        (Some(current), None) => current,
        (None, changes) => changes
            .into_iter()
            .flatten()
            .filter_map(without_directives)
            .collect(),
    };
    let order = keys(order, key)?;
    let ranked = merged.into_iter().map(|item| rank(item, key, &order, &server));
    Ok(Some(order::interleave(ranked.collect::<Result<_, _>>()?)))
}

fn rank(
    item: Value,
    key: Option<&str>,
    order: &Ranks,
    server: &Ranks,
) -> Result<Ranked, StrategicMergeError> {
    match (key, item) {
        (Some(key), Value::Object(item)) => order::rank_object(item, key, order, server),
        (_, item) => Ok(order::rank_scalar(item, order, server)),
    }
}

fn keys(items: &[Value], key: Option<&str>) -> Result<Ranks, StrategicMergeError> {
    let Some(key) = key else {
        return Ok(order::ranks(items.iter()));
    };
    let keys = items.iter().enumerate().map(|(index, item)| match item {
        Value::Object(item) => key_of(item, key),
        _ => Err(StrategicMergeError::NotAMap(index)),
    });
    Ok(order::ranks(keys.collect::<Result<Vec<_>, _>>()?.into_iter()))
}

/// The items of the patch have to be among those of the order, and in that order.
fn check_consistent(
    changes: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), StrategicMergeError> {
    if changes.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut ordered = order.iter();
    'items: for item in changes {
        if key.is_some() && !item.is_object() {
            return Err(StrategicMergeError::wrong_type("map[string]interface {}", item));
        }
        if item.get(DIRECTIVE).is_some() {
            continue;
        }
        for candidate in ordered.by_ref() {
            if same(item, candidate, key)? {
                continue 'items;
            }
        }
        return Err(StrategicMergeError::order_mismatch(changes, order));
    }
    Ok(())
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> Result<bool, StrategicMergeError> {
    let Some(key) = key else {
        return Ok(left == right);
    };
    let key_value = |item: &Value| match item {
        Value::Object(item) => key_of(item, key).cloned(),
        other => Err(StrategicMergeError::wrong_type("map[string]interface {}", other)),
    };
    Ok(key_value(left)? == key_value(right)?)
}

fn list(value: Value) -> Result<Vec<Value>, StrategicMergeError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(StrategicMergeError::wrong_type("[]interface {}", &other)),
    }
}
