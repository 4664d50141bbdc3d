//! Changes of a text, by the bytes they replace.

use std::ops::Range;

/// Other text for some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

impl Edit {
    pub fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self {
            range,
            text: text.into(),
        }
    }

    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    pub fn remove(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// The text with all edits made. They must not overlap; those at one place are made in their order.
pub(crate) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut changed = String::with_capacity(text.len());
    let mut copied = 0;
    for edit in edits {
        changed.push_str(&text[copied..edit.range.start.max(copied)]);
        changed.push_str(&edit.text);
        copied = edit.range.end.max(copied);
    }
    changed.push_str(&text[copied..]);
    changed
}
