//! Events, of the core group and of `events.k8s.io`: the same facts under other field names.

use serde_json::Value;

use super::{
    Column, NAME, Table,
    row::{Row, cells, number, or, timestamp},
    string, wide,
};
use crate::read::{get, has, text};

pub(super) static EVENT: Table = Table {
    columns: COLUMNS,
    cells,
};

const COLUMNS: &[Column] = &[
    string("Last Seen", "Time since it happened last."),
    string("Type", "Normal or Warning."),
    string("Reason", "Short word for what happened."),
    string("Object", "Object it happened to."),
    wide(string("Subobject", "Part of the object it happened to.")),
    wide(string("Source", "Who reports it, and from where.")),
    string("Message", "What happened, for people."),
    wide(string("First Seen", "Time since it happened first.")),
    wide(string("Count", "How often it happened.")),
    wide(NAME),
];

fn cells(row: &Row<'_>) -> Vec<Value> {
    let event = row.object;
    let object = field(event, "involvedObject", "regarding");
    let (first_seen, last_seen, count) = occurrences(row);
    cells![
        last_seen,
        text(event, "type"),
        text(event, "reason"),
        target(object),
        text(object, "fieldPath"),
        source(event),
        field(event, "message", "note")
            .as_str()
            .unwrap_or_default()
            .trim(),
        first_seen,
        count,
        row.name(),
    ]
}

/// A field of the core event, or the one that has its place in `events.k8s.io`.
fn field<'a>(event: &'a Value, core: &str, events: &str) -> &'a Value {
    if has(event, core) {
        get(event, core)
    } else {
        get(event, events)
    }
}

/// When the event was seen first and last, and how often.
fn occurrences(row: &Row<'_>) -> (String, String, i64) {
    let event = row.object;
    let first = timestamp(field(event, "firstTimestamp", "deprecatedFirstTimestamp"))
        .or_else(|| timestamp(get(event, "eventTime")));
    let series = get(event, "series");
    if !series.is_null() {
        let last = row.since(get(series, "lastObservedTime"));
        return (row.elapsed(first), last, number(series, "count"));
    }
    let last = timestamp(field(event, "lastTimestamp", "deprecatedLastTimestamp")).or(first);
    let count = field(event, "count", "deprecatedCount")
        .as_i64()
        .unwrap_or_default();
    // An event that happened once need not say so.
    (
        row.elapsed(first),
        row.elapsed(last),
        if count == 0 { 1 } else { count },
    )
}

fn target(object: &Value) -> String {
    let kind = text(object, "kind").to_lowercase();
    match text(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = field(event, "source", "deprecatedSource");
    let controller = field(event, "reportingComponent", "reportingController")
        .as_str()
        .unwrap_or_default();
    let component = or(text(source, "component"), controller);
    match or(text(source, "host"), text(event, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
