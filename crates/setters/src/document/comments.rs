//! Comments that belong to a node: behind it in its line, or in the lines above it.

use std::ops::Range;

use super::{Content, Document, Edit, Entry, Id, Style};

impl Document {
    /// The comment behind a value, with its `#`. Behind a block scalar it stands beside the indicator, and a
    /// block collection has none.
    pub fn line_comment(&self, id: Id) -> Option<Range<usize>> {
        let node = &self.nodes[id];
        match &node.content {
            Content::Scalar(scalar) if matches!(scalar.style, Style::Literal | Style::Folded) => {
                let header = node.span.start..self.line_end(node.span.start);
                let found = self.text[header.clone()].find(" #")?;
                Some(header.start + found + 1..header.end)
            }
            Content::Mapping { is_flow: false, .. } | Content::Sequence { is_flow: false, .. } => None,
            _ => self.comment_behind(node.span.end),
        }
    }

    /// The comment behind the colon of a field whose value begins in a later line.
    pub fn key_comment(&self, entry: &Entry) -> Option<Range<usize>> {
        let colon = entry.colon?;
        let value = &self.nodes[entry.value];
        let is_below = value.start > self.line_end(colon) || value.span.is_empty();
        if is_below {
            self.comment_behind(colon + 1)
        } else {
            None
        }
    }

    /// The comment above something that begins its line, with its `#`, if it is of one line.
    pub fn head_comment(&self, offset: usize) -> Option<Range<usize>> {
        let lines = self.head_lines(offset);
        let text = self.text[lines.clone()].trim();
        let start = lines.start + self.text[lines].find('#')?;
        (!text.contains('\n')).then(|| start..start + text.len())
    }

    /// The lines of comments right above something that begins its line.
    pub(crate) fn head_lines(&self, offset: usize) -> Range<usize> {
        let end = self.line_start(offset);
        let mut start = end;
        if self.begins_line(offset) {
            while start > 0 {
                let above = self.line_start(start - 1);
                if !self.text[above..start].trim_start().starts_with('#') {
                    break;
                }
                start = above;
            }
        }
        start..end
    }

    fn comment_behind(&self, offset: usize) -> Option<Range<usize>> {
        let end = self.line_end(offset);
        let rest = &self.text[offset..end];
        let trimmed = rest.trim_start_matches([' ', '\t', ',']);
        let is_comment = trimmed.starts_with('#') && trimmed.len() < rest.len();
        is_comment.then(|| end - trimmed.len()..end)
    }
}

impl Document {
    /// Where the comment of a value is, or else where it would be: behind the value, behind the indicator of a
    /// block scalar, behind the colon of a list in lines of its own.
    pub(crate) fn comment_place(&self, id: Id) -> (Option<Range<usize>>, usize) {
        let node = &self.nodes[id];
        match &node.content {
            Content::Scalar(scalar) if matches!(scalar.style, Style::Literal | Style::Folded) => {
                (self.line_comment(id), self.line_end(node.span.start))
            }
            Content::Sequence { is_flow: false, .. } => {
                let entry = self.nodes.iter().find_map(|parent| match &parent.content {
                    Content::Mapping { entries, .. } => entries.iter().find(|entry| entry.value == id),
                    _ => None,
                });
                let colon = entry
                    .and_then(|entry| entry.colon)
                    .map_or(node.span.start, |colon| colon + 1);
                (entry.and_then(|entry| self.key_comment(entry)), colon)
            }
            _ => (self.line_comment(id), node.span.end),
        }
    }

    /// Writes a comment behind a place. What follows in the line goes to the next.
    pub(crate) fn comment_edit(&self, at: usize, comment: &str) -> Edit {
        let end = self.line_end(at);
        let rest = self.text[at..end].trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return Edit::replace(at..end, format!(" {comment}"));
        }
        let comma = rest.starts_with(',');
        let rest = rest.trim_start_matches(',').trim_start();
        let margin = " ".repeat(
            self.text[self.line_start(at)..].len()
                - self.text[self.line_start(at)..].trim_start_matches(' ').len()
                + 2,
        );
        let sign = if comma { "," } else { "" };
        Edit::replace(
            at..end - rest.len(),
            format!("{sign} {comment}{}{margin}", self.line_break()),
        )
    }

    /// Writes a comment in a line of its own above a value.
    pub(crate) fn comment_above(&self, id: Id, comment: &str) -> Edit {
        let line = self.line_start(self.nodes[id].start);
        let indentation = self.text[line..].len() - self.text[line..].trim_start_matches(' ').len();
        let margin = " ".repeat(indentation);
        Edit::insert(line, format!("{margin}{comment}{}", self.line_break()))
    }
}
