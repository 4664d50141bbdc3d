//! The table in memory: vectors that refer to each other by index, with names that are slices of
//! the included text.

mod read;

use std::{ops::Range, sync::LazyLock};

use super::{Field, Form, Struct, TypeRef};

const TEXT: &str = include_str!("../../tables/types.txt");

/// The field index of a type that is not below a field.
pub(super) const NO_FIELD: u16 = u16::MAX;

pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| read::read(TEXT).expect("the committed table of types is well formed"));

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) packages: Vec<Package>,
    pub(super) aliases: Vec<Alias>,
    pub(super) structs: Vec<Struct>,
    pub(super) fields: Vec<Field>,
    /// One for each field's name.
    pub(super) fingerprints: Vec<u32>,
    pub(super) expressions: Vec<Expression>,
    pub(super) wire: Vec<WireEntry>,
}

/// A Go package: `core/v1`, `io.k8s.api.core.v1`.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) alias: &'static str,
    pub(super) prefix: &'static str,
    pub(super) structs: Range<usize>,
}

impl Package {
    pub(super) fn go_name(&self) -> &'static str {
        self.alias.rsplit_once('/').map_or(self.alias, |(_, last)| last)
    }
}

/// A named scalar, list or map.
#[derive(Debug)]
pub(super) struct Alias {
    pub(super) package: u16,
    pub(super) name: &'static str,
    pub(super) wrapped: bool,
    /// The allowed values, joined by `|`.
    pub(super) values: &'static str,
    target: &'static str,
}

/// A type as a field spells it: `*[]core/v1.Container`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expression {
    pub(super) pointer: bool,
    pub(super) alias: Option<u16>,
    base: Base,
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Plain(Form),
    Struct(u16),
    List(u16),
    Map(u16),
}

impl Expression {
    pub(super) fn form(self) -> Form {
        let element = |expression| TypeRef {
            expression,
            field: NO_FIELD,
        };
        match self.base {
            Base::Plain(form) => form,
            Base::Struct(index) => Form::Struct(&TABLE.structs[usize::from(index)]),
            Base::List(expression) => Form::List(element(expression)),
            Base::Map(expression) => Form::Map(element(expression)),
        }
    }

    /// Whether Go's `omitempty` never leaves the value out.
    fn is_struct_in_go(self) -> bool {
        let scalar = [
            Form::String,
            Form::Bool,
            Form::Int32,
            Form::Int64,
            Form::Double,
            Form::Bytes,
        ];
        !self.pointer
            && match self.base {
                Base::Plain(form) => !scalar.contains(&form),
                Base::Struct(_) => true,
                Base::List(_) | Base::Map(_) => false,
            }
    }
}

/// What a protobuf tag of a message stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireEntry {
    pub(super) tag: u32,
    pub(super) target: Target,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Field(u16),
    Inline(u16),
}
