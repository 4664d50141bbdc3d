//! What an object is called: group, version, kind, name and namespace, and when two of these are the same.

use std::fmt;

/// The namespace of what has none.
pub(super) const CLUSTER: &str = "_non_namespaceable_";
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// A group, version and kind, of which empty ones stand for any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Gvk {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

impl Gvk {
    pub(super) fn selects(&self, group: &str, version: &str, kind: &str) -> bool {
        (self.group.is_empty() || self.group == group)
            && (self.version.is_empty() || self.version == version)
            && (self.kind.is_empty() || self.kind == kind)
    }

    pub(super) fn selects_id(&self, id: &Id<'_>) -> bool {
        self.selects(id.group, id.version, id.kind)
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.kind, &self.version, &self.group];
        let given: Vec<&str> = parts
            .iter()
            .map(|part| part.as_str())
            .filter(|part| !part.is_empty())
            .collect();
        f.write_str(&given.join("."))
    }
}

/// The group and version of an `apiVersion`.
pub(super) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// One name an object has or had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id<'r> {
    pub(super) group: &'r str,
    pub(super) version: &'r str,
    pub(super) kind: &'r str,
    pub(super) name: &'r str,
    pub(super) namespace: &'r str,
    /// Known to have no namespace, whatever it says.
    pub(super) is_cluster_scoped: bool,
}

impl<'r> Id<'r> {
    pub(super) fn effective_namespace(&self) -> &'r str {
        match self.namespace {
            _ if self.is_cluster_scoped => CLUSTER,
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        }
    }

    pub(super) fn has_same_namespace(&self, other: &Id<'_>) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    pub(super) fn is_named_like(&self, other: &Id<'_>) -> bool {
        (self.name, self.kind, self.group, self.version)
            == (other.name, other.kind, other.group, other.version)
    }

    pub(super) fn is_same(&self, other: &Id<'_>) -> bool {
        self.is_named_like(other) && self.has_same_namespace(other)
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.version.is_empty() {
            write!(f, "/{}", self.version)?;
        }
        write!(f, " `{}`", self.name)?;
        if !self.namespace.is_empty() && !self.is_cluster_scoped {
            write!(f, " in namespace `{}`", self.namespace)?;
        }
        Ok(())
    }
}
