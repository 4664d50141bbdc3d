//! The object behind one row, and the small texts cells are made of.

use jiff::Timestamp;
use serde_json::Value;

use super::duration::human_duration;
use crate::{
    quantity::Quantity,
    read::{get, list, text},
};

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The year one: how the API writes a time that was never set.
const ZERO_TIME: i64 = -62_135_596_800;

/// Cells of a row, from anything that becomes a JSON value.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(::serde_json::Value::from($cell)),*] };
}
pub(super) use cells;

/// One object about to be printed, and the time it is printed at.
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> Row<'a> {
    pub(super) fn metadata(&self) -> &'a Value {
        get(self.object, "metadata")
    }

    pub(super) fn spec(&self) -> &'a Value {
        get(self.object, "spec")
    }

    pub(super) fn status(&self) -> &'a Value {
        get(self.object, "status")
    }

    pub(super) fn name(&self) -> &'a str {
        text(self.metadata(), "name")
    }

    /// Whether the object is on its way out.
    pub(super) fn is_deleted(&self) -> bool {
        !get(self.metadata(), "deletionTimestamp").is_null()
    }

    pub(super) fn age(&self) -> String {
        self.since(get(self.metadata(), "creationTimestamp"))
    }

    /// When the object was created, in seconds and UTC.
    pub(super) fn created_at(&self) -> String {
        let created = timestamp(get(self.metadata(), "creationTimestamp"));
        let second = created.map_or(ZERO_TIME, Timestamp::as_second);
        Timestamp::from_second(second)
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .to_string()
    }

    /// How long ago a time was.
    pub(super) fn since(&self, time: &Value) -> String {
        self.elapsed(timestamp(time))
    }

    pub(super) fn elapsed(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(
            || UNKNOWN.to_owned(),
            |time| human_duration(self.now.duration_since(time)),
        )
    }
}

/// A time of the API, if it was set.
pub(super) fn timestamp(value: &Value) -> Option<Timestamp> {
    let time: Timestamp = value.as_str()?.parse().ok()?;
    (time.as_second() != ZERO_TIME).then_some(time)
}

/// The text, or what stands for no text.
pub(super) fn or<'a>(text: &'a str, instead: &'a str) -> &'a str {
    if text.is_empty() { instead } else { text }
}

/// The text of a field that may be missing; an empty text is still a text.
pub(super) fn text_or<'a>(value: &'a Value, key: &str, instead: &'a str) -> &'a str {
    get(value, key).as_str().unwrap_or(instead)
}

/// A number that reads as zero when it is missing.
pub(super) fn number(value: &Value, key: &str) -> i64 {
    get(value, key).as_i64().unwrap_or_default()
}

/// How many entries a list or an object field has.
pub(super) fn count(value: &Value, key: &str) -> usize {
    match get(value, key) {
        Value::Array(items) => items.len(),
        Value::Object(entries) => entries.len(),
        _ => 0,
    }
}

/// The canonical text of a quantity; a missing one reads as zero.
pub(super) fn quantity(value: &Value) -> String {
    match value {
        Value::String(text) => {
            Quantity::parse(text).map_or_else(|_| text.clone(), |amount| amount.to_string())
        }
        Value::Number(number) => number.to_string(),
        _ => "0".to_owned(),
    }
}

/// The condition of a type in `status.conditions`.
pub(super) fn condition<'a>(status: &'a Value, r#type: &str) -> Option<&'a Value> {
    list(status, "conditions")
        .iter()
        .find(|condition| text(condition, "type") == r#type)
}

/// Whether the condition of a type is there and true.
pub(super) fn is_condition_true(status: &Value, r#type: &str) -> bool {
    condition(status, r#type).is_some_and(|condition| text(condition, "status") == "True")
}

/// One text field of each item, in one line.
pub(super) fn joined_field(items: &[Value], key: &str) -> String {
    joined(items.iter().map(|item| text(item, key)), ",")
}

/// The texts of a list, in one line.
pub(super) fn joined_texts(items: &[Value]) -> String {
    joined(items.iter().filter_map(Value::as_str), ",")
}

pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a str>, separator: &str) -> String {
    let mut line = String::new();
    for (i, text) in texts.enumerate() {
        if i > 0 {
            line.push_str(separator);
        }
        line.push_str(text);
    }
    line
}

/// The first few items in one line, and how many are left: `a,b,c + 2 more...`.
pub(super) fn first_few<T>(
    mut items: impl Iterator<Item = T>,
    shown: usize,
    separator: &str,
    show: impl Fn(T) -> String,
) -> String {
    let line = items
        .by_ref()
        .take(shown)
        .map(show)
        .collect::<Vec<_>>()
        .join(separator);
    with_more(line, items.count())
}

pub(super) fn with_more(line: String, more: usize) -> String {
    if more == 0 {
        line
    } else {
        format!("{line} + {more} more...")
    }
}

/// The names and the images of a pod template's containers.
pub(super) fn containers(template: &Value) -> (String, String) {
    let containers = list(get(template, "spec"), "containers");
    (
        joined_field(containers, "name"),
        joined_field(containers, "image"),
    )
}
