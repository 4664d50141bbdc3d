//! Reads `tables/types.txt`: first the names, then the fields that refer to them.

use std::collections::HashMap;

use manifests::shape::{ListKind, PatchStrategy};

use super::{Alias, Base, Expression, NO_FIELD, Package, Table, Target, WireEntry};
use crate::types::{Explicit, Field, Form, Struct, TypeRef, fingerprint};

/// One field as its line has it, before embedded structs are flattened.
#[derive(Clone, Copy)]
enum Line {
    Field(u32, Field),
    Inline(u32, u16),
}

/// The names of the first pass, which fields of the second may refer to.
enum Named {
    Alias(u16),
    Struct(u16),
}

struct Reader {
    table: Table,
    names: HashMap<(&'static str, &'static str), Named>,
    expressions: HashMap<(u16, &'static str), u16>,
}

pub(super) fn read(text: &'static str) -> Option<Table> {
    let mut reader = Reader {
        table: Table::default(),
        names: HashMap::new(),
        expressions: HashMap::new(),
    };
    reader.read_names(text)?;
    let lines = reader.read_fields(text)?;
    for index in 0..reader.table.structs.len() {
        reader.flatten(index, &lines);
    }
    reader.table.fingerprints = fingerprint::of_all(&reader.table.fields);
    Some(reader.table)
}

/// The lines that say something.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Reader {
    fn read_names(&mut self, text: &'static str) -> Option<()> {
        for line in lines(text) {
            let (word, rest) = line.split_once(' ')?;
            match word {
                "package" => self.read_package(rest)?,
                "alias" => self.read_alias(rest)?,
                "type" => self.read_type(rest)?,
                _ => {}
            }
        }
        Some(())
    }

    fn read_package(&mut self, rest: &'static str) -> Option<()> {
        let (alias, prefix) = rest.split_once(' ')?;
        let start = self.table.structs.len();
        self.table.packages.push(Package {
            alias,
            prefix,
            structs: start..start,
        });
        Some(())
    }

    fn read_alias(&mut self, rest: &'static str) -> Option<()> {
        let package = self.table.packages.last()?;
        let (rest, values) = rest.split_once(" = ").unwrap_or((rest, ""));
        let mut words = rest.split(' ');
        let (name, target) = (words.next()?, words.next()?);
        let wrapped = words.next() == Some("wrapped");
        self.names.insert(
            (package.alias, name),
            Named::Alias(self.table.aliases.len() as u16),
        );
        let package = self.table.packages.len() as u16 - 1;
        self.table.aliases.push(Alias {
            package,
            name,
            wrapped,
            values,
            target,
        });
        Some(())
    }

    fn read_type(&mut self, rest: &'static str) -> Option<()> {
        let index = self.table.structs.len();
        let (name, is_atomic) = rest
            .strip_suffix(" atomic")
            .map_or((rest, false), |name| (name, true));
        let expression = self.table.expressions.len() as u16;
        let base = Base::Struct(index as u16);
        self.table.expressions.push(Expression {
            pointer: false,
            alias: None,
            base,
        });
        let number = self.table.packages.len() as u16 - 1;
        let package = self.table.packages.last_mut()?;
        package.structs.end = index + 1;
        self.names
            .insert((package.alias, name), Named::Struct(index as u16));
        self.expressions.insert((number, name), expression);
        self.table.structs.push(Struct {
            name,
            is_atomic,
            package: number,
            expression,
            fields: 0..0,
            wire: 0..0,
        });
        Some(())
    }

    /// The fields of each struct, in the order of the structs.
    fn read_fields(&mut self, text: &'static str) -> Option<Vec<Vec<Line>>> {
        let mut structs: Vec<Vec<Line>> = Vec::with_capacity(self.table.structs.len());
        let mut package = u16::MAX;
        for line in lines(text) {
            let (word, rest) = line.split_once(' ')?;
            match word {
                "package" => package = package.wrapping_add(1),
                "alias" => {}
                "type" => structs.push(Vec::new()),
                tag => structs
                    .last_mut()?
                    .push(self.read_field(package, tag.parse().ok()?, rest)?),
            }
        }
        Some(structs)
    }

    fn read_field(&mut self, package: u16, tag: u32, rest: &'static str) -> Option<Line> {
        let mut words = rest.split(' ');
        let (name, ty) = (words.next()?, words.next()?);
        let expression = self.expression(package, ty)?;
        let described = self.table.expressions[usize::from(expression)];
        if name == "~" {
            let Base::Struct(index) = described.base else {
                return None;
            };
            return Some(Line::Inline(tag, index));
        }
        let mut field = Field {
            name,
            ty: TypeRef {
                expression,
                field: NO_FIELD,
            },
            is_written: described.is_struct_in_go(),
            is_required: false,
            list: ListKind::Atomic,
            is_atomic_map: None,
            patch: PatchStrategy::default(),
            explicit: Explicit::default(),
            default: "",
        };
        for word in words {
            read_attribute(&mut field, word)?;
        }
        Some(Line::Field(tag, field))
    }

