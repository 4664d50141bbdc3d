//! Rendered text without the marks of places, and the way back from there to the template.

use std::collections::BTreeMap;

use crate::{
    problem::Place,
    template::{Source, Template},
    tokens::{self, Part},
};

pub(super) struct Map<'t> {
    template: &'t Template,
    pub(super) text: String,
    /// Where in the text each mark was, and its number.
    marks: Vec<(usize, usize)>,
    lines: Vec<usize>,
    /// The mark before each value, by the value's number.
    values: BTreeMap<usize, usize>,
}

impl<'t> Map<'t> {
    pub(super) fn new(template: &'t Template, rendered: &str) -> Self {
        let mut text = String::with_capacity(rendered.len());
        let mut marks: Vec<(usize, usize)> = Vec::new();
        let mut values = BTreeMap::new();
        for part in tokens::parts(rendered) {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Site(number) => marks.push((text.len(), number)),
                Part::Value(number) => {
                    let before = marks.last().filter(|(at, _)| *at == text.len());
                    values.extend(before.map(|(_, site)| (number, *site)));
                    let _ = tokens::write_value(&mut text, number);
                }
            }
        }
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self {
            template,
            text,
            marks,
            lines,
            values,
        }
    }

    /// Which text of the template wrote what is at a line and column, counted from one, and where in it that is.
    pub(super) fn origin(&self, line: u64, column: u64) -> (&'t Source, usize) {
        let line = (line.max(1) as usize - 1).min(self.lines.len() - 1);
        let start = self.lines[line];
        let column = column.max(1) as usize - 1;
        let rest = &self.text[start..];
        let at = rest
            .char_indices()
            .nth(column)
            .map_or(self.text.len(), |(at, _)| start + at);
        let index = self.marks.partition_point(|(mark, _)| *mark <= at);
        let Some((mark, number)) = index.checked_sub(1).map(|index| self.marks[index]) else {
            return (&self.template.sources()[0], 0);
        };
        let Some((source, offset)) = self.template.site(number) else {
            return (&self.template.sources()[0], 0);
        };
        // A tag stands for everything it wrote; text stands for itself.
        let is_tag = source.text[offset..].starts_with("{{");
        let within = if is_tag { 0 } else { at - mark };
        (source, (offset + within).min(source.text.len()))
    }

    /// The tag that printed a value.
    pub(super) fn tag(&self, number: usize) -> Option<(&'t Source, usize)> {
        self.template.site(*self.values.get(&number)?)
    }

    pub(super) fn place(&self, line: u64, column: u64) -> Place {
        let (source, offset) = self.origin(line, column);
        let (line, column) = crate::problem::line_and_column(&source.text, offset);
        Place {
            template: source.name.clone(),
            line,
            column,
        }
    }
}
