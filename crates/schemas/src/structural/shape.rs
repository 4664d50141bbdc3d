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
