//! What patches and server-side apply ask of a custom resource's type.

use manifests::shape::{ListKind, PatchStrategy, Shape};
use serde_json::Value;

use super::{Additional, ListType, Structural};
use crate::metadata::{self, Meta};

/// A place in a custom resource: described by its schema, by the metadata every object has, or by
/// nobody because the schema preserves unknown fields.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Schema {
        schema: &'a Structural,
        is_resource: bool,
    },
    Meta(&'static Meta),
    Unknown,
}

impl<'a> Place<'a> {
    /// The whole resource.
    pub fn root(schema: &'a Structural) -> Self {
        Self::Schema {
            schema,
            is_resource: true,
        }
    }

    fn of(schema: &'a Structural) -> Self {
        if schema.kind.is_none() && schema.preserve_unknown_fields {
            return Self::Unknown;
        }
        Self::Schema {
            schema,
            is_resource: schema.embedded_resource,
        }
    }
}

impl Shape for Place<'_> {
    fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Unknown => Some(Self::Unknown),
            Self::Meta(meta) => meta.field(name).map(Self::Meta),
            Self::Schema {
                is_resource: true, ..
            } if name == "metadata" => Some(Self::Meta(&metadata::OBJECT)),
            Self::Schema {
                is_resource: true, ..
            } if name == "apiVersion" || name == "kind" => Some(Self::Meta(&Meta::Text)),
            Self::Schema { schema, .. } => {
                if let Some(field) = schema.field(name) {
                    return Some(Self::of(field));
                }
                let anything = matches!(schema.additional, Some(Additional::Anything));
                (anything || schema.preserve_unknown_fields).then_some(Self::Unknown)
            }
        }
    }

    fn element(self) -> Option<Self> {
        match self {
            Self::Unknown => Some(Self::Unknown),
            Self::Meta(meta) => meta.element().map(Self::Meta),
            Self::Schema { schema, .. } => match &schema.items {
                Some(items) => Some(Self::of(items)),
                None => schema.preserve_unknown_fields.then_some(Self::Unknown),
            },
        }
    }

    fn list_kind(&self) -> ListKind<'_> {
        match self {
            Self::Unknown => ListKind::Atomic,
            Self::Meta(meta) => meta.list_kind(),
            Self::Schema { schema, .. } => match schema.list {
                ListType::Atomic => ListKind::Atomic,
                ListType::Set => ListKind::Set,
                ListType::Map => ListKind::Map(&schema.list_keys),
            },
        }
    }

    fn is_atomic_object(self) -> bool {
        match self {
            Self::Schema { schema, .. } => schema.atomic_map,
            Self::Meta(meta) => meta.is_atomic_object(),
            Self::Unknown => false,
        }
    }

    /// Strategic merge patches are refused for custom resources; nothing merges by strategy.
    fn patch_strategy(&self) -> PatchStrategy<'_> {
        PatchStrategy::default()
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        match self {
            Self::Schema { schema, .. } => {
                let item = schema.items.as_deref().unwrap_or(schema);
                item.properties.get(key)?.default.clone()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_answer_from_the_schema_and_from_metadata() {
        let schema = Structural::new(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"],
                    "items": {"type": "object", "properties": {"k": {"type": "string"}, "p": {"type": "string", "default": "TCP"}}}},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
            }}}}),
        );
        let at = |path: &[&str]| {
            path.iter()
                .try_fold(Place::root(&schema), |place, field| place.field(field))
        };
        let list = at(&["spec", "list"]).unwrap();
        assert_eq!(list.list_kind(), ListKind::Map(&["k", "p"]));
        assert_eq!(list.key_default("p"), Some(json!("TCP")));
        assert_eq!(list.element().unwrap().key_default("p"), Some(json!("TCP")));
        assert_eq!(at(&["spec", "set"]).unwrap().list_kind(), ListKind::Set);
        assert!(at(&["spec", "whole"]).unwrap().is_atomic_object());
        assert!(at(&["spec", "free", "anything", "below"]).is_some());
        assert!(at(&["spec", "unknown"]).is_none());
        for path in [&["metadata"][..], &["spec", "template", "metadata"]] {
            let metadata = at(path).unwrap();
            assert_eq!(metadata.field("finalizers").unwrap().list_kind(), ListKind::Set);
            assert_eq!(
                metadata.field("ownerReferences").unwrap().list_kind(),
                ListKind::Map(&["uid"])
            );
            assert!(metadata.field("labels").unwrap().field("any").is_some());
            assert!(metadata.field("nothing").is_none());
        }
    }
}
