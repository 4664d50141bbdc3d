//! Strategic merge: maps are merged, scalars replaced, null removes, and lists are merged where their
//! schema gives keys. Every map on the way is walked, also where the patch has nothing: that is how the
//! reference drops empty values and elements of a list that are there twice.

mod directive;
mod elements;
mod lists;

use std::collections::HashSet;

use self::directive::Directive;
use super::{
    node::{At, Content, Node, Scalar, Tag},
    problem::{Outcome, Problem},
    schema::{Definitions, Schema},
};

/// Whether anything of the object is left.
pub(super) fn merge(definitions: &Definitions, object: &mut Node, mut patch: Node) -> Outcome<bool> {
    let merger = Merger { definitions };
    match merger.walk(Some(object), Some(&mut patch), None)? {
        Walked::Removed => Ok(false),
        Walked::Ours => Ok(true),
        Walked::Patch => {
            *object = patch;
            Ok(true)
        }
    }
}

/// Which of the two a place holds afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walked {
    Removed,
    Ours,
    Patch,
}

struct Merger<'d> {
    definitions: &'d Definitions,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Scalar,
    List,
    Map,
}

impl<'d> Merger<'d> {
    fn walk(
        &self,
        ours: Option<&mut Node>,
        patch: Option<&mut Node>,
        schema: Option<Schema<'d>>,
    ) -> Outcome<Walked> {
        let (our_shape, patch_shape) = (shape(ours.as_deref()), shape(patch.as_deref()));
        if let (Some(own), Some(other)) = (&our_shape, &patch_shape)
            && own != other
        {
            return Err(mismatch(ours.as_deref(), patch.as_deref()));
        }
        let schema = schema.or_else(|| {
            self.schema_of(ours.as_deref())
                .or_else(|| self.schema_of(patch.as_deref()))
        });
        match our_shape.or(patch_shape) {
            Some(Shape::Scalar) => Ok(patch.map_or(Walked::Ours, |_| Walked::Patch)),
            Some(Shape::List) => match schema.and_then(Schema::merge_keys) {
                Some(keys) => self.lists(ours, patch, schema, &keys),
                None => Ok(patch.map_or(Walked::Ours, |_| Walked::Patch)),
            },
            Some(Shape::Map) | None => self.maps(ours, patch, schema),
        }
    }

