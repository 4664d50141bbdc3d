//! How requests to the API share its capacity.

use std::cmp::Ordering;

use serde_json::Value;

use super::{
    AGE, NAME, Table,
    row::{NONE, cells, condition, number},
    string,
};
use crate::read::{at, get, text};

pub(super) static FLOW_SCHEMA: Table = Table {
    columns: &[
        NAME,
        string("PriorityLevel", "Priority level the requests go to."),
        string(
            "MatchingPrecedence",
            "Order in which schemas are tried; the lowest first.",
        ),
        string(
            "DistinguisherMethod",
            "What tells one flow of requests from another.",
        ),
        AGE,
        string("MissingPL", "Whether the priority level is missing."),
    ],
    cells: |row| {
        let spec = row.spec();
        let method = get(spec, "distinguisherMethod");
        cells![
            row.name(),
            text(get(spec, "priorityLevelConfiguration"), "name"),
            number(spec, "matchingPrecedence"),
            if method.is_null() {
                NONE
            } else {
                text(method, "type")
            },
            row.age(),
            condition(row.status(), "Dangling").map_or("?", |dangling| text(dangling, "status")),
        ]
    },
};

/// Schemas in the order they are tried.
pub(super) fn by_precedence(one: &Value, other: &Value) -> Ordering {
    let key = |schema| {
        (
            number(get(schema, "spec"), "matchingPrecedence"),
            text(get(schema, "metadata"), "name"),
        )
    };
    key(one).cmp(&key(other))
}

pub(super) static PRIORITY_LEVEL: Table = Table {
    columns: &[
        NAME,
        string("Type", "Whether requests of this level are limited."),
        string(
            "NominalConcurrencyShares",
            "Share of the server's capacity, relative to other levels.",
        ),
        string("Queues", "Number of queues requests wait in."),
        string("HandSize", "Queues one flow of requests is spread over."),
        string("QueueLengthLimit", "Requests that may wait in one queue."),
        AGE,
    ],
    cells: |row| {
        let limited = get(row.spec(), "limited");
        let queuing = at(limited, &["limitResponse", "queuing"]);
        cells![
            row.name(),
            text(row.spec(), "type"),
            number_in(limited, "nominalConcurrencyShares"),
            number_in(queuing, "queues"),
            number_in(queuing, "handSize"),
            number_in(queuing, "queueLengthLimit"),
            row.age(),
        ]
    },
};

/// A number of a section, or `<none>` when there is no such section.
fn number_in(section: &Value, key: &str) -> Value {
    if section.is_null() {
        NONE.into()
    } else {
        number(section, key).into()
    }
}
