//! JSON patch (RFC 6902) with the reading of the API server, which differs from the standard:
//! indices may count from the end, `replace` may create a field, `test` of a missing field against
//! null holds, and `copy` of a missing field copies null.

mod decode;
mod pointer;

use serde_json::Value;

pub use decode::unknown_fields;

use decode::Operation;
use pointer::locate;

use crate::json::MAX_DEPTH;

/// A patch may have this many operations.
pub const MAX_OPERATIONS: usize = 10_000;

/// All copies of a patch together may add this many bytes.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// The patch is not a list of operations (400).
    #[error("error decoding patch: {0}")]
    Malformed(String),
    /// 413.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooManyOperations(usize),
    /// The patch does not fit this document (422).
    #[error("{0}")]
    DoesNotApply(String),
}

impl JsonPatchError {
    pub fn status_code(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::TooManyOperations(_) => 413,
            Self::DoesNotApply(_) => 422,
        }
    }
}

/// Why an operation failed, from the outside in: `error in add for path: '/a/9': …`.
type Outcome<T = ()> = Result<T, String>;

/// Changes the document as the patch says. A patch that fails leaves the document half changed:
/// the caller throws it away.
pub fn apply(document: &mut Value, patch: &Value) -> Result<(), JsonPatchError> {
    let operations = decode::operations(patch)?;
    let mut copied = 0;
    for operation in operations {
        perform(document, &operation, &mut copied).map_err(JsonPatchError::DoesNotApply)?;
    }
    Ok(())
}

fn perform(document: &mut Value, operation: &Operation<'_>, copied: &mut usize) -> Outcome {
    match operation.op {
        "add" => add(document, operation),
        "remove" => remove(document, operation),
        "replace" => replace(document, operation),
        "move" => relocate(document, operation),
        "test" => test(document, operation),
        "copy" => copy(document, operation, copied),
        other => Err(format!("Unexpected kind: {other}")),
    }
}

fn add(document: &mut Value, operation: &Operation<'_>) -> Outcome {
    let path = operation
        .path
        .ok_or("add operation failed to decode path: missing value")?;
    let mut target = locate(document, path).ok_or_else(|| {
        format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
    })?;
    let value = operation.value_or_null();
    check_depth(path, &value)?;
    let added = target.add(value);
    added.map_err(|cause| format!("error in add for path: '{path}': {cause}"))
}

fn remove(document: &mut Value, operation: &Operation<'_>) -> Outcome {
    let path = operation
        .path
        .ok_or("remove operation failed to decode path: missing value")?;
    let mut target = locate(document, path).ok_or_else(|| {
        format!("remove operation does not apply: doc is missing path: \"{path}\": missing value")
    })?;
    let removed = target.remove();
    removed
        .map(drop)
        .map_err(|cause| format!("error in remove for path: '{path}': {cause}"))
}

fn replace(document: &mut Value, operation: &Operation<'_>) -> Outcome {
    let path = operation.required_path("replace")?;
    if path.is_empty() {
        if let Some(value @ (Value::Object(_) | Value::Array(_))) = operation.value {
            *document = value.clone();
        }
        return Ok(());
    }
    let mut target = locate(document, path).ok_or_else(|| {
        format!("replace operation does not apply: doc is missing path: {path}: missing value")
    })?;
    let value = operation.value_or_null();
    check_depth(path, &value)?;
    target
        .replace(value)
        .map_err(|_| format!("replace operation does not apply: doc is missing key: {path}: missing value"))
}

fn relocate(document: &mut Value, operation: &Operation<'_>) -> Outcome {
    let from = operation.required_from("move")?;
    let mut source = locate(document, from).ok_or_else(|| {
        format!("move operation does not apply: doc is missing from path: {from}: missing value")
    })?;
    let removed = source.remove();
    let value = removed.map_err(|cause| format!("error in move for path: '{}': {cause}", source.key))?;
    let path = operation.required_path("move")?;
    let mut target = locate(document, path).ok_or_else(|| {
        format!("move operation does not apply: doc is missing destination path: {path}: missing value")
    })?;
    check_depth(path, &value)?;
    target
        .add(value)
        .map_err(|cause| format!("error in move for path: '{path}': {cause}"))
}

fn test(document: &mut Value, operation: &Operation<'_>) -> Outcome {
    let path = operation.required_path("test")?;
    let expected = operation.value.unwrap_or(&Value::Null);
    let holds = if path.is_empty() {
        document == expected
    } else {
        let target = locate(document, path).ok_or_else(|| {
            format!("test operation does not apply: is missing path: {path}: missing value")
        })?;
        let actual = target
            .get()
            .map_err(|cause| format!("error in test for path: '{path}': {cause}"))?;
        actual.unwrap_or(&Value::Null) == expected
    };
    if holds {
        Ok(())
    } else {
        Err(format!("testing value {path} failed: test failed"))
    }
}

