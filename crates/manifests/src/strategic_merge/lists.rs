//! Merging of lists: objects by their merge key, scalars as a set.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::order::{self, Ranks};
use super::{DIRECTIVE, Object, StrategicMergeError, merge_objects};
use crate::shape::{PatchStrategy, Shape};

/// What the items of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Items {
    Scalars,
    Objects,
}

/// The list changed as the patch says: replaced, unless its type wants it merged.
pub(super) fn merge<S: Shape>(
    original: Vec<Value>,
    patch: Vec<Value>,
    list: S,
) -> Result<Vec<Value>, StrategicMergeError> {
    let strategy = list.patch_strategy();
    if !strategy.merge {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    match items_of(&original, &patch)? {
        Items::Scalars => Ok(merge_scalars(original, patch)),
        Items::Objects => merge_by_key(original, patch, merge_key(strategy, &list)?, list),
    }
}

/// The list without the scalars that the patch names.
pub(super) fn delete_from<S: Shape>(
    original: Vec<Value>,
    patch: Vec<Value>,
    list: S,
) -> Result<Vec<Value>, StrategicMergeError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    match items_of(&original, &patch)? {
        Items::Scalars => {
            let deleted: HashSet<Value> = patch.into_iter().collect();
            Ok(original
                .into_iter()
                .filter(|item| !deleted.contains(item))
                .collect())
        }
        Items::Objects => merge_by_key(original, patch, merge_key(list.patch_strategy(), &list)?, list),
    }
}

/// All items of both lists have to be of one type, which is not a list.
pub(super) fn items_of(original: &[Value], patch: &[Value]) -> Result<Items, StrategicMergeError> {
    let mut items = original.iter().chain(patch);
    let first = items.next().ok_or(StrategicMergeError::NoElements)?;
    if first.is_array() {
        return Err(StrategicMergeError::ListOfLists);
    }
    let kind = std::mem::discriminant(first);
    if first.is_null() || items.any(|item| std::mem::discriminant(item) != kind) {
        return Err(StrategicMergeError::mixed_elements(original, patch));
    }
    Ok(if first.is_object() {
        Items::Objects
    } else {
        Items::Scalars
    })
}

/// The merge key of an item.
pub(super) fn key_of<'v>(item: &'v Object, key: &str) -> Result<&'v Value, StrategicMergeError> {
    item.get(key)
        .ok_or_else(|| StrategicMergeError::no_merge_key(item, key))
}

fn merge_key<'s, S: Shape>(strategy: PatchStrategy<'s>, list: &'s S) -> Result<&'s str, StrategicMergeError> {
    strategy.merge_key.ok_or_else(|| {
        StrategicMergeError::NoMergeKeyDeclared(list.type_name().unwrap_or_default().to_owned())
    })
}

fn merge_scalars(original: Vec<Value>, patch: Vec<Value>) -> Vec<Value> {
    let patch_ranks: Ranks = order::ranks(patch.iter());
    let server_ranks: Ranks = order::ranks(original.iter());
    let mut seen = HashSet::new();
    let merged = original
        .into_iter()
        .chain(patch)
        .filter(|item| seen.insert(item.clone()));
    order::interleave(
        merged
            .map(|item| order::rank_scalar(item, &patch_ranks, &server_ranks))
            .collect(),
    )
}

fn merge_by_key<S: Shape>(
    original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    list: S,
) -> Result<Vec<Value>, StrategicMergeError> {
    let element = list.element().unwrap_or(list);
    let (original, patch) = follow_directives(objects(original)?, objects(patch)?, key)?;
    let server_ranks = order::ranks(keys(&original, key)?.into_iter());
    let patch_keys: Vec<Value> = keys(&patch, key)?.into_iter().cloned().collect();

    let mut merged = original;
    let mut places: HashMap<Value, usize> = server_ranks.clone();
    for (item, item_key) in patch.into_iter().zip(&patch_keys) {
        if let Some(&place) = places.get(item_key) {
            merged[place] = merge_objects(std::mem::take(&mut merged[place]), item, element)?;
        } else {
            places.insert(item_key.clone(), merged.len());
            merged.push(item);
        }
    }

    let patch_ranks = order::ranks(patch_keys.iter());
    let ranked = merged
        .into_iter()
        .map(|item| order::rank_object(item, key, &patch_ranks, &server_ranks));
    Ok(order::interleave(ranked.collect::<Result<_, _>>()?))
}

fn keys<'v>(items: &'v [Object], key: &str) -> Result<Vec<&'v Value>, StrategicMergeError> {
    items.iter().map(|item| key_of(item, key)).collect()
}

/// Carries out the items that are directives: `$patch: delete` removes the items with its key,
/// `$patch: replace` leaves only the plain items of the patch.
fn follow_directives(
    mut original: Vec<Object>,
    patch: Vec<Object>,
    key: &str,
) -> Result<(Vec<Object>, Vec<Object>), StrategicMergeError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = HashSet::new();
    let mut replace = false;
    for item in patch {
        match item.get(DIRECTIVE).map(Value::as_str) {
            None => plain.push(item),
            Some(Some("delete")) => {
                deleted.insert(key_of(&item, key)?.clone());
            }
            Some(Some("replace")) => replace = true,
            Some(Some("merge")) => return Err(StrategicMergeError::MergeDirectiveInList),
            Some(_) => return Err(StrategicMergeError::unknown_directive(&item)),
        }
    }
    if replace {
        return Ok((plain, Vec::new()));
    }
    original.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(value)));
    Ok((original, plain))
}

fn objects(items: Vec<Value>) -> Result<Vec<Object>, StrategicMergeError> {
    let object = |item| match item {
        Value::Object(object) => Ok(object),
        other => Err(StrategicMergeError::wrong_type("map[string]interface {}", &other)),
    };
    items.into_iter().map(object).collect()
}
