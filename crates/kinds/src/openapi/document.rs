//! A whole document, written member by member so that it never exists as one tree.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};

use super::{
    Dialect, Docs, GroupVersionDoc,
    components::{self, Component},
    discovery,
    operation::PathItem,
    paths::Place,
};

/// A document that is ready to be written, with `serde_json::to_vec` or to any writer.
pub struct Document<'a> {
    dialect: Dialect,
    paths: BTreeMap<String, PathItem<'a>>,
    components: BTreeMap<String, Component<'a>>,
    docs: Docs<'a>,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        dialect: Dialect,
        group_versions: &'a [GroupVersionDoc<'a>],
        others: Vec<(String, PathItem<'a>)>,
        docs: Docs<'a>,
    ) -> Self {
        let mut paths: BTreeMap<_, _> = others.into_iter().collect();
        for group_version in group_versions {
            paths.extend(discovery::resources(group_version));
            for resource in &group_version.resources {
                let place = Place {
                    group_version,
                    resource,
                };
                paths.extend(place.items());
            }
        }
        let names = paths.values().flat_map(PathItem::references);
        let components = components::reachable(group_versions, names);
        Document {
            dialect,
            paths,
            components,
            docs,
        }
    }

    /// The paths, each made when it is asked for.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&String, Value)> {
        let each = self.paths.iter();
        each.map(|(path, item)| (path, item.to_value(self.dialect)))
    }

    /// The schemas, each made when it is asked for.
    pub(super) fn schemas(&self) -> impl Iterator<Item = (&String, Value)> {
        let each = self.components.iter();
        each.map(|(name, component)| (name, component.schema(name, self.dialect, self.docs)))
    }
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let paths = Members(|| self.paths());
        let schemas = Members(|| self.schemas());
        let mut document = serializer.serialize_map(None)?;
        match self.dialect {
            Dialect::V2 => {
                document.serialize_entry("swagger", "2.0")?;
                document.serialize_entry("info", &info())?;
                document.serialize_entry("paths", &paths)?;
                document.serialize_entry("definitions", &schemas)?;
                document.serialize_entry("securityDefinitions", &security_definitions())?;
                document.serialize_entry("security", &security())?;
            }
            Dialect::V3 => {
                document.serialize_entry("openapi", "3.0.0")?;
                document.serialize_entry("info", &info())?;
                document.serialize_entry("paths", &paths)?;
                let components = Components {
                    schemas,
                    security_schemes: security_definitions(),
                };
                document.serialize_entry("components", &components)?;
            }
        }
        document.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Components<S> {
    schemas: S,
    security_schemes: Value,
}

/// A JSON object whose members are made one at a time, when they are written.
struct Members<F>(F);

impl<F, I, K> Serialize for Members<F>
where
    F: Fn() -> I,
    I: Iterator<Item = (K, Value)>,
    K: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}

pub(super) fn info() -> Value {
    json!({"title": "Kubernetes", "version": "v1.34.4"})
}

pub(super) fn security_definitions() -> Value {
    json!({"BearerToken": {
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
        "description": "Bearer Token authentication",
    }})
}

pub(super) fn security() -> Value {
    json!([{"BearerToken": []}])
}
