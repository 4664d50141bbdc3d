//! What is wrong with a document, in the words of kubectl's reader instead of our parser's.

use serde_json::Value;

use super::YamlError;
use crate::field::quoted;

/// Where our parser says something else, by the beginning of what it says.
const TRANSLATIONS: &[(&str, &str)] = &[
    ("unexpected character", CANNOT_START),
    ("tabs disallowed", CANNOT_START),
    ("tab cannot be used as indentation", CANNOT_START),
    ("unclosed quote", "found unexpected end of stream"),
    ("unclosed bracket '['", "did not find expected ',' or ']'"),
    ("unclosed bracket '{'", "did not find expected ',' or '}'"),
    ("expected ',' or ']'", "did not find expected ',' or ']'"),
    ("invalid trailing content after", KEY),
    ("misplaced bracket", "did not find expected node content"),
    ("simple key expected", "could not find expected ':'"),
    ("simple key is no longer valid", "could not find expected ':'"),
    (
        "did not find expected hexadecimal number",
        "did not find expected hexdecimal number",
    ),
];

pub(super) const CANNOT_START: &str = "found character that cannot start any token";
pub(super) const KEY: &str = "did not find expected key";

/// What the reader's second stage finds; its lines are one too low.
const OF_PARSER: &[&str] = &[
    KEY,
    "did not find expected ',' or ']'",
    "did not find expected ',' or '}'",
    "did not find expected '-' indicator",
    "did not find expected node content",
    "did not find expected <document start>",
];

/// The problem alone: not the place, which our parser adds behind it, nor what it was doing, which
/// it says before.
pub(super) fn words(message: &str) -> String {
    let problem = message.split(" at line ").next().unwrap_or(message);
    let problem = match problem.split_once(", ") {
        Some((doing, problem)) if doing.starts_with("while ") => problem,
        _ => problem,
    };
    TRANSLATIONS
        .iter()
        .find(|(ours, _)| problem.starts_with(ours))
        .map_or(problem, |(_, theirs)| theirs)
        .to_owned()
}

/// Whether a list or mapping is still open when the document ends.
pub(super) fn is_missing_end(message: &str) -> bool {
    message.starts_with("unclosed bracket")
}

/// Whether it may be a tab that no token can start with.
pub(super) fn is_of_tab(error: &YamlError) -> bool {
    error.message == CANNOT_START
}

/// How a key that no JSON has is complained about.
pub(super) const BAD_KEY: &str = "unsupported map key of type: ";

/// The problem as it is told. What is found when a document becomes JSON is not a matter of YAML, and
/// has no place.
pub(super) fn shown(line: u64, problem: &str) -> String {
    if problem.starts_with("json: ") || problem.starts_with(BAD_KEY) {
        return problem.to_owned();
    }
    format!("yaml: {}{problem}", place(line, problem))
}

/// A value as Go would write it in a program; of lists and mappings, which take many words there,
/// their JSON.
pub(super) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// The line as it is shown before the problem, if it is.
fn place(line: u64, problem: &str) -> String {
    let shown = match line {
        0 | 1 => 0,
        line if OF_PARSER.contains(&problem) => line - 1,
        line => line,
    };
    if shown == 0 {
        String::new()
    } else {
        format!("line {shown}: ")
    }
}
