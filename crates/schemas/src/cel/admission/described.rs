//! The types of objects, for checking expressions against what they will be given.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    cel::{
        declared::{Declared, Shape},
        escape::escape,
        types::Type,
    },
    structural::Structural,
};

/// What is known of a value. Fields that expressions cannot see are left out by whoever describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    Anything,
    Bool,
    Int,
    Double,
    Text,
    Bytes,
    Timestamp,
    List(Box<Described>),
    Map(Box<Described>),
    Object(Vec<(String, Described)>),
}

/// The type of an object, as expressions see it.
#[derive(Clone, Debug)]
pub struct ObjectType(pub(super) Type);

impl ObjectType {
    pub fn of_description(name: &str, described: &Described) -> Self {
        Self(declared(name, described).type_of())
    }

    /// The type of a custom resource: what its schema says, and the metadata every object has. None
    /// when expressions cannot see into it.
    pub fn of_schema(name: &str, schema: &Structural, metadata: &Described) -> Option<Self> {
        let own = Declared::of(schema, false, name)?;
        let Shape::Object { fields, .. } = &own.shape else {
            return None;
        };
        let mut fields = fields.clone();
        for (field, described) in [
            ("kind", &Described::Text),
            ("apiVersion", &Described::Text),
            ("metadata", metadata),
        ] {
            fields.insert(field.to_owned(), declared(&format!("{name}.{field}"), described));
        }
        let shape = Shape::Object {
            name: name.to_owned(),
            fields,
        };
        Some(Self(Declared::of_shape(shape).type_of()))
    }
}

fn declared(name: &str, described: &Described) -> Arc<Declared> {
    let shape = match described {
        Described::Anything => Shape::Scalar(Type::Dyn),
        Described::Bool => Shape::Scalar(Type::Bool),
        Described::Int => Shape::Scalar(Type::Int),
        Described::Double => Shape::Scalar(Type::Double),
        Described::Text => Shape::Scalar(Type::Text),
        Described::Bytes => Shape::Scalar(Type::Bytes),
        Described::Timestamp => Shape::Scalar(Type::Timestamp),
        Described::List(item) => Shape::List(declared(&format!("{name}.@idx"), item)),
        Described::Map(value) => Shape::Map(declared(&format!("{name}.@elem"), value)),
        Described::Object(fields) => Shape::Object {
            name: name.to_owned(),
            fields: declared_fields(name, fields),
        },
    };
    Declared::of_shape(shape)
}

/// Fields go by their own names, and by those that are identifiers too.
fn declared_fields(name: &str, fields: &[(String, Described)]) -> BTreeMap<String, Arc<Declared>> {
    let mut all = BTreeMap::new();
    for (field, described) in fields {
        let declared = declared(&format!("{name}.{field}"), described);
        all.extend(escape(field).map(|escaped| (escaped, Arc::clone(&declared))));
        all.insert(field.clone(), declared);
    }
    all
}
