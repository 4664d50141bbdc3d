//! Where tabs may not stand. The parser follows YAML 1.2, which lets them separate tokens; kubectl's
//! reader takes none where the indentation of a block or a dash leads up to a token.

use granit_parser::{Marker, ScalarStyle, Span};

use super::{YamlError, nodes::Place};

/// What is said of a tab that must not be where it is.
pub(super) const WRONG: &str = "found a tab where spaces must indent";

/// Watches over the lines of a text while it is parsed.
pub(super) struct Tabs<'a> {
    text: &'a str,
    /// The first line that has not been looked at: its number, and where it begins.
    line: u64,
    start: usize,
    /// In the order of the text.
    free: Vec<Free>,
}

/// A stretch of text in which tabs are not indentation, from some column on.
struct Free {
    start: usize,
    end: usize,
    column: usize,
}

impl<'a> Tabs<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            line: 1,
            start: 0,
            free: Vec::new(),
        }
    }

    /// A scalar, and the column of the block it is in.
    pub(super) fn scalar(&mut self, span: &Span, style: ScalarStyle, block: Option<usize>) {
        let (start, mut end) = (self.offset(&span.start), self.offset(&span.end));
        let mut column = 0;
        if style == ScalarStyle::Plain {
            // It might go on behind the blank lines that follow, so these must be indented as it is.
            let rest = &self.text[end..];
            end += rest.len() - rest.trim_start().len();
            column = block.map_or(0, |column| column + 1);
        }
        self.free.push(Free { start, end, column });
    }

    /// A list or mapping in brackets, with all that is inside.
    pub(super) fn flow(&mut self, start: &Span, end: &Span) {
        let (start, end) = (self.offset(&start.start), self.offset(&end.end));
        self.free.retain(|inner| inner.start < start);
        self.free.push(Free {
            start,
            end,
            column: 0,
        });
    }

    /// Looks at the lines of a document that ends here.
    pub(super) fn check(&mut self, end: &Span) -> Result<(), YamlError> {
        self.check_to(self.offset(&end.start))
    }

    /// Looks at the lines that are left.
    pub(super) fn check_rest(&mut self) -> Result<(), YamlError> {
        self.check_to(self.text.len())
    }

    fn check_to(&mut self, end: usize) -> Result<(), YamlError> {
        let mut free = std::mem::take(&mut self.free).into_iter().peekable();
        while self.start < end {
            while free.next_if(|free| free.end <= self.start).is_some() {}
            let covering = free.peek().filter(|free| free.start < self.start);
            let rest = &self.text[self.start..];
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            if let Some(column) = wrong_tab(line, self.start, covering) {
                let place = Place {
                    line: self.line,
                    column: column as u64 + 1,
                };
                return Err(place.error(WRONG));
            }
            self.line += 1;
            self.start += line.len();
        }
        Ok(())
    }

    fn offset(&self, marker: &Marker) -> usize {
        marker.byte_offset().unwrap_or(self.text.len())
    }
}

/// The column of a tab that must not be in front of a line.
fn wrong_tab(line: &str, start: usize, free: Option<&Free>) -> Option<usize> {
    let mut bytes = line.bytes().enumerate().peekable();
    while let Some((column, byte)) = bytes.next() {
        let free = free.filter(|free| start + column < free.end);
        let is_blank_next = matches!(bytes.peek(), Some((_, b' ' | b'\t')));
        match byte {
            b' ' => {}
            b'\t' if free.is_some_and(|free| column >= free.column) => {}
            b'\t' => return Some(column),
            b'-' | b'?' | b':' if free.is_none() && is_blank_next => {}
            _ => return None,
        }
    }
    None
}
