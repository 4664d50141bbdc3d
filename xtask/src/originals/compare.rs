//! Differences, each with the path of the field.
//!
//! Items of a list that have names are compared by name, and their order apart from them, so that one item more
//! is one difference.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::stage::Snapshot;

const LONGEST: usize = 400;

pub(super) struct Difference {
    /// `KIND/NAME/STEP/CHILD.field[item].field`
    pub(super) place: String,
    /// None where the original has no such thing.
    pub(super) original: Option<Value>,
    pub(super) ours: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.place)?;
        writeln!(formatter, "    original: {}", shown(self.original.as_ref()))?;
        write!(formatter, "    ours:     {}", shown(self.ours.as_ref()))
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "none".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// Between what was seen with the originals and with ours.
pub(super) fn snapshots(originals: &Snapshot, ours: &Snapshot) -> Vec<Difference> {
    let mut differences = Vec::new();
    let places: BTreeSet<&String> = originals.keys().chain(ours.keys()).collect();
    for place in places {
        compare(place, originals.get(place), ours.get(place), &mut differences);
    }
    differences
}

fn compare(place: &str, original: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    match (original, ours) {
        (Some(Value::Object(original)), Some(Value::Object(ours))) => {
            let fields: BTreeSet<&String> = original.keys().chain(ours.keys()).collect();
            for field in fields {
                compare(
                    &format!("{place}.{field}"),
                    original.get(field),
                    ours.get(field),
                    found,
                );
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if is_named(left) && is_named(right) => {
            compare_lists(place, left, right, found);
        }
        (None, Some(Value::Array(right))) if is_named(right) => compare_lists(place, &[], right, found),
        (Some(Value::Array(left)), None) if is_named(left) => compare_lists(place, left, &[], found),
        _ if original == ours => {}
        _ => found.push(Difference {
            place: place.to_owned(),
            original: original.cloned(),
            ours: ours.cloned(),
        }),
    }
}

fn compare_lists(place: &str, original: &[Value], ours: &[Value], found: &mut Vec<Difference>) {
    let (original, ours) = (by_name(original), by_name(ours));
    let get = |list: &'_ [Named], name: &str| -> Option<Value> {
        let item = list.iter().find(|(other, _)| other == name);
        item.map(|(_, item)| item.clone())
    };
    let names: BTreeSet<&String> = original.iter().chain(&ours).map(|(name, _)| name).collect();
    for name in names {
        let (left, right) = (get(&original, name), get(&ours, name));
        compare(&format!("{place}[{name}]"), left.as_ref(), right.as_ref(), found);
    }
    let order = |list: &[Named], other: &[Named]| -> Vec<String> {
        let names = list.iter().map(|(name, _)| name.clone());
        names.filter(|name| get(other, name).is_some()).collect()
    };
    let (left, right) = (order(&original, &ours), order(&ours, &original));
    if left != right {
        found.push(Difference {
            place: format!("{place}.order"),
            original: Some(left.into()),
            ours: Some(right.into()),
        });
    }
}

/// An item of a list and by what it is known there.
type Named = (String, Value);

fn is_named(list: &[Value]) -> bool {
    list.iter().all(|item| name(item).is_some())
}

/// By what an item is known: conditions by their type.
fn name(item: &Value) -> Option<&str> {
    item["name"].as_str().or_else(|| item["type"].as_str())
}

/// Items by their names; of several of one name the others have a number.
fn by_name(list: &[Value]) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for (place, item) in list.iter().enumerate() {
        let own = name(item).unwrap_or_default();
        let before = list[..place]
            .iter()
            .filter(|other| name(other) == Some(own))
            .count();
        let key = match before {
            0 => own.to_owned(),
            _ => format!("{own}#{}", before + 1),
        };
        found.push((key, item.clone()));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(original: Value, ours: Value) -> Vec<String> {
        let mut found = Vec::new();
        compare("a", Some(&original), Some(&ours), &mut found);
        found.into_iter().map(|difference| difference.place).collect()
    }

    #[test]
    fn an_item_more_is_one_difference() {
        let original = json!([{"name": "x", "value": "1"}, {"name": "y"}]);
        let ours = json!([{"name": "x", "value": "2"}, {"name": "z", "value": "3"}, {"name": "y"}]);
        assert_eq!(places(original, ours), ["a[x].value", "a[z]"]);
        let (none, one) = (json!({}), json!({"list": [{"name": "x"}]}));
        assert_eq!(places(none, one), ["a.list[x]"]);
    }

    #[test]
    fn another_order_is_a_difference() {
        let list = |names: [&str; 3]| json!(names.map(|name| json!({"name": name})));
        assert_eq!(places(list(["x", "y", "x"]), list(["x", "x", "y"])), ["a.order"]);
    }
}
