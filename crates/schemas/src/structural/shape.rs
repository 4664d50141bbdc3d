//! What patches and server-side apply ask of a custom resource's type.

use manifests::shape::{Forms, ListKind, PatchStrategy, Scalar, Shape};
use serde_json::Value;

use super::{Additional, Kind, ListType, Structural};
use crate::metadata::{self, Meta};

/// A place in a custom resource: described by its schema, by the metadata every object has, or by
/// nobody because the schema leaves it open.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Schema {
        schema: &'a Structural,
        is_resource: bool,
        /// Whether unknown fields are preserved, here or around here: whoever preserves them does so
        /// in everything below.
        is_open: bool,
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
            is_open: schema.preserve_unknown_fields,
        }
    }

    fn below(schema: &'a Structural, is_open: bool) -> Self {
        Self::Schema {
            schema,
            is_resource: schema.embedded_resource,
            is_open: is_open || schema.preserve_unknown_fields,
        }
    }
}

/// The type of a field every resource has.
fn resource_field(name: &str) -> Option<&'static Meta> {
    match name {
        "metadata" => Some(&metadata::OBJECT),
        "apiVersion" | "kind" => Some(&Meta::Text),
        _ => None,
    }
}

/// Text of a format other than bytes may be written as any scalar.
fn text_form(format: &str) -> Scalar {
    match format {
        "" | "byte" => Scalar::Text,
        _ => Scalar::Any,
    }
}

impl Shape for Place<'_> {
    fn field(self, name: &str) -> Option<Self> {
        let (schema, is_resource, is_open) = match self {
            Self::Unknown => return Some(Self::Unknown),
            Self::Meta(meta) => return meta.field(name).map(Self::Meta),
            Self::Schema {
                schema,
                is_resource,
                is_open,
            } => (schema, is_resource, is_open),
        };
        if is_resource && let Some(meta) = resource_field(name) {
            return Some(Self::Meta(meta));
        }
        if let Some(field) = schema.field(name) {
            return Some(Self::below(field, is_open));
        }
        let takes_anything = match schema.additional {
            Some(Additional::Anything) => true,
            Some(_) => false,
            // An object of which nothing is said is free.
            None => is_open || (schema.properties.is_empty() && !is_resource),
        };
        takes_anything.then_some(Self::Unknown)
    }

    fn declares(self, name: &str) -> bool {
        match self {
            Self::Unknown => false,
            Self::Meta(meta) => meta.declares(name),
            Self::Schema {
                schema, is_resource, ..
            } => schema.properties.contains_key(name) || (is_resource && resource_field(name).is_some()),
        }
    }

    fn forms(self) -> Forms {
        let schema = match self {
            Self::Unknown => return Forms::ANYTHING,
            Self::Meta(meta) => return meta.forms(),
            Self::Schema { schema, .. } => schema,
        };
        match schema.kind {
            None => Forms::ANYTHING,
            Some(Kind::Object) => Forms::OBJECT,
            Some(Kind::Array) => Forms::LIST,
            Some(Kind::Integer | Kind::Number) => Forms::scalar(Scalar::Number),
            Some(Kind::Boolean) => Forms::scalar(Scalar::Boolean),
            Some(Kind::String) => Forms::scalar(text_form(&schema.checks().format_name)),
        }
    }

    fn element(self) -> Option<Self> {
        match self {
            Self::Unknown => Some(Self::Unknown),
            Self::Meta(meta) => meta.element().map(Self::Meta),
            Self::Schema { schema, is_open, .. } => match &schema.items {
                Some(items) => Some(Self::below(items, is_open)),
                None => Some(Self::Unknown),
            },
        }
    }

    /// Strategic merge patches are refused for custom resources.
    fn type_name(&self) -> Option<&str> {
        None
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
    #[test]
    fn who_preserves_unknown_fields_declares_the_known_ones_all_the_same() {
        let schema = Structural::new(
            &json!({"type": "object", "properties": {"spec": {"type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
            }}}),
        );
        let spec = Place::root(&schema).field("spec").unwrap();
        assert!(spec.declares("known"));
        assert!(!spec.declares("free"));
        let known = spec.field("known").unwrap();
        assert_eq!(known.forms(), Forms::OBJECT);
        assert!(known.field("b").is_some(), "what is below is open, too");
        assert_eq!(known.field("a").unwrap().forms(), Forms::scalar(Scalar::Text));
    }

    #[test]
    fn places_hold_the_forms_their_schema_says() {
        let schema = Structural::new(&json!({"type": "object", "properties": {
            "port": {"x-kubernetes-int-or-string": true},
            "at": {"type": "string", "format": "date-time"},
            "count": {"type": "integer"},
            "bare": {"type": "object"},
            "list": {"type": "array", "items": {"type": "boolean"}},
        }}));
        let field = |name| Place::root(&schema).field(name).unwrap();
        assert_eq!(field("port").forms(), Forms::ANYTHING);
        assert_eq!(field("at").forms(), Forms::scalar(Scalar::Any));
        assert_eq!(field("count").forms(), Forms::scalar(Scalar::Number));
        assert_eq!(field("list").forms(), Forms::LIST);
        assert_eq!(
            field("list").element().unwrap().forms(),
            Forms::scalar(Scalar::Boolean)
        );
        assert!(field("bare").field("anything").is_some());
        assert!(Place::root(&schema).field("anything").is_none());
    }
}
