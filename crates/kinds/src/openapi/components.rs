//! The schemas a document needs: those its paths name, and those they name in turn.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Dialect, Docs, GroupVersionDoc, KindDoc, ResourceDoc, SchemaSource, schema, special};
use crate::types::{self, Form, Struct, TypeRef};

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Where one schema of a document comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Component<'a> {
    Struct(&'static Struct),
    Special,
    Custom(&'a Value),
    /// The list of a custom kind.
    CustomList(&'a GroupVersionDoc<'a>, &'a ResourceDoc<'a>),
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
        let known = custom.get(&name).copied().or_else(|| built_in(&name));
        let Some(component) = known else {
            continue;
        };
        component.references(&mut waiting);
        found.insert(name, component);
    }
    found
}

/// The custom kinds and their lists, by name.
fn custom<'a>(group_versions: &'a [GroupVersionDoc<'a>]) -> BTreeMap<String, Component<'a>> {
    let mut custom = BTreeMap::new();
    for group_version in group_versions {
        for resource in &group_version.resources {
            if let SchemaSource::Custom { name, schema, .. } = &resource.schema {
                custom.insert(name.clone(), Component::Custom(schema));
                let list = Component::CustomList(group_version, resource);
                custom.insert(resource.schema.list_name(), list);
            }
        }
    }
    custom
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
            Component::CustomList(group_version, resource) => {
                custom_list(group_version, resource, dialect, docs)
            }
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
            Component::CustomList(_, resource) => {
                names.extend([LIST_META.to_owned(), resource.schema.name().to_owned()]);
            }
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

/// The list of a custom kind.
fn custom_list(
    group_version: &GroupVersionDoc<'_>,
    resource: &ResourceDoc<'_>,
    dialect: Dialect,
    docs: Docs<'_>,
) -> Value {
    let name = resource.schema.list_name();
    let described = |field| {
        let mut property = Map::new();
        schema::describe(&mut property, schema::field_text(docs, &name, field));
        property
    };
    let string = |field| {
        let mut property = described(field);
        property.insert("type".to_owned(), json!("string"));
        property
    };
    let kind = KindDoc {
        group: group_version.group,
        version: group_version.version,
        kind: name.rsplit('.').next().unwrap_or_default(),
    };
    json!({
        "description": format!("{} is a list of {}", kind.kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": string("apiVersion"),
            "kind": string("kind"),
            "metadata": schema::refer(LIST_META, described("metadata"), dialect),
            "items": {
                "description": format!("List of {}.", resource.plural),
                "type": "array",
                "items": schema::reference(resource.schema.name(), dialect),
            },
        },
        "x-kubernetes-group-version-kind": [kind.to_value()],
    })
}
