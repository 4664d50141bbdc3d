//! One object on its way through a build: its document, the names it had, and what generators and
//! transformers have noted about it. The reference keeps these notes in annotations; where that shows,
//! so does it here.

use super::{
    identity::{Id, group_version},
    links::Links,
    node::{Content, Map, Node, Scalar, Tag},
    schema::Schemas,
};

#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) node: Node,
    /// The names it had, the oldest first.
    pub(super) previous: Vec<PreviousId>,
    pub(super) prefixes: Vec<String>,
    pub(super) suffixes: Vec<String>,
    /// What a generator is to do when the object is there already; none for what was not generated.
    pub(super) behavior: Option<Behavior>,
    pub(super) needs_hash: bool,
    /// The vars that read from it.
    pub(super) vars: Vec<String>,
    pub(super) is_cluster_scoped: bool,
    pub(super) links: Links,
}

#[derive(Clone, Debug)]
pub(super) struct PreviousId {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) kind: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behavior {
    Create,
    Replace,
    Merge,
}

impl Resource {
    pub(super) fn new(node: Node, schemas: &mut Schemas) -> Self {
        let mut resource = Self {
            node,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            behavior: None,
            needs_hash: false,
            vars: Vec::new(),
            is_cluster_scoped: false,
            links: Links::default(),
        };
        resource.look_up_scope(schemas);
        resource
    }

    /// To be called when the kind may have changed.
    pub(super) fn look_up_scope(&mut self, schemas: &mut Schemas) {
        self.is_cluster_scoped = schemas.is_cluster_scoped(self.api_version(), self.kind());
    }

    pub(super) fn api_version(&self) -> &str {
        self.node.get("apiVersion").map_or("", Node::text)
    }

    pub(super) fn kind(&self) -> &str {
        self.node.get("kind").map_or("", Node::text)
    }

    pub(super) fn name(&self) -> &str {
        self.metadata_text("name")
    }

    pub(super) fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    fn metadata_text(&self, field: &str) -> &str {
        self.metadata()
            .and_then(|metadata| metadata.get(field))
            .map_or("", Node::value_text)
    }

    pub(super) fn metadata(&self) -> Option<&Node> {
        self.node.get("metadata").filter(|metadata| !metadata.is_empty())
    }

    pub(super) fn metadata_mut(&mut self) -> Option<&mut Map> {
        let map = self.node.as_map_mut()?;
        let metadata = map.get_or_insert("metadata", Node::map);
        if metadata.is_null() {
            metadata.content = Content::Map(Map::default());
        }
        metadata.as_map_mut()
    }

    /// Labels or annotations, by name and text.
    pub(super) fn texts(&self, field: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = self
            .metadata()
            .and_then(|metadata| metadata.get(field))
            .and_then(Node::as_map);
        let entries = map.into_iter().flat_map(|map| &map.entries);
        entries.map(|entry| (entry.key.text.as_str(), entry.value.text()))
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.texts("annotations")
            .find_map(|(key, text)| (key == name).then_some(text))
    }

    pub(super) fn set_annotation(&mut self, name: &str, text: &str) {
        if let Some(metadata) = self.metadata_mut() {
            let annotations = metadata.get_or_insert("annotations", Node::map);
            if annotations.is_null() {
                annotations.content = Content::Map(Map::default());
            }
            if let Some(annotations) = annotations.as_map_mut() {
                annotations.set(name, Node::string(text));
            }
        }
    }

    pub(super) fn remove_annotation(&mut self, name: &str) {
        let annotations = self
            .node
            .get_mut("metadata")
            .and_then(|metadata| metadata.get_mut("annotations"))
            .and_then(Node::as_map_mut);
        if let Some(annotations) = annotations {
            annotations.remove(name);
        }
    }

    /// Labels or annotations as text, whatever they were; empty ones are left out.
    pub(super) fn make_texts(&mut self, field: &str) {
        let Some(metadata) = self.metadata_mut() else {
            return;
        };
        let Some(node) = metadata.remove(field) else {
            return;
        };
        let Content::Map(map) = node.content else {
            return;
        };
        let mut texts = Map::default();
        for entry in map.entries {
            let text = entry.value.text().to_owned();
            let at = entry.value.at;
            let mut value = Node::string(text);
            value.at = at;
            match texts.get_mut(&entry.key.text) {
                Some(existing) => *existing = value,
                None => texts.push(Scalar::new(entry.key.text, Tag::None), value),
            }
        }
        if !texts.entries.is_empty() {
            let mut node = Node::new(Content::Map(texts));
            node.at = self.node.at;
            if let Some(metadata) = self.metadata_mut() {
                metadata.push(Scalar::new(field, Tag::Text), node);
            }
        }
    }

    /// Whether the reference would have annotations of its own on it by now.
    pub(super) fn has_notes(&self) -> bool {
        !self.previous.is_empty()
            || !self.prefixes.is_empty()
            || !self.suffixes.is_empty()
            || self.behavior.is_some()
            || self.needs_hash
    }

    pub(super) fn forget_notes(&mut self) {
        self.previous.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.behavior = None;
        self.needs_hash = false;
    }

    pub(super) fn set_name(&mut self, name: &str) {
        if let Some(metadata) = self.metadata_mut() {
            metadata.set("name", Node::bare(name));
        }
    }

    /// Sets the namespace; an empty one is removed.
    pub(super) fn set_namespace(&mut self, namespace: &str) {
        if namespace.is_empty() {
            if let Some(metadata) = self.node.get_mut("metadata").and_then(Node::as_map_mut) {
                metadata.remove("namespace");
            }
        } else if let Some(metadata) = self.metadata_mut() {
            metadata.set("namespace", Node::bare(namespace));
        }
    }

    pub(super) fn set_kind(&mut self, kind: &str) {
        if let Some(map) = self.node.as_map_mut() {
            map.set("kind", Node::bare(kind));
        }
    }

    pub(super) fn id(&self) -> Id<'_> {
        let (group, version) = group_version(self.api_version());
        Id {
            group,
            version,
            kind: self.kind(),
            name: self.name(),
            namespace: self.namespace(),
            is_cluster_scoped: self.is_cluster_scoped,
        }
    }

    pub(super) fn previous_ids(&self) -> impl DoubleEndedIterator<Item = Id<'_>> {
        let (group, version) = group_version(self.api_version());
        self.previous.iter().map(move |previous| Id {
            group,
            version,
            kind: &previous.kind,
            name: &previous.name,
            namespace: &previous.namespace,
            is_cluster_scoped: false,
        })
    }

    pub(super) fn original_id(&self) -> Id<'_> {
        self.previous_ids().next().unwrap_or_else(|| self.id())
    }

    /// Every id it had, and the one it has.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id<'_>> {
        self.previous_ids().chain(std::iter::once(self.id()))
    }

    /// Remembers the id it has, before it gets another.
    pub(super) fn store_id(&mut self) {
        let id = self.id();
        let previous = PreviousId {
            name: id.name.to_owned(),
            namespace: id.effective_namespace().to_owned(),
            kind: id.kind.to_owned(),
        };
        self.previous.push(previous);
    }
}
