//! How stored things are named: collections, and the keys of objects inside one.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Separates the parts of a stored name. It sorts before every character a name can have, so joined
/// names order exactly as their parts do.
pub(crate) const SEPARATOR: char = '\0';

/// Identifies a stored collection: `group/plural`, such as `/pods` or `apps/deployments`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collection(Arc<str>);

impl Collection {
    pub fn new(group: &str, plural: &str) -> Self {
        Self(format!("{group}/{plural}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.0.split_once('/').map_or("", |(group, _)| group)
    }
}

impl From<&str> for Collection {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

/// Lets maps be asked by `&str`.
impl Borrow<str> for Collection {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collection({})", self.0)
    }
}

/// Names one object of a collection, ordered by namespace and then name.
///
/// Held as one string, `namespace NUL name`: the form the file uses too.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// The namespace is empty for cluster-scoped objects.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self(format!("{namespace}{SEPARATOR}{name}").into())
    }

    pub(crate) fn from_joined(joined: &str) -> Self {
        Self(joined.into())
    }

    pub(crate) fn joined(&self) -> &str {
        &self.0
    }

    pub fn namespace(&self) -> &str {
        self.0
            .split_once(SEPARATOR)
            .map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.0.split_once(SEPARATOR).map_or("", |(_, name)| name)
    }
}

/// A joined name hashes and orders as its string does, which lets maps be asked by `&str`.
impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            "" => f.write_str(self.name()),
            namespace => write!(f, "{namespace}/{}", self.name()),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_by_namespace_and_then_name() {
        let mut keys = [("b", "a"), ("a-b", "a"), ("a", "z"), ("", "z"), ("a", "a")]
            .map(|(namespace, name)| Key::new(namespace, name));
        keys.sort();
        assert_eq!(
            keys.map(|key| key.to_string()),
            ["z", "a/a", "a/z", "a-b/a", "b/a"]
        );
    }

    #[test]
    fn a_key_gives_its_parts_back() {
        let key = Key::new("default", "web-0");
        assert_eq!((key.namespace(), key.name()), ("default", "web-0"));
        assert_eq!(
            (Key::new("", "node").namespace(), Key::new("", "node").name()),
            ("", "node")
        );
    }
}
