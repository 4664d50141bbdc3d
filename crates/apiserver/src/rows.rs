//! Objects as rows: the `Table` and `PartialObjectMetadata` forms of an object.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    error::{ApiError, Result},
    kind::{Definition, Kind},
    object,
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
                "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be 'Metadata', 'Object', 'None', or empty"
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

/// Writes `PartialObjectMetadata` around the text of an object's metadata. Clients that write much ask for
/// no more in answer: it is cut from what is stored, and not made anew.
pub(crate) fn write_metadata(out: &mut Vec<u8>, metadata: &[u8]) {
    const TYPE: &[u8] = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#;
    out.reserve(TYPE.len() + metadata.len() + 1);
    out.extend_from_slice(TYPE);
    out.extend_from_slice(metadata);
    out.push(b'}');
}

/// One row of a kind's table.
pub(crate) fn row(kind: &Kind, object: Value, include: IncludeObject, now: Timestamp) -> Value {
    let cells = match &kind.definition {
        Definition::BuiltIn(_) => kinds::columns::cells(&kind.group, &kind.kind, &object, now),
        Definition::Custom(custom) => custom.cells(&object, now),
    };
    row_of(cells, object, include)
}

fn row_of(cells: Vec<Value>, object: Value, include: IncludeObject) -> Value {
    let mut row = json!({ "cells": cells });
    match include {
        IncludeObject::None => {}
        IncludeObject::Metadata => row["object"] = metadata(&object),
        IncludeObject::Object => row["object"] = object,
    }
    row
}

/// A table around rows. Watches send the columns with the first event only.
pub(crate) fn table(
    version: &str,
    kind: &Kind,
    list_metadata: Value,
    rows: Vec<Value>,
    columns: bool,
) -> Value {
    let columns = if columns {
        column_definitions(kind)
    } else {
        Value::Null
    };
    table_of(version, list_metadata, columns, rows)
}

/// The table of one scale, which is the same whatever it is the scale of.
pub(crate) fn scale_table(version: &str, scale: Value, include: IncludeObject, now: Timestamp) -> Value {
    let metadata = json!({ "resourceVersion": object::resource_version(&scale) });
    let cells = kinds::columns::cells("autoscaling", "Scale", &scale, now);
    let columns = built_in_columns("autoscaling", "Scale");
    table_of(version, metadata, columns, vec![row_of(cells, scale, include)])
}

fn table_of(version: &str, list_metadata: Value, columns: Value, rows: Vec<Value>) -> Value {
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list_metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

fn column_definitions(kind: &Kind) -> Value {
    match &kind.definition {
        Definition::BuiltIn(_) => built_in_columns(&kind.group, &kind.kind),
        Definition::Custom(custom) => custom.column_definitions(),
    }
}

fn built_in_columns(group: &str, kind: &str) -> Value {
    let columns = kinds::columns::columns(group, kind).iter();
    let definition = |column: &kinds::columns::Column| {
        json!({
            "name": column.name,
            "type": column.r#type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        })
    };
    columns.map(definition).collect()
}
