//! The OpenAPI documents: what `kubectl explain`, `apply` and other clients read to learn the types.
//!
//! A document is described by the resources a server serves, built-in and custom alike, and is
//! written as it is made: [`Document`] serialises one path and one schema at a time, so even the
//! whole `/openapi/v2` never exists as a tree. Field texts come from outside, through [`Docs`].

mod components;
mod discovery;
mod document;
mod kinds;
mod naming;
mod operation;
mod parameters;
mod paths;
mod protobuf;
mod schema;
mod special;
#[cfg(test)]
mod tests;
mod verbs;

use serde_json::Value;

pub use self::document::Document;
use crate::{
    resources::{self, Resource, Subresource},
    types::TypeRef,
};

/// Looks up a description by the OpenAPI name of a type, and the field or the type itself.
pub type Docs<'a> = &'a dyn Fn(&str, Option<&str>) -> Option<&'a str>;

/// Which language a document speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `/openapi/v2`: Swagger 2.0. Schemas publish no defaults.
    V2,
    /// `/openapi/v3`: OpenAPI 3.0.
    V3,
}

/// One group version and what is served of it. Equal hashes mean equal documents, so a server can
/// tell clients whether their copy is still good without writing the document.
#[derive(Clone, Debug, Hash)]
pub struct GroupVersionDoc<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    pub version: &'a str,
    pub resources: Vec<ResourceDoc<'a>>,
}

/// One served resource.
#[derive(Clone, Debug, Hash)]
pub struct ResourceDoc<'a> {
    pub kind: &'a str,
    pub plural: &'a str,
    pub namespaced: bool,
    pub verbs: &'a [&'a str],
    pub schema: SchemaSource<'a>,
    pub subresources: Vec<SubresourceDoc<'a>>,
}

/// Where the schema of a kind comes from.
#[derive(Clone, Debug, Hash)]
pub enum SchemaSource<'a> {
    /// The OpenAPI name of a type of the type table.
    BuiltIn(&'a str),
    /// Schemas that are ready to be published, in the dialect of the document: that of the kind and
    /// that of its list, each with its name.
    Custom(&'a [(String, Value); 2]),
}

/// A part of a resource with its own path.
#[derive(Clone, Debug, Hash)]
pub struct SubresourceDoc<'a> {
    pub name: &'a str,
    pub verbs: &'a [&'a str],
    /// What the operations say they are about; bodies may be of yet another kind.
    pub kind: KindDoc<'a>,
    pub body: Body<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KindDoc<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
}

/// What a subresource sends and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body<'a> {
    /// The object of the resource itself.
    Parent,
    /// A built-in type, by its OpenAPI name.
    BuiltIn(&'a str),
    /// Plain text, such as a log.
    Text,
    /// Whatever flows through a connection.
    Stream,
}

/// The schema of one built-in type, as a component of a document.
pub fn schema(ty: TypeRef, dialect: Dialect, docs: Docs<'_>) -> Option<Value> {
    ty.as_struct()
        .map(|described| schema::of_struct(described, dialect, docs))
}

/// The document of one group version: `/openapi/v3/apis/apps/v1`.
pub fn document<'a>(group_version: &'a GroupVersionDoc<'a>, docs: Docs<'a>) -> Document<'a> {
    Document::new(Dialect::V3, std::slice::from_ref(group_version), Vec::new(), docs)
}

/// The document of `/openapi/v3/api`, `/openapi/v3/apis/apps`, ...: the discovery of one group.
/// `None` for a path that does not name a group.
pub fn group_document<'a>(path: &str, docs: Docs<'a>) -> Option<Document<'a>> {
    let found = discovery::path(path)?;
    Some(Document::new(Dialect::V3, &[], vec![found], docs))
}

/// The document of `/openapi/v2`: all group versions in one.
pub fn swagger<'a>(group_versions: &'a [GroupVersionDoc<'a>], docs: Docs<'a>) -> Document<'a> {
    let discovery = discovery::paths(group_versions);
    Document::new(Dialect::V2, group_versions, discovery, docs)
}

/// The built-in group versions, in the order of discovery.
pub fn built_in() -> Vec<GroupVersionDoc<'static>> {
    let mut group_versions: Vec<GroupVersionDoc<'static>> = Vec::new();
    for resource in *resources::RESOURCES {
        let last = group_versions.last_mut();
        match last.filter(|it| it.group == resource.group && it.version == resource.version) {
            Some(known) => known.resources.push(ResourceDoc::built_in(resource)),
            None => group_versions.push(GroupVersionDoc {
                group: resource.group,
                version: resource.version,
                resources: vec![ResourceDoc::built_in(resource)],
            }),
        }
    }
    group_versions
}

impl ResourceDoc<'static> {
    /// What the table of resources says of a built-in one.
    pub fn built_in(resource: &'static Resource) -> Self {
        ResourceDoc {
            kind: resource.kind,
            plural: resource.plural,
            namespaced: resource.namespaced,
            verbs: resource.verbs,
            schema: SchemaSource::BuiltIn(resource.type_name),
            subresources: resource
                .subresources
                .iter()
                .map(SubresourceDoc::built_in)
                .collect(),
        }
    }
}

impl SubresourceDoc<'static> {
    fn built_in(part: &'static Subresource) -> Self {
        SubresourceDoc {
            name: part.name,
            verbs: part.verbs,
            kind: KindDoc {
                group: part.group,
                version: part.version,
                kind: part.kind,
            },
            body: match part.name {
                "log" => Body::Text,
                _ if part.kind.ends_with("Options") => Body::Stream,
                _ => Body::BuiltIn(part.type_name),
            },
        }
    }
}

impl SchemaSource<'_> {
    /// The name of the kind's schema.
    fn name(&self) -> &str {
        match self {
            SchemaSource::BuiltIn(name) => name,
            SchemaSource::Custom([(name, _), _]) => name,
        }
    }

    /// The name of the schema of the kind's list.
    fn list_name(&self) -> String {
        match self {
            SchemaSource::BuiltIn(name) => format!("{name}List"),
            SchemaSource::Custom([_, (name, _)]) => name.clone(),
        }
    }

    fn is_custom(&self) -> bool {
        matches!(self, SchemaSource::Custom(_))
    }
}
