//! `$setElementOrder/<list>`: the order a merged list shall have, given beside its changes.

use std::collections::HashSet;

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
        let field = field(shape, name)?;
        check_consistent(
            changes.as_deref().unwrap_or_default(),
            &order,
            field.patch_strategy().merge_key,
        )?;
        if let Some(merged) = merge(current, changes, &order, field)? {
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
    if current.is_none() && changes.is_none() {
        return Ok(None);
    }
    let (old, new) = (
        current.as_deref().unwrap_or_default(),
        changes.as_deref().unwrap_or_default(),
    );
    let items = items_of(old, new)?;
    let key = field
        .patch_strategy()
        .merge_key
        .filter(|_| items == Items::Objects);
    let server = order::ranks(server_order(old, new, key)?.into_iter());
    let order = order::ranks(keys(order, key)?.into_iter());
    let merged = match (current, changes) {
        (Some(current), Some(changes)) => lists::merge(current, changes, field)?,
        (Some(current), None) => current,
        (None, changes) => changes
            .into_iter()
            .flatten()
            .filter_map(without_directives)
            .collect(),
    };
    let ranked = merged.into_iter().map(|item| rank(item, key, &order, &server));
    Ok(Some(order::interleave(ranked.collect::<Result<_, _>>()?)))
}

/// The order before the patch. New items take the places that deleted ones leave at the end: an
/// accident of the real implementation, but every renamed container is placed by it.
fn server_order<'v>(
    current: &'v [Value],
    changes: &'v [Value],
    key: Option<&str>,
) -> Result<Vec<&'v Value>, StrategicMergeError> {
    let mut order = keys(current, key)?;
    let Some(key) = key else {
        return Ok(order);
    };
    let with_directive = |directive: Option<&'static str>| {
        changes
            .iter()
            .filter(move |item| item.get(DIRECTIVE).and_then(Value::as_str) == directive)
    };
    let keys_with = |directive| with_directive(directive).filter_map(|item| item.get(key));
    let deleted: HashSet<&Value> = keys_with(Some("delete")).collect();
    order.retain(|key| !deleted.contains(key));
    if with_directive(Some("replace")).next().is_none() {
        let kept: HashSet<&Value> = order.iter().copied().collect();
        let places = current.len() - order.len();
        order.extend(keys_with(None).filter(|key| !kept.contains(key)).take(places));
    }
    Ok(order)
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

/// What tells the items apart: their merge key, or a scalar itself.
fn keys<'v>(items: &'v [Value], key: Option<&str>) -> Result<Vec<&'v Value>, StrategicMergeError> {
    let Some(key) = key else {
        return Ok(items.iter().collect());
    };
    let keys = items.iter().enumerate().map(|(index, item)| match item {
        Value::Object(item) => key_of(item, key),
        _ => Err(StrategicMergeError::NotAMap(index)),
    });
    keys.collect()
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
    let mut ordered = order.iter().peekable();
    'items: for item in changes {
        if key.is_some() && !item.is_object() {
            return Err(StrategicMergeError::wrong_type("map[string]interface {}", item));
        }
        match item.get(DIRECTIVE) {
            Some(directive) if directive == "delete" => continue,
            Some(_) if ordered.peek().is_some() => continue,
            _ => {}
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
