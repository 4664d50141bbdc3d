//! Where the fields of an object are written: in its own file, in the patch that brought them, or where a
//! generator was asked for.

use std::{path::PathBuf, rc::Rc};

use super::{
    node::{At, Content, Node},
    problem::Place,
};

/// The places of an object and of everything in it.
#[derive(Clone, Debug)]
pub struct Source {
    files: Rc<[PathBuf]>,
    tree: Tree,
}

#[derive(Clone, Debug)]
struct Tree {
    at: At,
    below: Below,
}

#[derive(Clone, Debug)]
enum Below {
    Nothing,
    Fields(Vec<Field>),
    Items(Vec<Tree>),
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    /// Of the name.
    at: At,
    value: Tree,
}

impl Source {
    pub(super) fn of(node: &Node, files: &Rc<[PathBuf]>) -> Self {
        Self {
            files: Rc::clone(files),
            tree: Tree::of(node),
        }
    }

    /// Where the object begins.
    pub fn place(&self) -> Option<Place> {
        self.named(self.tree.at)
    }

    /// Where the value of a field is, or the nearest place above it that somebody wrote. Paths are those of
    /// the API server: `spec.containers[0].image`, `metadata.labels[app]`.
    pub fn place_of(&self, path: &str) -> Option<Place> {
        let found = self.tree.find(path);
        let is_scalar = matches!(found.value.below, Below::Nothing);
        self.named(if is_scalar { found.value_at } else { found.name_at })
    }

    /// Where the name of a field is.
    pub fn place_of_name(&self, path: &str) -> Option<Place> {
        self.named(self.tree.find(path).name_at)
    }

    fn named(&self, at: At) -> Option<Place> {
        Some(Place {
            file: self.files.get(usize::from(at.file))?.clone(),
            line: at.line,
            column: at.column.into(),
        })
    }
}

/// What a path leads to.
struct Found<'t> {
    value: &'t Tree,
    value_at: At,
    name_at: At,
}

impl Tree {
    fn of(node: &Node) -> Self {
        let below = match &node.content {
            Content::Scalar(_) => Below::Nothing,
            Content::List(items) => Below::Items(items.iter().map(Self::of).collect()),
            Content::Map(map) => Below::Fields(
                map.entries
                    .iter()
                    .map(|entry| Field {
                        name: entry.key.text.clone(),
                        at: entry.at,
                        value: Self::of(&entry.value),
                    })
                    .collect(),
            ),
        };
        Self { at: node.at, below }
    }

    /// Goes as far along a path as there are fields. What was made by a transformer has no place of its own.
    fn find(&self, path: &str) -> Found<'_> {
        let mut found = Found {
            value: self,
            value_at: self.at,
            name_at: self.at,
        };
        let mut rest = path;
        while let Some((name_at, value, behind)) = found.value.step(rest) {
            let name_at = written(name_at).unwrap_or(found.value_at);
            found = Found {
                value,
                value_at: written(value.at).unwrap_or(name_at),
                name_at,
            };
            rest = behind;
        }
        found
    }

    /// The place of the next name in a path, what it stands for, and what follows. Names may hold dots, so
    /// the longest that is there is the one that is meant.
    fn step<'t, 'p>(&'t self, path: &'p str) -> Option<(At, &'t Tree, &'p str)> {
        match &self.below {
            Below::Nothing => None,
            Below::Items(items) => {
                let (index, behind) = path.strip_prefix('[')?.split_once(']')?;
                let item = items.get(index.parse::<usize>().ok()?)?;
                Some((item.at, item, behind))
            }
            Below::Fields(fields) => fields
                .iter()
                .filter_map(|field| Some((field, behind(path, &field.name)?)))
                .max_by_key(|(field, _)| field.name.len())
                .map(|(field, behind)| (field.at, &field.value, behind)),
        }
    }
}

/// What follows a name at the beginning of a path.
fn behind<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    if let Some(bracketed) = path.strip_prefix('[') {
        return bracketed.strip_prefix(name)?.strip_prefix(']');
    }
    let rest = path.strip_prefix('.').unwrap_or(path).strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
}

fn written(at: At) -> Option<At> {
    (at.line > 0).then_some(at)
}
