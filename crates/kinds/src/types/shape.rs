//! What patches and server-side apply ask of a built-in type.

use manifests::shape::{ListKind, PatchStrategy, Shape};
use serde_json::Value;

use super::{Form, TypeRef};

impl Shape for TypeRef {
    fn field(self, name: &str) -> Option<Self> {
        match self.form() {
            Form::Struct(described) => described.field(name).map(|field| field.ty),
            Form::Map(element) => Some(element),
            Form::SchemaOrArray | Form::SchemaOrBool | Form::SchemaOrStringArray => {
                super::json_schema()?.field(name)
            }
            Form::Json | Form::RawExtension | Form::FieldsV1 => Some(self),
            _ => None,
        }
    }

    fn element(self) -> Option<Self> {
        match self.form() {
            Form::List(element) => Some(element),
            Form::Json | Form::RawExtension | Form::FieldsV1 => Some(self),
            Form::SchemaOrArray => super::json_schema(),
            _ => None,
        }
    }

    fn list_kind(&self) -> ListKind<'_> {
        self.place().map_or(ListKind::Atomic, |field| field.list)
    }

    fn is_atomic_object(self) -> bool {
        let own = self.place().and_then(|field| field.is_atomic_map);
        own.unwrap_or_else(|| self.as_struct().is_some_and(|described| described.is_atomic))
    }

    fn patch_strategy(&self) -> PatchStrategy<'_> {
        self.place()
            .map_or_else(PatchStrategy::default, |field| field.patch)
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        let Form::List(element) = self.form() else {
            return None;
        };
        let field = element.as_struct()?.field(key)?;
        let zero = || (field.is_written && !field.ty.is_pointer()).then(|| field.ty.zero());
        field.default().or_else(zero)
    }
}