    /// Objects within objects are known by their own kind.
    fn schema_of(&self, node: Option<&Node>) -> Option<Schema<'d>> {
        let map = node?.as_map()?;
        let kind = map
            .get("kind")
            .map(Node::value_text)
            .filter(|kind| !kind.is_empty())?;
        let api_version = map.get("apiVersion").map(Node::value_text)?;
        self.definitions.of_kind(api_version, kind)
    }

    fn maps(
        &self,
        ours: Option<&mut Node>,
        patch: Option<&mut Node>,
        schema: Option<Schema<'d>>,
    ) -> Outcome<Walked> {
        let Some(ours) = ours.filter(|ours| !ours.is_null() || patch.is_none()) else {
            return self.adopt_map(patch, schema);
        };
        if ours.is_null() {
            // `null` and `~` stay, a value that is missing does not.
            let stays = !ours.text().is_empty();
            return Ok(if stays { Walked::Ours } else { Walked::Removed });
        }
        let Some(patch) = patch else {
            self.fields(ours, None, schema)?;
            return Ok(Walked::Ours);
        };
        if patch.is_null() {
            return Ok(Walked::Removed);
        }
        match directive::of_map(patch)? {
            Directive::Delete => Ok(Walked::Removed),
            Directive::Replace => {
                self.adopt_fields(patch, schema)?;
                Ok(Walked::Patch)
            }
            Directive::Merge => {
                self.fields(ours, Some(patch), schema)?;
                Ok(Walked::Ours)
            }
        }
    }

    /// What the patch brings where nothing was.
    fn adopt_map(&self, patch: Option<&mut Node>, schema: Option<Schema<'d>>) -> Outcome<Walked> {
        let Some(patch) = patch.filter(|patch| !patch.is_null()) else {
            return Ok(Walked::Removed);
        };
        if matches!(directive::of_map(patch), Ok(Directive::Delete)) {
            return Ok(Walked::Removed);
        }
        self.adopt_fields(patch, schema)?;
        Ok(Walked::Patch)
    }

    fn fields(&self, ours: &mut Node, patch: Option<&mut Node>, schema: Option<Schema<'d>>) -> Outcome {
        let (Some(ours), mut patch) = (ours.as_map_mut(), patch.and_then(Node::as_map_mut)) else {
            return Ok(());
        };
        let field_schema = |name: &str| schema.and_then(|schema| schema.field(name));
        let mut index = 0;
        while index < ours.entries.len() {
            let entry = &mut ours.entries[index];
            let name = &entry.key.text;
            let theirs = patch.as_deref_mut().and_then(|patch| patch.get_mut(name));
            let theirs = theirs.filter(|theirs| !is_taken(theirs));
            let walked = self.walk(Some(&mut entry.value), theirs, field_schema(name))?;
            match walked {
                Walked::Ours => {
                    // It is put back as what it is by then: text that nobody quoted becomes text for good.
                    if let Content::Scalar(scalar) = &mut entry.value.content {
                        scalar.protect();
                    }
                    index += 1;
                }
                Walked::Removed => {
                    ours.entries.remove(index);
                }
                Walked::Patch => {
                    let name = entry.key.text.clone();
                    let theirs = patch.as_deref_mut().and_then(|patch| patch.get_mut(&name));
                    let count = ours.entries.len();
                    if let Some(theirs) = theirs {
                        ours.set(&name, take(theirs));
                    }
                    index += usize::from(ours.entries.len() == count);
                }
            }
        }
        let Some(patch) = patch else {
            return Ok(());
        };
        // Of a name that the patch has twice the first counts, also where it was null and nothing is left of it.
        let mut names = HashSet::new();
        for entry in &mut patch.entries {
            let is_first = names.insert(entry.key.text.as_str());
            if !is_first || ours.get(&entry.key.text).is_some() || is_taken(&entry.value) {
                continue;
            }
            let schema = field_schema(&entry.key.text);
            if self.walk(None, Some(&mut entry.value), schema)? == Walked::Patch {
                let key = Scalar {
                    text: entry.key.text.clone(),
                    tag: Tag::None,
                    style: entry.key.style,
                    link: 0,
                };
                ours.set_keyed(key, take(&mut entry.value));
            }
        }
        Ok(())
    }

    /// A map of the patch becomes part of the object: directives below it are followed, nulls go.
    fn adopt_fields(&self, node: &mut Node, schema: Option<Schema<'d>>) -> Outcome {
        let Some(map) = node.as_map_mut() else {
            return Ok(());
        };
        let mut index = 0;
        while index < map.entries.len() {
            let entry = &mut map.entries[index];
            let schema = schema.and_then(|schema| schema.field(&entry.key.text));
            if self.adopt(&mut entry.value, schema)? {
                index += 1;
            } else {
                map.entries.remove(index);
            }
        }
        Ok(())
    }

    /// Whether the node stays.
    fn adopt(&self, node: &mut Node, schema: Option<Schema<'d>>) -> Outcome<bool> {
        if node.is_null() {
            return Ok(false);
        }
        let schema = schema.or_else(|| self.schema_of(Some(node)));
        match &node.content {
            Content::Scalar(_) => Ok(true),
            Content::List(_) => match schema.and_then(Schema::merge_keys) {
                Some(keys) => self.adopt_list(node, schema, &keys),
                None => Ok(true),
            },
            Content::Map(_) => {
                if directive::of_map(node)? == Directive::Delete {
                    return Ok(false);
                }
                self.adopt_fields(node, schema)?;
                Ok(true)
            }
        }
    }
}

/// The shape of what is there and not null.
fn shape(node: Option<&Node>) -> Option<Shape> {
    match &node.filter(|node| !node.is_null())?.content {
        Content::Scalar(_) => Some(Shape::Scalar),
        Content::List(_) => Some(Shape::List),
        Content::Map(_) => Some(Shape::Map),
    }
}

fn mismatch(ours: Option<&Node>, patch: Option<&Node>) -> Problem {
    let words = |node: Option<&Node>| node.map_or("nothing", Node::shape);
    let at = |node: Option<&Node>| node.map(|node| node.at).unwrap_or_default();
    Problem::new(format!(
        "the patch has {} where the object has {}",
        words(patch),
        words(ours)
    ))
    .at(at(patch))
    .other(at(ours))
    .help("remove the field with null first, or use a JSON patch")
}

/// Takes a node out of a patch; a mark that no document has is left behind.
fn take(node: &mut Node) -> Node {
    let taken = Node {
        content: Content::Scalar(Scalar::new("", Tag::Merge)),
        at: At::default(),
    };
    std::mem::replace(node, taken)
}

fn is_taken(node: &Node) -> bool {
    matches!(&node.content, Content::Scalar(scalar) if scalar.tag == Tag::Merge && scalar.text.is_empty())
}
