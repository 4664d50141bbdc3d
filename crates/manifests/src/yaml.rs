//! YAML as kubectl reads it: YAML 1.1 booleans and octal file modes, merge keys, keys that are not
//! strings turned into strings, and numbers as JSON has them.

mod nodes;
mod problem;
mod scalars;
mod source;
mod tabs;
pub mod timestamps;
mod values;
mod write;

use serde_json::Value;

use crate::json;
pub use crate::json::Parsed;
pub use nodes::{Content, Documents, Index, Node, Place, Tree};
pub use scalars::{Meaning, Scalar, Style, resolve};
use source::Source;
pub use write::{compare_keys, is_plain_text, shortest_float, write};

/// Mappings and lists may nest this deep. Less than in JSON: reading a level takes far more stack.
pub const MAX_DEPTH: usize = 128;

/// One document of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The line its first value is on, counted from one.
    pub line: u64,
    pub value: Value,
    /// `line 5: key "a" already set in map`, in the order of the document.
    pub duplicates: Vec<String>,
}

/// What is wrong and where; lines and columns are counted from one, zero when unknown. Shown in the
/// words of kubectl's reader, which says the line only from the second on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problem::shown(*line, message))]
pub struct YamlError {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

/// A value as a YAML document. A value always has one; should the writer refuse it, JSON is YAML too.
pub fn to_string(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Reads every document that is not empty.
pub fn parse_documents(text: &str) -> Result<Vec<Document>, YamlError> {
    read(text, |documents| {
        let mut read = Vec::new();
        while let Some(tree) = documents.next()? {
            let (value, duplicates) = values::read(&tree)?;
            if !value.is_null() {
                read.push(Document {
                    line: tree.nodes[tree.root].place.line,
                    value,
                    duplicates,
                });
            }
        }
        Ok(read)
    })
}

/// Reads a text as kubectl's reader does, which knows another YAML than our parser: what only the parser refuses is
/// written in another way, and read again.
pub fn read<T>(
    text: &str,
    read: impl Fn(&mut Documents<'_>) -> Result<T, YamlError>,
) -> Result<T, YamlError> {
    let mut source = Source::new(text);
    let mut of_tab = None;
    loop {
        let error = match read(&mut Documents::of(&source)) {
            Ok(result) => return Ok(result),
            // Without tabs it can be read, but not all of them may be where they are.
            Err(error) if error.message == tabs::WRONG => return Err(of_tab.unwrap_or(error)),
            Err(error) => error,
        };
        source = source.repaired(&error).ok_or_else(|| error.clone())?;
        of_tab = of_tab.or(Some(error).filter(problem::is_of_tab));
    }
}

/// Reads the first document and nothing behind it; an empty one is null.
pub fn parse(bytes: &[u8]) -> Result<Parsed, YamlError> {
    // Most clients send JSON, which is YAML but many times faster to read as what it is. Repeated
    // keys are left to the YAML reader, which reports them by their line.
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(parsed) = json::parse(bytes)
        && parsed.duplicates.is_empty()
    {
        return Ok(parsed);
    }
    let text = str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let (value, duplicates) = read(text, |documents| {
        let tree = documents.next()?;
        tree.as_ref().map_or_else(|| Ok(Default::default()), values::read)
    })?;
    Ok(Parsed { value, duplicates })
}

/// The line of a value in the first document: by the names and numbers that lead to it, of which the last
/// may be missing. Names are found in any case.
pub fn line_of(text: &str, path: &[String]) -> Option<u64> {
    let tree = Documents::new(text).next().ok()??;
    let (mut at, mut line) = (tree.root, tree.nodes[tree.root].place.line);
    for step in path {
        let Some((place, next)) = tree.step(at, step) else {
            break;
        };
        (line, at) = (place.line, next);
    }
    Some(line)
}

/// How strict decoding reports repeated keys, in one error for all of them.
pub fn duplicates_error(duplicates: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))
}

fn not_utf8(bytes: &[u8], valid: usize) -> YamlError {
    let before = &bytes[..valid];
    let line = before.split(|byte| *byte == b'\n').count() as u64;
    let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) as u64 + 1;
    YamlError {
        line,
        column,
        message: "invalid UTF-8".to_owned(),
    }
}

#[cfg(test)]
mod tests;
