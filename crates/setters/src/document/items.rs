//! Elements of sequences: added, removed and moved.

use std::ops::Range;

use super::{Content, Document, Edit, Fragment, Id, Item};

impl Document {
    /// An element behind the last of a sequence.
    pub(crate) fn insert_item(&self, sequence: Id, value: &Fragment) -> Edit {
        let node = &self.nodes[sequence];
        let Content::Sequence { items, is_flow } = &node.content else {
            return Edit::remove(0..0);
        };
        let Some(last) = items.last() else {
            return Edit::replace(node.span.clone(), format!("[{}]", value.in_flow(false)));
        };
        if *is_flow {
            return Edit::insert(
                self.nodes[last.value].span.end,
                format!(", {}", value.in_flow(false)),
            );
        }
        let indent = last.dash.map_or(0, |dash| self.column(dash));
        let lines = Fragment::List(vec![value.clone()]).lines(indent, self.layout());
        Edit::insert(
            self.line_end(self.item_end(last)),
            self.line_break().to_owned() + &lines,
        )
    }

    /// Without an element, and the comments right above it.
    pub(crate) fn remove_item(&self, sequence: Id, index: usize) -> Edit {
        let Content::Sequence { items, is_flow } = &self.nodes[sequence].content else {
            return Edit::remove(0..0);
        };
        if items.len() == 1 {
            return self.emptied(sequence, "[]");
        }
        let item = &items[index];
        if *is_flow {
            let bounds = |item: &Item| self.nodes[item.value].start..self.nodes[item.value].span.end;
            return Edit::remove(Self::flow_part(
                &items.iter().map(bounds).collect::<Vec<_>>(),
                index,
            ));
        }
        let start = item.dash.unwrap_or(self.nodes[item.value].start);
        if self.begins_line(start) {
            return self.remove_lines(self.head_lines(start).start..self.next_line(self.item_end(item)));
        }
        // The first element beside an outer dash: the next takes its place.
        let next = items.get(index + 1).and_then(|next| next.dash);
        Edit::remove(start..next.unwrap_or_else(|| self.item_end(item)))
    }

    /// The elements of a sequence in another order, each with its comments.
    pub(crate) fn reorder_items(&self, sequence: Id, order: &[usize]) -> Vec<Edit> {
        let Content::Sequence { items, is_flow } = &self.nodes[sequence].content else {
            return Vec::new();
        };
        let owns_lines = |item: &Item| item.dash.is_some_and(|dash| self.begins_line(dash));
        let by_lines = !is_flow && items.iter().all(owns_lines);
        let part = |item: &Item| -> Range<usize> {
            let start = item.dash.unwrap_or(self.nodes[item.value].start);
            if by_lines {
                self.head_lines(start).start..self.line_end(self.item_end(item))
            } else {
                start..self.item_end(item)
            }
        };
        let parts: Vec<Range<usize>> = items.iter().map(part).collect();
        let is_moved = |(place, from): &(usize, &usize)| place != *from;
        let moved = order.iter().enumerate().filter(is_moved);
        moved
            .map(|(place, from)| {
                Edit::replace(parts[place].clone(), self.text[parts[*from].clone()].to_owned())
            })
            .collect()
    }

    fn item_end(&self, item: &Item) -> usize {
        self.nodes[item.value]
            .span
            .end
            .max(item.dash.map_or(0, |dash| dash + 1))
    }
}
