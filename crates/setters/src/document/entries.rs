//! Fields of mappings: added, changed and removed in the style of those beside them.

use std::ops::Range;

use super::{Content, Document, Edit, Entry, Fragment, Id, Target, apply, fragment::Layout};
use crate::Problem;

impl Document {
    /// The text with a value at the end of a path below a root; mappings on the way are made where they are
    /// missing. A scalar that is there keeps its quotes.
    pub fn put(&self, root: Id, path: &[&str], value: Fragment) -> String {
        let mut at = root;
        for (index, key) in path.iter().enumerate() {
            let rest = &path[index + 1..];
            match self.entry(at, key) {
                None => return apply(&self.text, vec![self.insert_entry(at, key, &value.below(rest))]),
                Some(entry) if rest.is_empty() || !self.is_mapping(entry.value) => {
                    return apply(&self.text, self.replace_value(entry, &value.below(rest)));
                }
                Some(entry) => at = entry.value,
            }
        }
        self.text.clone()
    }

    /// The text without the field at the end of a path, if it is there.
    pub fn remove(&self, root: Id, path: &[&str]) -> Option<String> {
        let (last, path) = path.split_last()?;
        let mapping = self.find(root, path)?;
        let index = self
            .entries(mapping)
            .iter()
            .position(|entry| self.value(entry.key) == Some(last))?;
        Some(apply(&self.text, vec![self.remove_entry(mapping, index)]))
    }

    /// A field behind the last of a mapping.
    pub(crate) fn insert_entry(&self, mapping: Id, key: &str, value: &Fragment) -> Edit {
        let node = &self.nodes[mapping];
        let entry = Fragment::Map(vec![(key.to_owned(), value.clone())]);
        match &node.content {
            Content::Mapping {
                entries,
                is_flow: false,
            } => {
                let indent = entries
                    .first()
                    .map_or(0, |first| self.column(self.entry_start(first)));
                let at = self.line_end(node.span.end);
                let lines = entry.lines(indent, self.layout());
                Edit::insert(at, self.line_break().to_owned() + &lines)
            }
            Content::Mapping {
                entries,
                is_flow: true,
            } => {
                let is_json = entries
                    .first()
                    .is_some_and(|first| self.text[self.nodes[first.key].span.clone()].starts_with('"'));
                let written = entry.flow(is_json);
                let written = &written[1..written.len() - 1];
                match entries.last() {
                    Some(last) => {
                        let end = self.nodes[last.value].span.end.max(self.nodes[last.key].span.end);
                        Edit::insert(end, format!(", {written}"))
                    }
                    None => Edit::replace(node.span.clone(), format!("{{{written}}}")),
                }
            }
            _ => Edit::replace(node.span.clone(), entry.lines(0, self.layout())),
        }
    }

    /// Another value for a field.
    pub(crate) fn replace_value(&self, entry: &Entry, value: &Fragment) -> Vec<Edit> {
        let node = &self.nodes[entry.value];
        let scalar = match value {
            Fragment::Text(text) | Fragment::Quoted(text) => Some((text, Target::Text)),
            Fragment::Plain(text) => Some((text, Target::Plain)),
            _ => None,
        };
        let replaced = scalar.and_then(|(text, target)| self.replace_scalar(entry.value, text, target));
        if let Some(edit) = replaced {
            return vec![edit];
        }
        let is_flow = matches!(
            node.content,
            Content::Mapping { is_flow: true, .. } | Content::Sequence { is_flow: true, .. }
        );
        let (Some(colon), false) = (entry.colon, is_flow) else {
            return vec![Edit::replace(node.span.clone(), value.in_flow(false))];
        };
        if self.is_in_flow(entry.key) {
            return vec![Edit::replace(
                colon + 1..node.span.end,
                format!(" {}", value.in_flow(false)),
            )];
        }
        let indent = self.column(self.entry_start(entry));
        let written = value.after_colon(indent, self.layout());
        let header_end = self.line_end(colon);
        if node.start > header_end {
            // The old value is in lines of its own; what is beside the key may stay there.
            let lines = header_end..self.line_end(node.span.end);
            return match written.strip_prefix(' ') {
                Some(line) => vec![Edit::insert(colon + 1, format!(" {line}")), Edit::remove(lines)],
                None => vec![Edit::replace(lines, written)],
            };
        }
        let end = node.span.end.max(colon + 1);
        if written.starts_with(' ') {
            vec![Edit::replace(colon + 1..end, written)]
        } else {
            vec![
                Edit::remove(colon + 1..end),
                Edit::insert(self.line_end(end), written),
            ]
        }
    }