    /// The index of the type a text spells in a package; each is kept once.
    fn expression(&mut self, package: u16, text: &'static str) -> Option<u16> {
        if let Some(known) = self.expressions.get(&(package, text)) {
            return Some(*known);
        }
        let expression = if let Some(rest) = text.strip_prefix('*') {
            let pointee = self.expression(package, rest)?;
            Expression {
                pointer: true,
                ..self.table.expressions[usize::from(pointee)]
            }
        } else if let Some(rest) = text.strip_prefix("[]") {
            plain(Base::List(self.expression(package, rest)?))
        } else if let Some(rest) = text.strip_prefix("{}") {
            plain(Base::Map(self.expression(package, rest)?))
        } else if let Some(form) = built_in(text) {
            plain(Base::Plain(form))
        } else {
            self.named(package, text)?
        };
        let index = self.table.expressions.len() as u16;
        self.table.expressions.push(expression);
        self.expressions.insert((package, text), index);
        Some(index)
    }

    fn named(&mut self, package: u16, text: &'static str) -> Option<Expression> {
        let here = self.table.packages[usize::from(package)].alias;
        let name = text.rsplit_once('.').unwrap_or((here, text));
        let alias = match self.names.get(&name)? {
            Named::Struct(index) => return Some(plain(Base::Struct(*index))),
            Named::Alias(alias) => *alias,
        };
        let Alias { package, target, .. } = self.table.aliases[usize::from(alias)];
        let target = self.expression(package, target)?;
        Some(Expression {
            alias: Some(alias),
            ..self.table.expressions[usize::from(target)]
        })
    }

    /// Gives a struct the fields of its JSON form and the tags of its protobuf form.
    fn flatten(&mut self, index: usize, lines: &[Vec<Line>]) {
        let table = &mut self.table;
        let first = table.fields.len();
        let mut flat = Vec::new();
        collect(index, lines, &mut flat);
        flat.sort_unstable_by_key(|field| field.name);
        for (position, mut field) in flat.into_iter().enumerate() {
            field.ty.field = (first + position) as u16;
            table.fields.push(field);
        }
        let start = table.wire.len();
        for line in &lines[index] {
            let (tag, target) = match line {
                Line::Inline(tag, inner) => (*tag, Target::Inline(*inner)),
                Line::Field(tag, field) => {
                    let position = table.fields[first..].partition_point(|other| other.name < field.name);
                    (*tag, Target::Field((first + position) as u16))
                }
            };
            if tag != 0 {
                table.wire.push(WireEntry { tag, target });
            }
        }
        table.wire[start..].sort_unstable_by_key(|entry| entry.tag);
        table.structs[index].fields = first..table.fields.len();
        table.structs[index].wire = start..table.wire.len();
    }
}

fn collect(index: usize, lines: &[Vec<Line>], fields: &mut Vec<Field>) {
    for line in &lines[index] {
        match line {
            Line::Field(_, field) => fields.push(*field),
            Line::Inline(_, inner) => collect(usize::from(*inner), lines, fields),
        }
    }
}

fn plain(base: Base) -> Expression {
    Expression {
        pointer: false,
        alias: None,
        base,
    }
}

fn built_in(name: &str) -> Option<Form> {
    Some(match name {
        "string" => Form::String,
        "bool" => Form::Bool,
        "int32" => Form::Int32,
        "int64" => Form::Int64,
        "double" => Form::Double,
        "bytes" => Form::Bytes,
        "Quantity" => Form::Quantity,
        "IntOrString" => Form::IntOrString,
        "Time" => Form::Time,
        "MicroTime" => Form::MicroTime,
        "RawExtension" => Form::RawExtension,
        "FieldsV1" => Form::FieldsV1,
        "JSON" => Form::Json,
        "SchemaOrArray" => Form::SchemaOrArray,
        "SchemaOrBool" => Form::SchemaOrBool,
        "SchemaOrStringArray" => Form::SchemaOrStringArray,
        _ => return None,
    })
}

fn read_attribute(field: &mut Field, word: &'static str) -> Option<()> {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match key {
        "always" => field.is_written = true,
        "omitzero" => field.is_written = false,
        "required" => field.is_required = true,
        "list" => (field.list, field.explicit.list_kind) = (read_list(value)?, true),
        "map" => field.is_atomic_map = Some(value == "atomic"),
        "patch" => (field.patch, field.explicit.replace) = (read_patch(value), value == "replace"),
        "default" => field.default = value,
        _ => return None,
    }
    Some(())
}

fn read_list(value: &'static str) -> Option<ListKind<'static>> {
    match value.split_once(':') {
        // Leaked once, with the table, which lives as long as the program.
        Some(("map", keys)) => Some(ListKind::Map(Vec::leak(keys.split(',').collect()))),
        None if value == "set" => Some(ListKind::Set),
        None if value == "atomic" => Some(ListKind::Atomic),
        _ => None,
    }
}

fn read_patch(value: &'static str) -> PatchStrategy<'static> {
    let (strategies, key) = value
        .split_once(':')
        .map_or((value, None), |(left, key)| (left, Some(key)));
    let has = |strategy| strategies.split(',').any(|word| word == strategy);
    PatchStrategy {
        merge: has("merge"),
        merge_key: key,
        retain_keys: has("retainKeys"),
    }
}