fn copy(document: &mut Value, operation: &Operation<'_>, copied: &mut usize) -> Outcome {
    let from = operation.required_from("copy")?;
    let source = locate(document, from).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing from path: {from}: missing value")
    })?;
    let value = source
        .get()
        .map_err(|cause| format!("error in copy for from: '{from}': {cause}"))?
        .cloned();
    let path = operation
        .path
        .ok_or("copy operation failed to decode path: missing value")?;
    let mut target = locate(document, path).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing destination path: {path}: missing value")
    })?;
    *copied += value.as_ref().map_or(0, encoded_length);
    if *copied > MAX_COPIED_BYTES {
        return Err(format!(
            "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED_BYTES}"
        ));
    }
    let value = value.unwrap_or(Value::Null);
    check_depth(path, &value)?;
    let added = target.add(value);
    added.map_err(|cause| format!("error while adding value during copy: {cause}"))
}

/// Operation upon operation could nest a document deeper than one may be that is sent.
fn check_depth(path: &str, value: &Value) -> Outcome {
    let above = path.matches('/').count();
    if above <= MAX_DEPTH && is_within(value, MAX_DEPTH - above) {
        return Ok(());
    }
    Err(format!("error for path: '{path}': exceeded max depth"))
}

fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

/// How many bytes the value has as JSON, without writing them anywhere.
fn encoded_length(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Neither writing to a counter nor encoding a value can fail.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{JsonPatchError, MAX_OPERATIONS, apply, is_within};
    use crate::json::MAX_DEPTH;
    use crate::testing::{check_cases, never_panics};

    #[test]
    fn documents_change_as_in_the_real_server() {
        check_cases(include_str!("../testdata/json_patch.json"), |case| {
            let mut document = case["original"].clone();
            apply(&mut document, &case["patch"]).map_err(|error| error.to_string())?;
            Ok(document)
        });
    }

    #[track_caller]
    fn check_refused(patch: &Value, code: u16, message: &str) {
        let error = apply(&mut json!({"a": "x".repeat(1024 * 1024)}), patch).unwrap_err();
        assert_eq!((error.status_code(), error.to_string().as_str()), (code, message));
    }

    #[test]
    fn patches_that_are_no_list_of_operations_are_bad_requests() {
        let decoding = |cause: &str| format!("error decoding patch: json: cannot unmarshal {cause}");
        check_refused(
            &json!({}),
            400,
            &decoding("object into Go value of type []handlers.jsonPatchOp"),
        );
        check_refused(
            &json!([1]),
            400,
            &decoding("number into Go value of type handlers.jsonPatchOp"),
        );
        check_refused(
            &json!([{"op": 1}]),
            400,
            &decoding("number into Go struct field jsonPatchOp.op of type string"),
        );
    }

    #[test]
    fn patches_are_bounded() {
        let operations = vec![json!({"op": "test", "path": "/b", "value": null}); MAX_OPERATIONS + 1];
        check_refused(
            &Value::Array(operations),
            413,
            "The allowed maximum operations in a JSON patch is 10000, got 10001",
        );
        check_refused(
            &Value::Array(vec![json!({"op": "copy", "from": "/a", "path": "/b"}); 3]),
            422,
            "Unable to complete the copy, the accumulated size increase of copy is 3145734, exceeding the limit 3145728",
        );
    }

    #[test]
    fn fields_no_operation_has_are_named() {
        let patch = json!([{"op": "add"}, {"op": "add", "vaule": 1, "Path": "/a"}]);
        assert_eq!(
            super::unknown_fields(&patch),
            ["unknown field \"[1].Path\"", "unknown field \"[1].vaule\""]
        );
    }

    #[test]
    fn any_patch_is_applied_or_refused() {
        never_panics(|document, patch| {
            let _: Result<(), JsonPatchError> = apply(&mut document.clone(), patch);
        });
    }

    #[test]
    fn no_sequence_of_operations_nests_deeper_than_a_document_may() {
        let tower = (0..200).fold(json!({}), |below, _| json!({ "a": below }));
        let bottom = "/a".repeat(200);
        let round = [
            json!({"op": "add", "path": "/x", "value": tower}),
            json!({"op": "move", "from": "/y", "path": format!("/x{bottom}/y")}),
            json!({"op": "move", "from": "/x", "path": "/y"}),
        ];
        for rounds in 1..6 {
            let patch: Value = (0..rounds).flat_map(|_| round.clone()).collect();
            let mut document = json!({"y": {}});
            let outcome = apply(&mut document, &patch);
            assert_eq!(outcome.is_ok(), rounds <= 2, "{rounds} rounds: {outcome:?}");
            assert!(is_within(&document, MAX_DEPTH), "{rounds} rounds");
        }
    }
}
