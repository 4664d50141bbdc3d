//! The fields of a resource: where they are, which setter they belong to, and which type Kubernetes gives them.

use kinds::{
    resources,
    types::{Form, TypeRef},
};

use crate::{
    document::{Content, Document, Entry, Id},
    marker::Marker,
};

/// A value in a resource.
pub(crate) struct Field {
    pub(crate) id: Id,
    /// The field it is the value of; elements of lists have none.
    pub(crate) entry: Option<Entry>,
    /// The names that lead to it, each behind a dot. Elements of lists have the path of their list.
    pub(crate) path: String,
    /// The marker that counts: its own, or else that of its field.
    pub(crate) marker: Option<Marker>,
    pub(crate) kind: Option<FieldType>,
}

/// A type of OpenAPI that says whether a value has quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    String,
    /// A number or a truth value.
    NonString,
    /// Anything else: it says nothing.
    Other,
}

impl FieldType {
    /// By its name in a schema.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "string" => Self::String,
            "boolean" | "integer" | "number" => Self::NonString,
            _ => Self::Other,
        }
    }

    fn of(form: Form) -> Self {
        match form {
            Form::String | Form::Bytes | Form::Quantity | Form::Time | Form::MicroTime => Self::String,
            Form::Bool | Form::Int32 | Form::Int64 | Form::Double => Self::NonString,
            _ => Self::Other,
        }
    }
}

/// All values of a resource but mappings.
pub(crate) fn fields(document: &Document, root: Id) -> Vec<Field> {
    let mut walk = Walk {
        document,
        fields: Vec::new(),
    };
    let kind = resource_type(
        document.text_at(root, &["apiVersion"]),
        document.text_at(root, &["kind"]),
    );
    walk.visit(root, None, String::new(), None, kind);
    walk.fields
}

/// The type of a kind; of versions that are gone, the type the kind has now.
fn resource_type(api_version: &str, kind: &str) -> Option<TypeRef> {
    let now = |group: &str| {
        let mut known = resources::RESOURCES.iter();
        known
            .find(|resource| resource.group == group && resource.kind == kind)
            .and_then(|resource| resources::type_of(&resource.api_version(), kind))
    };
    let removed = || match api_version.split_once('/')? {
        ("extensions", "v1beta1") => ["apps", "networking.k8s.io", "policy"].into_iter().find_map(now),
        (group, version) if version.contains("beta") || version.contains("alpha") => now(group),
        _ => None,
    };
    resources::type_of(api_version, kind).or_else(removed)
}

struct Walk<'a> {
    document: &'a Document,
    fields: Vec<Field>,
}

impl Walk<'_> {
    fn visit(
        &mut self,
        id: Id,
        entry: Option<Entry>,
        path: String,
        inherited: Option<Marker>,
        kind: Option<TypeRef>,
    ) {
        let document = self.document;
        match &document.node(id).content {
            Content::Mapping { entries, .. } => {
                for entry in entries {
                    let key = document.value(entry.key).unwrap_or_default();
                    let marker = document.key_marker(entry);
                    // What a marker says of a field is all that is known of it.
                    let below = kind
                        .filter(|_| marker.is_none())
                        .and_then(|kind| field_type(kind, key));
                    self.visit(entry.value, Some(*entry), format!("{path}.{key}"), marker, below);
                }
            }
            Content::Sequence { items, .. } => {
                // Behind the brackets of a flow a marker is for the list or for each of its elements.
                let own = document.own_marker(id);
                let below = kind.and_then(element_type);
                self.push(id, entry, path.clone(), inherited.or_else(|| own.clone()), None);
                for item in items {
                    self.visit(item.value, None, path.clone(), own.clone(), below);
                }
            }
            Content::Scalar(_) => {
                let marker = document.own_marker(id).or(inherited);
                self.push(
                    id,
                    entry,
                    path,
                    marker,
                    kind.map(|kind| FieldType::of(kind.form())),
                );
            }
            Content::Alias(_) => {}
        }
    }

    fn push(
        &mut self,
        id: Id,
        entry: Option<Entry>,
        path: String,
        marker: Option<Marker>,
        kind: Option<FieldType>,
    ) {
        self.fields.push(Field {
            id,
            entry,
            path,
            marker,
            kind,
        });
    }
}

fn field_type(kind: TypeRef, key: &str) -> Option<TypeRef> {
    match kind.form() {
        Form::Struct(described) => described.field(key).map(|field| field.ty),
        Form::Map(values) => Some(values),
        _ => None,
    }
}

fn element_type(kind: TypeRef) -> Option<TypeRef> {
    match kind.form() {
        Form::List(elements) => Some(elements),
        _ => None,
    }
}
