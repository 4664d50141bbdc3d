//! From nodes to values: scalars get their meaning, aliases and merges are filled in, and repeated
//! keys are noted.

use serde_json::{Map, Value, map::Entry};

use super::{
    MAX_DEPTH, YamlError,
    nodes::{Content, Index, Node, Tree},
    problem,
    scalars::Meaning,
};
use crate::field::quoted;

/// The value of a document, and `line 5: key "a" already set in map` for each repeated key.
pub(super) fn read(tree: &Tree<'_>) -> Result<(Value, Vec<String>), YamlError> {
    let mut reader = Reader {
        tree,
        depth: 0,
        nodes: 0,
        aliases: 0,
        nodes_in_aliases: 0,
        duplicates: Vec::new(),
    };
    let value = reader.value(tree.root)?;
    Ok((value, reader.duplicates))
}

struct Reader<'t> {
    tree: &'t Tree<'t>,
    depth: usize,
    nodes: usize,
    /// How many aliases lead to the node being read.
    aliases: usize,
    nodes_in_aliases: usize,
    duplicates: Vec<String>,
}

impl<'t> Reader<'t> {
    fn value(&mut self, index: Index) -> Result<Value, YamlError> {
        let node = self.enter(index)?;
        match &node.content {
            Content::Scalar(scalar) => scalar
                .meaning()
                .and_then(Meaning::into_value)
                .map_err(|message| node.place.error(message)),
            Content::Sequence(items) => self.deeper(node, |reader| {
                items.iter().map(|item| reader.value(*item)).collect()
            }),
            Content::Mapping(pairs) => {
                let mut object = Map::new();
                self.deeper(node, |reader| reader.fill(pairs, &mut object))?;
                Ok(Value::Object(object))
            }
            Content::Alias(target) => self.through_alias(node, |reader| reader.value(*target)),
        }
    }

    /// Sets the entries of a mapping in an object that may have some already.
    fn fill(&mut self, pairs: &[(Index, Index)], object: &mut Map<String, Value>) -> Result<(), YamlError> {
        for (key, value) in pairs {
            if let Content::Scalar(scalar) = &self.tree.nodes[*key].content
                && scalar.is_merge()
            {
                self.merge(*value, object)?;
                continue;
            }
            let named = self.key(*key)?;
            let place = self.tree.nodes[*value].place;
            let value = self.value(*value)?;
            let (name, shown) = named.map_err(|key| {
                let shown = problem::go_syntax(&value);
                place.error(format!("{}{key}, value: {shown}", problem::BAD_KEY))
            })?;
            match object.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    entry.insert(value);
                    self.duplicates
                        .push(format!("line {}: key {shown} already set in map", place.line));
                }
            }
        }
        Ok(())
    }

    /// A key and how it is shown, or only the latter where JSON has no such key.
    fn key(&mut self, index: Index) -> Result<Result<(String, String), String>, YamlError> {
        let node = self.enter(index)?;
        match &node.content {
            Content::Alias(target) => self.through_alias(node, |reader| reader.key(*target)),
            Content::Scalar(scalar) => {
                let meaning = scalar.meaning().map_err(|message| node.place.error(message))?;
                let is_text = matches!(meaning, Meaning::Text(_));
                Ok(meaning.into_key().map(|name| {
                    let shown = if is_text { quoted(&name) } else { name.clone() };
                    (name, shown)
                }))
            }
            Content::Sequence(_) | Content::Mapping(_) => {
                Err(node.place.error("a list or mapping cannot be a map key"))
            }
        }
    }

    /// `<<`: the entries of one mapping, or of several, of which the first counts most.
    fn merge(&mut self, index: Index, object: &mut Map<String, Value>) -> Result<(), YamlError> {
        if let Content::Sequence(items) = &self.tree.nodes[index].content {
            return items
                .iter()
                .rev()
                .try_for_each(|item| self.merge_one(*item, object));
        }
        self.merge_one(index, object)
    }

    fn merge_one(&mut self, index: Index, object: &mut Map<String, Value>) -> Result<(), YamlError> {
        let node = self.enter(index)?;
        match &node.content {
            Content::Mapping(pairs) => self.deeper(node, |reader| reader.fill(pairs, object)),
            Content::Alias(target) => self.through_alias(node, |reader| reader.merge_one(*target, object)),
            Content::Scalar(_) | Content::Sequence(_) => Err(node
                .place
                .error("map merge requires map or sequence of maps as the value")),
        }
    }

    fn deeper<T>(
        &mut self,
        node: &Node<'_>,
        read: impl FnOnce(&mut Self) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        // Aliases nest what is not nested in the text.
        if self.depth == MAX_DEPTH {
            return Err(node.place.error("the document is nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn through_alias<T>(
        &mut self,
        node: &Node<'_>,
        read: impl FnOnce(&mut Self) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        self.aliases += 1;
        let result = self.deeper(node, read);
        self.aliases -= 1;
        result
    }

    /// Counts a node: a small text must not become a large value through its aliases.
    fn enter(&mut self, index: Index) -> Result<&'t Node<'t>, YamlError> {
        let node = &self.tree.nodes[index];
        self.nodes += 1;
        self.nodes_in_aliases += usize::from(self.aliases > 0);
        let share = self.nodes_in_aliases as f64 / self.nodes as f64;
        if self.nodes_in_aliases > 100 && self.nodes > 1000 && share > allowed_share(self.nodes) {
            return Err(node.place.error("document contains excessive aliasing"));
        }
        Ok(node)
    }
}

/// How much of a document of so many nodes may come from aliases: nearly all of a small one, a
/// tenth of a very large one.
fn allowed_share(nodes: usize) -> f64 {
    const SMALL: f64 = 400_000.0;
    const LARGE: f64 = 4_000_000.0;
    let size = ((nodes as f64 - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0);
    0.99 - 0.89 * size
}
