//! What a schema says to expressions: the types of fields under their escaped names, and how large
//! values can get, from which the cost of rules is estimated.

use std::{collections::BTreeMap, sync::Arc};

use super::{escape::escape, types::Type};
use crate::structural::{Kind, Structural};

/// The most bytes a request can have.
const MAX_REQUEST: i64 = 3 * 1024 * 1024;

/// The declaration of one place of a schema.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) shape: Shape,
    /// The most characters of a string, items of a list or entries of a map.
    pub(crate) max_elements: i64,
    /// The fewest bytes a value takes in JSON.
    pub(crate) min_size: i64,
}

#[derive(Debug)]
pub(crate) enum Shape {
    Scalar(Type),
    List(Arc<Declared>),
    Map(Arc<Declared>),
    Object {
        name: String,
        fields: BTreeMap<String, Arc<Declared>>,
    },
}

impl Declared {
    /// The declaration of a schema; `None` when expressions cannot see values of it.
    pub(crate) fn of(schema: &Structural, is_resource: bool, name: &str) -> Option<Arc<Self>> {
        let checks = schema.checks();
        if schema.int_or_string {
            let max_elements = match checks.max_length {
                Some(length) => length.max(0).saturating_mul(4),
                None => MAX_REQUEST - 2,
            };
            return Some(Self::scalar(Type::Dyn, 1, max_elements));
        }
        match schema.kind? {
            Kind::Array => {
                let items = schema.items.as_deref()?;
                let item = Self::of(items, items.embedded_resource, &format!("{name}.@idx"))?;
                let max_elements = checks
                    .max_items
                    .map_or_else(|| (MAX_REQUEST - 2) / (item.min_size + 1), |max| max.max(0));
                Some(Arc::new(Self {
                    shape: Shape::List(item),
                    max_elements,
                    min_size: 2,
                }))
            }
            Kind::Object => Self::of_object(schema, is_resource, name),
            Kind::String => Some(Self::of_text(schema)),
            Kind::Boolean => Some(Self::scalar(Type::Bool, 4, 0)),
            Kind::Number => Some(Self::scalar(Type::Double, 1, 0)),
            Kind::Integer => Some(Self::scalar(Type::Int, 1, 0)),
        }
    }

    /// A declaration without bounds, for types that no schema describes.
    pub(crate) fn of_shape(shape: Shape) -> Arc<Self> {
        Arc::new(Self {
            shape,
            max_elements: MAX_REQUEST,
            min_size: 1,
        })
    }

    fn scalar(of: Type, min_size: i64, max_elements: i64) -> Arc<Self> {
        Arc::new(Self {
            shape: Shape::Scalar(of),
            max_elements,
            min_size,
        })
    }

    fn of_object(schema: &Structural, is_resource: bool, name: &str) -> Option<Arc<Self>> {
        if let Some(additional) = schema.additional_schema() {
            let value = Self::of(additional, additional.embedded_resource, &format!("{name}.@elem"))?;
            let max_elements = schema
                .checks()
                .max_properties
                .map_or_else(|| (MAX_REQUEST - 2) / (value.min_size + 6), |max| max.max(0));
            return Some(Arc::new(Self {
                shape: Shape::Map(value),
                max_elements,
                min_size: 2,
            }));
        }
        let mut min_size = 2;
        let mut fields = BTreeMap::new();
        let required = &schema.checks().required;
        for (field, property) in &schema.properties {
            let escaped = escape(field);
            let path = format!("{name}.{}", escaped.as_deref().unwrap_or(field));
            let Some(declared) = Self::of(property, property.embedded_resource, &path) else {
                continue;
            };
            if property.default.is_none() && required.contains(field) {
                min_size += field.len() as i64 + declared.min_size + 4;
            }
            if let Some(escaped) = escaped {
                fields.insert(escaped, declared);
            }
        }
        if is_resource {
            Self::add_resource_fields(&mut fields, name);
        }
        Some(Arc::new(Self {
            shape: Shape::Object {
                name: name.to_owned(),
                fields,
            },
            max_elements: 0,
            min_size,
        }))
    }

    /// Rules of a resource see its type, name and generated name, whatever its schema says.
    fn add_resource_fields(fields: &mut BTreeMap<String, Arc<Self>>, name: &str) {
        let text = || Self::scalar(Type::Text, 2, MAX_REQUEST - 2);
        let has = |fields: &BTreeMap<String, Arc<Self>>, names: &[&str]| {
            names.iter().all(|n| fields.contains_key(*n))
        };
        let complete = has(fields, &["kind", "apiVersion"])
            && fields.get("metadata").is_some_and(
                |metadata| matches!(&metadata.shape, Shape::Object { fields, .. } if has(fields, &["name", "generateName"])),
            );
        if complete {
            return;
        }
        let metadata = BTreeMap::from([("name".to_owned(), text()), ("generateName".to_owned(), text())]);
        let shape = Shape::Object {
            name: format!("{name}.metadata"),
            fields: metadata,
        };
        fields.insert("kind".to_owned(), text());
        fields.insert("apiVersion".to_owned(), text());
        fields.insert(
            "metadata".to_owned(),
            Arc::new(Self {
                shape,
                max_elements: 0,
                min_size: 2,
            }),
        );
    }

    fn of_text(schema: &Structural) -> Arc<Self> {
        let checks = schema.checks();
        match checks.format_name.as_str() {
            "byte" => Self::scalar(
                Type::Bytes,
                2,
                checks.max_length.map_or(MAX_REQUEST - 2, |length| length.max(0)),
            ),
            "duration" => Self::scalar(Type::Duration, 3, 32),
            "date" => Self::scalar(Type::Timestamp, 12, 12),
            "date-time" => Self::scalar(Type::Timestamp, 21, 32),
            _ => {
                let longest_choice = checks
                    .choices
                    .iter()
                    .filter_map(|choice| choice.as_str())
                    .map(str::len)
                    .max();
                let max_elements = match (checks.max_length, longest_choice) {
                    (Some(length), _) => length.max(0).saturating_mul(4),
                    (None, _) if checks.choices.is_empty() => MAX_REQUEST - 2,
                    (None, longest) => longest.unwrap_or(0) as i64,
                };
                Self::scalar(Type::Text, 2, max_elements)
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        match &self.shape {
            Shape::Object { name, .. } => name,
            _ => "",
        }
    }

    pub(crate) fn type_of(self: &Arc<Self>) -> Type {
        match &self.shape {
            Shape::Scalar(of) => of.clone(),
            Shape::List(item) => Type::list(item.type_of()),
            Shape::Map(value) => Type::map(Type::Text, value.type_of()),
            Shape::Object { .. } => Type::Object(Arc::clone(self)),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Object { fields, .. } => fields.get(name),
            _ => None,
        }
    }

    /// The declaration of items of a list or values of a map.
    pub(crate) fn element(&self) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::List(element) | Shape::Map(element) => Some(element),
            _ => None,
        }
    }

    /// How often a value like this can be in one request.
    pub(crate) fn max_count(&self) -> u64 {
        (MAX_REQUEST / (self.min_size + 1)) as u64
    }
}
