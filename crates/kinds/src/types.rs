//! The built-in API types: their fields, JSON and protobuf names, and how they merge.
//!
//! The facts are the committed table `tables/types.txt`, read once on first use. Decoding,
//! protobuf, patches, server-side apply and OpenAPI all ask here.

mod fingerprint;
mod shape;
mod table;

use manifests::shape::{ListKind, PatchStrategy};
use serde_json::{Map, Value};

use self::table::{Expression, NO_FIELD, TABLE};

/// The type with this OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
pub fn by_name(name: &str) -> Option<TypeRef> {
    let (prefix, short) = name.rsplit_once('.')?;
    let package = TABLE.packages.iter().find(|package| package.prefix == prefix)?;
    let structs = &TABLE.structs[package.structs.clone()];
    let found = structs
        .binary_search_by_key(&short, |described| described.name)
        .ok()?;
    Some(structs[found].type_ref())
}

/// Every described struct, by package and name.
pub fn structs() -> &'static [Struct] {
    &TABLE.structs
}

/// The type of a JSON schema, which is one of its own parts.
pub(crate) fn json_schema() -> Option<TypeRef> {
    by_name("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
}

/// A type at a place: what a value is, and (below a field) what is known of that field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeRef {
    expression: u16,
    field: u16,
}

/// What JSON a type takes, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    /// Base64 text.
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    /// An embedded object of any kind, kept as it is.
    RawExtension,
    FieldsV1,
    /// Any JSON.
    Json,
    /// A JSON schema or a list of them.
    SchemaOrArray,
    /// A JSON schema or a truth value.
    SchemaOrBool,
    /// A JSON schema or a list of strings.
    SchemaOrStringArray,
    Struct(&'static Struct),
    List(TypeRef),
    /// A map with free keys; the type is that of its values.
    Map(TypeRef),
}

impl TypeRef {
    pub fn form(self) -> Form {
        self.expression().form()
    }

    /// Whether "not given" and "given as zero" are different.
    pub fn is_pointer(self) -> bool {
        self.expression().pointer
    }

    /// The struct behind the type, if it is one.
    pub fn as_struct(self) -> Option<&'static Struct> {
        match self.form() {
            Form::Struct(described) => Some(described),
            _ => None,
        }
    }

    /// The field this place is, if it is directly below a struct.
    pub fn place(self) -> Option<&'static Field> {
        TABLE.fields.get(usize::from(self.field))
    }

    /// The values a named string type allows, which may have the empty one; none when it is open.
    pub fn enum_values(self) -> impl Iterator<Item = &'static str> {
        let alias = self.alias().filter(|alias| !alias.values.is_empty());
        alias.into_iter().flat_map(|alias| alias.values.split('|'))
    }

    /// Whether protobuf wraps this list in a message of its own.
    pub(crate) fn is_wrapped(self) -> bool {
        self.alias().is_some_and(|alias| alias.wrapped)
    }

    /// The name error messages of the real server give to the type.
    pub(crate) fn go_name(self) -> String {
        if let Some(alias) = self.alias() {
            return format!(
                "{}.{}",
                TABLE.packages[usize::from(alias.package)].go_name(),
                alias.name
            );
        }
        match self.form() {
            Form::String => "string".to_owned(),
            Form::Bool => "bool".to_owned(),
            Form::Int32 => "int32".to_owned(),
            Form::Int64 => "int64".to_owned(),
            Form::Double => "float64".to_owned(),
            Form::Bytes => "[]uint8".to_owned(),
            Form::Quantity => "resource.Quantity".to_owned(),
            Form::IntOrString => "intstr.IntOrString".to_owned(),
            Form::Time => "v1.Time".to_owned(),
            Form::MicroTime => "v1.MicroTime".to_owned(),
            Form::RawExtension => "runtime.RawExtension".to_owned(),
            Form::FieldsV1 => "v1.FieldsV1".to_owned(),
            Form::Json => "v1.JSON".to_owned(),
            Form::SchemaOrArray => "v1.JSONSchemaPropsOrArray".to_owned(),
            Form::SchemaOrBool => "v1.JSONSchemaPropsOrBool".to_owned(),
            Form::SchemaOrStringArray => "v1.JSONSchemaPropsOrStringArray".to_owned(),
            Form::Struct(described) => format!("{}.{}", described.package().go_name(), described.name),
            Form::List(element) => format!("[]{}", element.go_name()),
            Form::Map(element) => format!("map[string]{}", element.go_name()),
        }
    }

    /// The JSON of a value nobody set.
    pub(crate) fn zero(self) -> Value {
        if self.is_pointer() {
            return Value::Null;
        }
        match self.form() {
            Form::String => Value::String(String::new()),
            Form::Bool | Form::SchemaOrBool => Value::Bool(false),
            Form::Int32 | Form::Int64 | Form::Double | Form::IntOrString => Value::from(0),
            Form::Quantity => Value::from("0"),
            Form::Struct(described) => {
                let mut map = Map::new();
                described.complete(&mut map);
                Value::Object(map)
            }
            _ => Value::Null,
        }
    }

    fn expression(self) -> Expression {
        TABLE.expressions[usize::from(self.expression)]
    }

    fn alias(self) -> Option<&'static table::Alias> {
        self.expression()
            .alias
            .map(|alias| &TABLE.aliases[usize::from(alias)])
    }
}

/// A struct of the API. Its fields are those of its JSON form, sorted by name; what Go embeds and
/// JSON flattens is already flattened.
#[derive(Debug, PartialEq, Eq)]
pub struct Struct {
    pub name: &'static str,
    /// Server-side apply owns values of this type as a whole.
    pub is_atomic: bool,
    package: u16,
    expression: u16,
    fields: std::ops::Range<usize>,
    wire: std::ops::Range<usize>,
}

