//! The types of the scenarios, read from a short description.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;

use crate::shape::{Forms, ListKind, PatchStrategy, Scalar, Shape};

static TYPES: LazyLock<HashMap<&str, Object>> =
    LazyLock::new(|| parse(include_str!("../../../testdata/apply/types.txt")));

struct Object {
    is_atomic: bool,
    fields: HashMap<&'static str, Field>,
}

struct Field {
    kind: Type,
    default: Option<Value>,
}

enum Type {
    Scalar(Scalar),
    Anything,
    Opaque,
    Map { is_atomic: bool, of: Box<Type> },
    List { kind: ListKind<'static>, of: Box<Type> },
    Object(&'static str),
}

/// A place in an object of the scenarios.
#[derive(Clone, Copy)]
pub(super) struct Place(&'static Type);

impl Place {
    /// The type of a kind.
    pub(super) fn of(kind: &str) -> Self {
        let (name, _) = TYPES.get_key_value(kind).expect("a known kind");
        Self(Box::leak(Box::new(Type::Object(name))))
    }
}

static ANYTHING: Type = Type::Anything;
static OPAQUE: Type = Type::Opaque;

impl Shape for Place {
    fn field(self, name: &str) -> Option<Self> {
        match self.0 {
            Type::Object(object) => TYPES[object].fields.get(name).map(|field| Self(&field.kind)),
            Type::Map { of, .. } => Some(Self(of)),
            Type::Anything => Some(Self(&ANYTHING)),
            Type::Opaque => Some(Self(&OPAQUE)),
            _ => None,
        }
    }

    fn declares(self, name: &str) -> bool {
        matches!(self.0, Type::Object(object) if TYPES[object].fields.contains_key(name))
    }

    fn forms(self) -> Forms {
        match self.0 {
            Type::Scalar(scalar) => Forms::scalar(*scalar),
            Type::Anything | Type::Opaque => Forms::ANYTHING,
            Type::Map { .. } | Type::Object(_) => Forms::OBJECT,
            Type::List { .. } => Forms::LIST,
        }
    }

    fn element(self) -> Option<Self> {
        match self.0 {
            Type::List { of, .. } => Some(Self(of)),
            Type::Anything | Type::Opaque => Some(Self(&OPAQUE)),
            _ => None,
        }
    }

    fn type_name(&self) -> Option<&str> {
        None
    }

    fn list_kind(&self) -> ListKind<'_> {
        match self.0 {
            Type::List { kind, .. } => *kind,
            _ => ListKind::Atomic,
        }
    }

    fn is_atomic_object(self) -> bool {
        match self.0 {
            Type::Object(object) => TYPES[object].is_atomic,
            Type::Map { is_atomic, .. } => *is_atomic,
            Type::Opaque => true,
            _ => false,
        }
    }

    fn patch_strategy(&self) -> PatchStrategy<'_> {
        PatchStrategy::default()
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        match self.element()?.0 {
            Type::Object(object) => TYPES[object].fields.get(key)?.default.clone(),
            _ => None,
        }
    }
}

fn parse(text: &'static str) -> HashMap<&'static str, Object> {
    let mut types = HashMap::new();
    let mut current = None;
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(field) = line.strip_prefix("  ") {
            let (words, default) = field
                .split_once(" = ")
                .map_or((field, None), |(a, b)| (a, Some(b)));
            let (name, kind) = words.split_once(' ').expect("a field has a type");
            let default = default.map(|text| serde_json::from_str(text).expect("a default is JSON"));
            let object: &mut Object = types.get_mut(current.expect("a type")).expect("a type");
            object.fields.insert(
                name,
                Field {
                    kind: parse_type(kind),
                    default,
                },
            );
        } else {
            let (name, is_atomic) = line
                .strip_suffix(" atomic")
                .map_or((line, false), |name| (name, true));
            types.insert(
                name,
                Object {
                    is_atomic,
                    fields: HashMap::new(),
                },
            );
            current = Some(name);
        }
    }
    types
}

fn parse_type(words: &'static str) -> Type {
    let (head, rest) = words.split_once(' ').unwrap_or((words, ""));
    let list = |kind| Type::List {
        kind,
        of: Box::new(parse_type(rest)),
    };
    let map = |is_atomic| Type::Map {
        is_atomic,
        of: Box::new(parse_type(rest)),
    };
    match head {
        "text" => Type::Scalar(Scalar::Text),
        "number" => Type::Scalar(Scalar::Number),
        "boolean" => Type::Scalar(Scalar::Boolean),
        "scalar" => Type::Scalar(Scalar::Any),
        "anything" => Type::Anything,
        "opaque" => Type::Opaque,
        "map" => map(false),
        "atomicmap" => map(true),
        "set" => list(ListKind::Set),
        "atomic" => list(ListKind::Atomic),
        _ => match head.strip_prefix("list(").and_then(|keys| keys.strip_suffix(')')) {
            Some(keys) => list(ListKind::Map(Box::leak(keys.split(',').collect()))),
            None => Type::Object(head),
        },
    }
}