    /// Without a field, and the comments right above it.
    pub(crate) fn remove_entry(&self, mapping: Id, index: usize) -> Edit {
        let node = &self.nodes[mapping];
        let Content::Mapping { entries, is_flow } = &node.content else {
            return Edit::remove(0..0);
        };
        if entries.len() == 1 {
            return self.emptied(mapping, "{}");
        }
        if *is_flow {
            let bounds = |entry: &Entry| {
                self.entry_start(entry)
                    ..self.nodes[entry.value]
                        .span
                        .end
                        .max(self.nodes[entry.key].span.end)
            };
            return Edit::remove(Self::flow_part(
                &entries.iter().map(bounds).collect::<Vec<_>>(),
                index,
            ));
        }
        let start = self.entry_start(&entries[index]);
        let end = self.next_line(self.entry_end(&entries[index]));
        if self.begins_line(start) {
            return self.remove_lines(self.head_lines(start).start..end);
        }
        // The first key beside a dash: the next key takes its place.
        let next = entries.get(index + 1).map_or(end, |next| self.entry_start(next));
        Edit::remove(start..next)
    }

    /// Whole lines; of the last line of a text without a line break at its end, the one before it goes.
    pub(super) fn remove_lines(&self, lines: Range<usize>) -> Edit {
        let is_last = lines.end == self.text.len() && !self.text.ends_with('\n');
        let start = if is_last {
            self.text[..lines.start].trim_end_matches(['\n', '\r']).len()
        } else {
            lines.start
        };
        Edit::remove(start..lines.end)
    }

    /// A part of a flow and the comma it has with a neighbour.
    pub(super) fn flow_part(parts: &[Range<usize>], index: usize) -> Range<usize> {
        match (parts.get(index.wrapping_sub(1)), parts.get(index + 1)) {
            (_, Some(next)) => parts[index].start..next.start,
            (Some(previous), None) => previous.end..parts[index].end,
            (None, None) => parts[index].clone(),
        }
    }

    /// A collection that loses its last part; brackets stay where it was.
    pub(super) fn emptied(&self, collection: Id, brackets: &str) -> Edit {
        let span = self.nodes[collection].span.clone();
        let before = self.text[..span.start].trim_end();
        let begins_line = self.begins_line(span.start);
        if begins_line && before.ends_with([':', '-']) {
            return Edit::replace(before.len()..span.end, format!(" {brackets}"));
        }
        Edit::replace(span, brackets)
    }

    /// Where a field begins, with its `?` if it has one.
    pub(crate) fn entry_start(&self, entry: &Entry) -> usize {
        let key = self.nodes[entry.key].start;
        if entry.is_explicit {
            return self.text[..key].rfind('?').unwrap_or(key);
        }
        key
    }

    pub(crate) fn entry_end(&self, entry: &Entry) -> usize {
        let value = self.nodes[entry.value].span.end;
        value.max(
            entry
                .colon
                .map_or(self.nodes[entry.key].span.end, |colon| colon + 1),
        )
    }

    pub(super) fn layout(&self) -> Layout {
        Layout {
            list_offset: self.list_offset(),
            line_break: self.line_break(),
        }
    }

    /// How far the first list below a key is indented; not at all, as the reference writes them, without one.
    fn list_offset(&self) -> usize {
        let entries = self.nodes.iter().flat_map(|node| match &node.content {
            Content::Mapping { entries, .. } => entries.as_slice(),
            _ => &[],
        });
        let mut offsets = entries.filter_map(|entry| {
            let dash = self.items(entry.value).first()?.dash?;
            self.column(dash)
                .checked_sub(self.column(self.entry_start(entry)))
        });
        offsets.next().unwrap_or(0)
    }

    /// A complaint about a node.
    pub(crate) fn problem(&self, file: &str, id: Id, message: impl Into<String>) -> Problem {
        let (line, column) = self.place(self.nodes[id].span.start);
        Problem::new(message).at(file, line, column)
    }
}