impl Struct {
    /// The OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package().prefix, self.name)
    }

    pub fn fields(&self) -> &'static [Field] {
        &TABLE.fields[self.fields.clone()]
    }

    /// The field with this JSON name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        let fields = self.fields();
        let fingerprints = &TABLE.fingerprints[self.fields.clone()];
        let found = fingerprint::find(name, fingerprints, |index| fields[index].name == name)?;
        Some(&fields[found])
    }

    pub fn type_ref(&self) -> TypeRef {
        TypeRef {
            expression: self.expression,
            field: NO_FIELD,
        }
    }

    /// What stands at a protobuf tag.
    pub(crate) fn at_tag(&self, tag: u32) -> Option<Wire> {
        let wire = &TABLE.wire[self.wire.clone()];
        let found = wire.binary_search_by_key(&tag, |entry| entry.tag).ok()?;
        Some(Wire::of(wire[found].target))
    }

    /// Everything that protobuf has of it, with the tags.
    pub(crate) fn wire(&self) -> impl Iterator<Item = (u32, Wire)> {
        let wire = &TABLE.wire[self.wire.clone()];
        wire.iter().map(|entry| (entry.tag, Wire::of(entry.target)))
    }

    /// Adds the fields that are written even when nobody set them.
    pub(crate) fn complete(&self, map: &mut Map<String, Value>) {
        for field in self.fields() {
            if field.is_written && !map.contains_key(field.name) {
                map.insert(field.name.to_owned(), field.ty.zero());
            }
        }
    }

    /// Whether objects of this package are stored as JSON, which tells an empty list from none.
    pub(crate) fn keeps_empty_lists(&self) -> bool {
        let alias = self.package().alias;
        alias == "apiextensions/v1" || alias == "apiregistration/v1"
    }

    fn package(&self) -> &'static table::Package {
        &TABLE.packages[usize::from(self.package)]
    }
}

/// A field of a struct, as JSON has it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub ty: TypeRef,
    /// Written even when zero: not `omitempty`, or a struct that is not behind a pointer.
    pub is_written: bool,
    /// OpenAPI says it must be given.
    pub is_required: bool,
    pub list: ListKind<'static>,
    /// What the field itself says of its object's ownership, over what its type says.
    pub is_atomic_map: Option<bool>,
    pub patch: PatchStrategy<'static>,
    pub(crate) explicit: Explicit,
    default: &'static str,
}

/// What the type says although it would be so anyway; OpenAPI repeats what was said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explicit {
    /// How items are told apart; a list that says nothing is atomic.
    pub(crate) list_kind: bool,
    /// That a patch replaces the value.
    pub(crate) replace: bool,
}

impl Field {
    /// The default that the type itself asks for; fields that are always written have their zero.
    pub fn default(&self) -> Option<Value> {
        serde_json::from_str(self.default).ok()
    }
}

/// Where the bytes of a protobuf field go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire {
    Field(&'static Field),
    /// A message whose fields JSON writes into the parent.
    Inline(&'static Struct),
}

impl Wire {
    fn of(target: table::Target) -> Self {
        match target {
            table::Target::Field(field) => Self::Field(&TABLE.fields[usize::from(field)]),
            table::Target::Inline(described) => Self::Inline(&TABLE.structs[usize::from(described)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Struct {
        by_name(name).unwrap().as_struct().unwrap()
    }

    #[test]
    fn types_are_found_by_their_openapi_name() {
        for described in structs() {
            assert_eq!(by_name(&described.full_name()), Some(described.type_ref()));
        }
        assert!(structs().len() > 500);
        assert!(by_name("io.k8s.api.core.v1.Nothing").is_none());
        assert!(by_name("Pod").is_none());
    }

    #[test]
    fn fields_are_found_by_their_json_name() {
        for described in structs() {
            for field in described.fields() {
                assert_eq!(described.field(field.name).map(|found| found.ty), Some(field.ty));
            }
        }
        assert!(
            named("io.k8s.api.core.v1.Volume").field("emptyDir").is_some(),
            "embedded structs are flat"
        );
        assert!(
            named("io.k8s.api.core.v1.Volume").field("EmptyDir").is_none(),
            "case matters"
        );
    }

    #[test]
    fn every_kind_that_clients_send_is_described() {
        let meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
        for kind in [
            "CreateOptions",
            "DeleteOptions",
            "PatchOptions",
            "Status",
            "UpdateOptions",
        ] {
            assert!(by_name(&format!("{meta}.{kind}")).is_some(), "{kind}");
        }
        for kind in [
            "authentication.v1.TokenRequest",
            "authorization.v1.SelfSubjectRulesReview",
            "autoscaling.v1.Scale",
            "core.v1.Binding",
            "core.v1.PodList",
            "policy.v1.Eviction",
        ] {
            assert!(by_name(&format!("io.k8s.api.{kind}")).is_some(), "{kind}");
        }
    }

    #[test]
    fn what_the_schema_says_is_kept() {
        let port = named("io.k8s.api.core.v1.ContainerPort");
        let protocol = port.field("protocol").unwrap();
        assert_eq!(protocol.default(), Some(Value::from("TCP")));
        assert_eq!(
            protocol.ty.enum_values().collect::<Vec<_>>(),
            ["SCTP", "TCP", "UDP"]
        );
        assert!(port.field("containerPort").unwrap().is_required);
        assert!(!protocol.is_required);
    }
}
