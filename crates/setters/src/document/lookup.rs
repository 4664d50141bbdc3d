//! Finding nodes by name.

use super::{Content, Document, Entry, Fragment, Id, Item, Scalar, Style, is_non_string};

impl Document {
    /// The fields of a mapping; none of anything else.
    pub fn entries(&self, id: Id) -> &[Entry] {
        match &self.nodes[id].content {
            Content::Mapping { entries, .. } => entries,
            _ => &[],
        }
    }

    pub fn items(&self, id: Id) -> &[Item] {
        match &self.nodes[id].content {
            Content::Sequence { items, .. } => items,
            _ => &[],
        }
    }

    pub fn scalar(&self, id: Id) -> Option<&Scalar> {
        match &self.nodes[id].content {
            Content::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text of a scalar.
    pub fn value(&self, id: Id) -> Option<&str> {
        self.scalar(id).map(|scalar| scalar.value.as_str())
    }

    pub fn is_mapping(&self, id: Id) -> bool {
        matches!(self.nodes[id].content, Content::Mapping { .. })
    }

    pub fn is_sequence(&self, id: Id) -> bool {
        matches!(self.nodes[id].content, Content::Sequence { .. })
    }

    /// Whether it is a mapping or a sequence without brackets.
    pub(crate) fn is_block(&self, id: Id) -> bool {
        matches!(
            self.nodes[id].content,
            Content::Mapping { is_flow: false, .. } | Content::Sequence { is_flow: false, .. }
        )
    }

    /// A copy of a value, to be written elsewhere; its comments stay where they are.
    pub(crate) fn fragment(&self, id: Id) -> Fragment {
        match &self.nodes[id].content {
            Content::Scalar(scalar) if scalar.style == Style::Plain && is_non_string(&scalar.value) => {
                Fragment::Plain(scalar.value.clone())
            }
            Content::Scalar(_) if self.is_null(id) => Fragment::Plain("null".to_owned()),
            Content::Scalar(scalar) => Fragment::text(&scalar.value),
            Content::Sequence { items, .. } => {
                Fragment::List(items.iter().map(|item| self.fragment(item.value)).collect())
            }
            Content::Mapping { entries, .. } => {
                let key = |entry: &Entry| self.value(entry.key).unwrap_or_default().to_owned();
                let entries = entries
                    .iter()
                    .map(|entry| (key(entry), self.fragment(entry.value)));
                Fragment::Map(entries.collect())
            }
            // An anchor may be out of reach where the copy goes.
            Content::Alias(target) => self.fragment(*target),
        }
    }

    /// Whether it is nothing, or says that it is null.
    pub fn is_null(&self, id: Id) -> bool {
        self.scalar(id).is_some_and(|scalar| {
            scalar.style == Style::Plain
                && !scalar.is_tagged
                && matches!(scalar.value.as_str(), "" | "~" | "null" | "Null" | "NULL")
        })
    }

    pub fn entry(&self, mapping: Id, key: &str) -> Option<&Entry> {
        let mut entries = self.entries(mapping).iter();
        entries.find(|entry| self.value(entry.key) == Some(key))
    }

    pub fn get(&self, mapping: Id, key: &str) -> Option<Id> {
        self.entry(mapping, key).map(|entry| entry.value)
    }

    /// What is found by one key after the other.
    pub fn find(&self, root: Id, path: &[&str]) -> Option<Id> {
        path.iter().try_fold(root, |at, key| self.get(at, key))
    }

    /// The text found by one key after the other; the empty text where there is none.
    pub fn text_at(&self, root: Id, path: &[&str]) -> &str {
        self.find(root, path)
            .and_then(|id| self.value(id))
            .unwrap_or_default()
    }
}
