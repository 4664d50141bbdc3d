//! The schemas a document needs: those its paths name, and those they name in turn.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Dialect, Docs, GroupVersionDoc, SchemaSource, schema, special};
use crate::types::{self, Form, Struct, TypeRef};

/// Where one schema of a document comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Component<'a> {
    Struct(&'static Struct),
    Special,
    Custom(&'a Value),
}

/// Every schema that can be reached from the given names.
pub(super) fn reachable<'a, 'n>(
    group_versions: &'a [GroupVersionDoc<'a>],
    names: impl Iterator<Item = &'n str>,
) -> BTreeMap<String, Component<'a>> {
    let custom = custom(group_versions);
    let mut waiting: Vec<String> = names.map(str::to_owned).collect();
    let mut found = BTreeMap::new();
    while let Some(name) = waiting.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let ready = custom.get(name.as_str()).copied().map(Component::Custom);
        let known = ready.or_else(|| built_in(&name));
        let Some(component) = known else {
            continue;
        };
        component.references(&mut waiting);
        found.insert(name, component);
    }
    found
}

/// The custom kinds and their lists, by name.
fn custom<'a>(group_versions: &'a [GroupVersionDoc<'a>]) -> BTreeMap<&'a str, &'a Value> {
    let resources = group_versions.iter().flat_map(|it| &it.resources);
    let ready = resources.flat_map(|resource| match resource.schema {
        SchemaSource::Custom(ready) => ready.as_slice(),
        SchemaSource::BuiltIn(_) => &[],
    });
    ready.map(|(name, schema)| (name.as_str(), schema)).collect()
}

fn built_in(name: &str) -> Option<Component<'static>> {
    if let Some(described) = types::by_name(name).and_then(TypeRef::as_struct) {
        return Some(Component::Struct(described));
    }
    special::schema(name, Dialect::V3).map(|_| Component::Special)
}

impl Component<'_> {
    pub(super) fn schema(self, name: &str, dialect: Dialect, docs: Docs<'_>) -> Value {
        match self {
            Component::Struct(described) => schema::of_struct(described, dialect, docs),
            Component::Custom(schema) => schema.clone(),
            Component::Special => {
                let mut schema = special::schema(name, dialect).unwrap_or_default();
                if let Some(members) = schema.as_object_mut() {
                    schema::describe(members, docs(name, None));
                }
                schema
            }
        }
    }

    /// Adds the names of the schemas this one speaks of.
    fn references(self, names: &mut Vec<String>) {
        match self {
            Component::Struct(described) => {
                names.extend(described.fields().iter().filter_map(|field| named(field.ty)));
            }
            Component::Custom(schema) => collect_references(schema, names),
            Component::Special => {}
        }
    }
}

/// The component at the bottom of lists and maps.
fn named(ty: TypeRef) -> Option<String> {
    match ty.form() {
        Form::List(element) | Form::Map(element) => named(element),
        _ => schema::component(ty),
    }
}

fn collect_references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().filter(|_| key == "$ref") {
                    Some(target) => names.extend(target.rsplit('/').next().map(str::to_owned)),
                    None => collect_references(value, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, names)),
        _ => {}
    }
}
