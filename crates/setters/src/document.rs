//! A YAML text as its author wrote it: a tree of nodes that knows the bytes of each. Changes are edits of the
//! text, so that every byte nobody asked to change stays as it is.

mod build;
mod comments;
mod edit;
mod entries;
mod fragment;
mod items;
mod lookup;
mod scalar;

use std::ops::Range;

pub use edit::Edit;
pub(crate) use edit::apply;
pub use fragment::Fragment;
pub use scalar::{Style, is_non_string};
pub(crate) use scalar::{Target, plain_text, quoted};

/// The number of a node in its text.
pub type Id = usize;

/// All documents of a text.
#[derive(Debug)]
pub struct Document {
    text: String,
    nodes: Vec<Node>,
    roots: Vec<Id>,
}

/// A value and the bytes it was written with.
#[derive(Debug)]
pub struct Node {
    /// Its bytes: of a block from its first key or dash, of a block scalar from its indicator; without anchor
    /// and tag.
    pub span: Range<usize>,
    /// Where its anchor or tag begins, if it has one; otherwise where it begins.
    pub start: usize,
    pub content: Content,
}

#[derive(Debug)]
pub enum Content {
    Scalar(Scalar),
    Sequence {
        items: Vec<Item>,
        is_flow: bool,
    },
    Mapping {
        entries: Vec<Entry>,
        is_flow: bool,
    },
    /// Of a node that is written elsewhere.
    Alias(Id),
}

#[derive(Debug)]
pub struct Scalar {
    /// What it means: without quotes, escapes and folds. Nothing written is the empty text.
    pub value: String,
    pub style: Style,
    /// Whether a tag (`!!str`) says what it is.
    pub is_tagged: bool,
}

/// A field of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: Id,
    pub value: Id,
    /// Where the `:` is; a key alone in a flow has none.
    pub colon: Option<usize>,
    /// Written as `? key`.
    pub is_explicit: bool,
}

/// An element of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub value: Id,
    /// Where the `-` is, in a block.
    pub dash: Option<usize>,
}

impl Document {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The outermost values, one for each document that has any.
    pub fn roots(&self) -> &[Id] {
        &self.roots
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Every node, in the order they end.
    pub fn nodes(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().enumerate()
    }

    /// Line and column of a byte, both counted from one.
    pub fn place(&self, offset: usize) -> (u64, u64) {
        let before = &self.text[..offset.min(self.text.len())];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() as u64 + 1;
        (line, column)
    }

    fn line_start(&self, offset: usize) -> usize {
        self.text[..offset].rfind('\n').map_or(0, |found| found + 1)
    }

    /// Where the line of a byte ends, before its line break.
    pub(crate) fn line_end(&self, offset: usize) -> usize {
        let rest = &self.text[offset..];
        let end = rest.find('\n').unwrap_or(rest.len());
        offset + rest[..end].trim_end_matches('\r').len()
    }

    /// Where the next line begins; the end of the text when there is none.
    fn next_line(&self, offset: usize) -> usize {
        let found = self.text[offset..].find('\n');
        found.map_or(self.text.len(), |found| offset + found + 1)
    }

    /// How many bytes into its line something is.
    pub(crate) fn column(&self, offset: usize) -> usize {
        offset - self.line_start(offset)
    }

    /// The line break its author uses.
    pub(crate) fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Whether nothing but blanks is before a byte in its line.
    fn begins_line(&self, offset: usize) -> bool {
        let before = &self.text[self.line_start(offset)..offset];
        before.bytes().all(|byte| byte == b' ' || byte == b'\t')
    }
}

#[cfg(test)]
mod tests;
