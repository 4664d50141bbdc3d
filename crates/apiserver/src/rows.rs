//! Objects as rows: the `Table` and `PartialObjectMetadata` forms of an object.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    error::{ApiError, Result},
    kind::{Definition, Kind},
    query::Query,
};

/// What a table row carries beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

impl IncludeObject {
    pub(crate) fn read(query: &Query) -> Result<Self> {
        match query.text("includeObject") {
            None | Some("Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(ApiError::bad_request(format!(
                "Invalid value: \"{other}\": must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn metadata(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}

/// One row of a kind's table.
pub(crate) fn row(kind: &Kind, object: Value, include: IncludeObject, now: Timestamp) -> Value {
    let cells = match &kind.definition {
        Definition::BuiltIn(_) => kinds::columns::cells(&kind.group, &kind.kind, &object, now),
        Definition::Custom(custom) => custom.cells(&object, now),
    };
    let mut row = json!({ "cells": cells });
    match include {
        IncludeObject::None => {}
        IncludeObject::Metadata => row["object"] = metadata(&object),
        IncludeObject::Object => row["object"] = object,
    }
    row
}

/// A table around rows. Watches send the columns with the first event only.
#[expect(clippy::needless_pass_by_value, reason = "the caller builds them for this")]
pub(crate) fn table(
    version: &str,
    kind: &Kind,
    list_metadata: Value,
    rows: Vec<Value>,
    columns: bool,
) -> Value {
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list_metadata,
        "columnDefinitions": if columns { column_definitions(kind) } else { Value::Null },
        "rows": rows,
    })
}

fn column_definitions(kind: &Kind) -> Value {
    match &kind.definition {
        Definition::BuiltIn(_) => kinds::columns::columns(&kind.group, &kind.kind)
            .iter()
            .map(|column| {
                json!({
                    "name": column.name,
                    "type": column.r#type,
                    "format": column.format,
                    "description": column.description,
                    "priority": column.priority,
                })
            })
            .collect(),
        Definition::Custom(custom) => custom.column_definitions(),
    }
}
