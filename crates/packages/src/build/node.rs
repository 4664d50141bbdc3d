//! A document while it is changed. Scalars keep their text, tag and style: what they mean is decided when
//! they are written, because a change of text may or may not change the type, as it does in the reference.

mod read;
mod resolve;
mod value;

pub(super) use manifests::yaml::Style;
pub(super) use read::{Documents, ReadProblem, read_documents, read_first};
pub(super) use resolve::{Resolved, resolve};
pub(super) use value::{from_value, into_value, to_value};

/// Where something was written: the number of a file, and a line and column counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub(super) file: u16,
    pub(super) line: u32,
    pub(super) column: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    pub(super) at: At,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Map),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) tag: Tag,
    pub(super) style: Style,
    /// Scalars of an object with the same number are one in the reference, see [`super::links`]; zero for
    /// those that stand alone.
    pub(super) link: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Tag {
    /// Made by a transformer without saying what it is: text that looks like a number is one.
    #[default]
    None,
    Text,
    Integer,
    Float,
    Bool,
    Null,
    Time,
    Merge,
    Binary,
    Other(Box<str>),
}

/// Entries in the order they were written. A name may stand there twice until the document is written;
/// the first is the one that is seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Scalar,
    pub(super) at: At,
    pub(super) value: Node,
}

impl Scalar {
    pub(super) fn new(text: impl Into<String>, tag: Tag) -> Self {
        Self {
            text: text.into(),
            tag,
            ..Self::default()
        }
    }

    /// Whether it is text, or something made whose type nobody gave.
    pub(super) fn may_be_text(&self) -> bool {
        matches!(self.tag, Tag::Text | Tag::None)
    }

    /// Text that a reader would take for something else gets quotes when it is put into a map.
    pub(super) fn protect(&mut self) {
        let is_bare = self.may_be_text() && self.style == Style::Plain;
        let is_text = || {
            matches!(
                manifests::yaml::resolve(&self.text),
                manifests::yaml::Meaning::Text(_)
            )
        };
        if is_bare && !self.text.is_empty() && !is_text() {
            self.style = Style::DoubleQuoted;
        }
    }
}

impl Node {
    pub(super) fn new(content: Content) -> Self {
        Self {
            content,
            at: At::default(),
        }
    }

    pub(super) fn scalar(scalar: Scalar) -> Self {
        Self::new(Content::Scalar(scalar))
    }

    /// A scalar whose type nobody gave.
    pub(super) fn bare(text: impl Into<String>) -> Self {
        Self::scalar(Scalar::new(text, Tag::None))
    }

    pub(super) fn string(text: impl Into<String>) -> Self {
        Self::scalar(Scalar::new(text, Tag::Text))
    }

    pub(super) fn map() -> Self {
        Self::new(Content::Map(Map::default()))
    }

    pub(super) fn list() -> Self {
        Self::new(Content::List(Vec::new()))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.tag == Tag::Null)
    }

    /// Null, an empty map or an empty list.
    pub(super) fn is_empty(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.tag == Tag::Null,
            Content::List(items) => items.is_empty(),
            Content::Map(map) => map.entries.is_empty(),
        }
    }

    pub(super) fn as_map(&self) -> Option<&Map> {
        match &self.content {
            Content::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.content {
            Content::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn as_scalar(&self) -> Option<&Scalar> {
        match &self.content {
            Content::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[Node]> {
        match &self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a scalar; maps and lists have none.
    pub(super) fn text(&self) -> &str {
        self.as_scalar().map_or("", |scalar| &scalar.text)
    }

    /// The text of a scalar that is not null.
    pub(super) fn value_text(&self) -> &str {
        if self.is_null() { "" } else { self.text() }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.as_map()?.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.as_map_mut()?.get_mut(name)
    }

    /// What it is, for messages.
    pub(super) fn shape(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) if scalar.tag == Tag::Null => "null",
            Content::Scalar(_) => "a scalar",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// Puts another scalar in the place of this one, in the style of this one.
    pub(super) fn replace_scalar(&mut self, mut scalar: Scalar) {
        if let Content::Scalar(own) = &self.content {
            scalar.style = own.style;
            scalar.link = own.link;
        }
        self.content = Content::Scalar(scalar);
    }

    /// What was there before is where it was; everything else comes from a place.
    pub(super) fn place_after(&mut self, before: &Node, at: At) {
        self.at = before.at;
        match (&mut self.content, &before.content) {
            (Content::Scalar(own), Content::Scalar(old)) if own.text == old.text => {}
            (Content::List(items), Content::List(old)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    match old.get(index) {
                        Some(before) => item.place_after(before, at),
                        None => item.place_at(at),
                    }
                }
            }
            (Content::Map(map), Content::Map(old)) => {
                for entry in &mut map.entries {
                    let before = old.entries.iter().find(|it| it.key.text == entry.key.text);
                    entry.at = before.map_or(at, |before| before.at);
                    match before {
                        Some(before) => entry.value.place_after(&before.value, at),
                        None => entry.value.place_at(at),
                    }
                }
            }
            _ => self.place_at(at),
        }
    }

    /// Everything below it comes from this place.
    pub(super) fn place_at(&mut self, at: At) {
        self.at = at;
        match &mut self.content {
            Content::Scalar(_) => {}
            Content::List(items) => items.iter_mut().for_each(|item| item.place_at(at)),
            Content::Map(map) => map.entries.iter_mut().for_each(|entry| {
                entry.at = at;
                entry.value.place_at(at);
            }),
        }
    }
}

impl Map {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        let entry = self.entries.iter().find(|entry| entry.key.text == name)?;
        Some(&entry.value)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        let entry = self.entries.iter_mut().find(|entry| entry.key.text == name)?;
        Some(&mut entry.value)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Node> {
        let index = self.entries.iter().position(|entry| entry.key.text == name)?;
        Some(self.entries.remove(index).value)
    }

    /// Sets an entry. One that is there keeps its style; null removes it.
    pub(super) fn set(&mut self, name: &str, value: Node) {
        self.set_keyed(Scalar::new(name, Tag::None), value);
    }

    pub(super) fn set_keyed(&mut self, key: Scalar, mut value: Node) {
        if value.is_null() {
            self.remove(&key.text);
            return;
        }
        if let Content::Scalar(scalar) = &mut value.content {
            scalar.protect();
        }
        match self.get_mut(&key.text) {
            Some(existing) => {
                let own = existing.as_scalar().map(|own| (own.style, own.link));
                if let Content::Scalar(scalar) = &mut value.content {
                    (scalar.style, scalar.link) = own.unwrap_or_default();
                }
                // What nobody wrote anew is where that stood which it takes the place of.
                if value.at.line == 0 || own.is_some() && value.text() == existing.text() {
                    value.at = existing.at;
                }
                *existing = value;
            }
            None => self.push(key, value),
        }
    }

    pub(super) fn push(&mut self, key: Scalar, value: Node) {
        let at = value.at;
        self.entries.push(Entry { key, at, value });
    }

    /// An entry, made first where it is missing.
    pub(super) fn get_or_insert(&mut self, name: &str, value: impl FnOnce() -> Node) -> &mut Node {
        let index = self
            .entries
            .iter()
            .position(|entry| entry.key.text == name)
            .unwrap_or_else(|| {
                self.push(Scalar::new(name, Tag::None), value());
                self.entries.len() - 1
            });
        &mut self.entries[index].value
    }
}
