//! The schema of a custom resource, parsed once per version of a definition: what may be there
//! ([`Structural`]), what values must be like ([`Checks`]), and the rules written in CEL.

mod parse;
mod pattern;
mod shape;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

pub(crate) use self::pattern::compile_pattern;
pub use self::shape::Place;
use crate::{cel::rules::Rules, validate::formats::Format};

/// One place of a schema. Values below it are described by `properties`, `additional` or `items`.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the schema")]
pub struct Structural {
    pub(crate) kind: Option<Kind>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) preserve_unknown_fields: bool,
    pub(crate) atomic_map: bool,
    pub(crate) list: ListType,
    /// The fields that identify an item of a map list; interned, so that they can be lent as a slice.
    pub(crate) list_keys: Box<[&'static str]>,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Structural>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Structural>>,
    pub(crate) checks: Option<Box<Checks>>,
    /// Only the place a version's schema starts at holds the rules, for all places below it.
    pub(crate) rules: Option<Box<Rules>>,
}

/// The JSON type a schema asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Kind {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// How the items of a list are told apart (`x-kubernetes-list-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

/// What `additionalProperties` says.
#[derive(Debug)]
pub(crate) enum Additional {
    Anything,
    Nothing,
    Schema(Box<Structural>),
}

/// The value validations of one place. Apart from [`Structural`], because most places have none.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) format: Option<Format>,
    /// The format as written, also when it is not one that is checked.
    pub(crate) format_name: String,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) choices: Vec<Value>,
    pub(crate) all_of: Vec<Structural>,
    pub(crate) any_of: Vec<Structural>,
    pub(crate) one_of: Vec<Structural>,
    pub(crate) not: Option<Structural>,
}

/// A regular expression, with the words it was written in.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    pub(crate) regex: Result<Regex, String>,
}

impl Structural {
    /// Parses an `openAPIV3Schema` as the root of a resource and compiles its rules. Never fails:
    /// what a definition's validation should have refused is reported when a value meets it.
    pub fn new(schema: &Value) -> Self {
        let mut structural = parse::parse(schema);
        structural.rules = Rules::compile(schema, &structural, true).map(Box::new);
        structural
    }

    /// Parses a schema without its rules.
    pub(crate) fn without_rules(schema: &Value) -> Self {
        parse::parse(schema)
    }

    /// The schema of a named field: its own, or the one of the values of a free map.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        })
    }

    pub(crate) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    pub(crate) fn checks(&self) -> &Checks {
        static NONE: std::sync::LazyLock<Checks> = std::sync::LazyLock::new(Checks::default);
        self.checks.as_deref().unwrap_or(&NONE)
    }
}
