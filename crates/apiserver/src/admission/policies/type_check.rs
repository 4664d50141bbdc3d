//! Checks the expressions of a policy against the types of the objects it is for. What does not fit is
//! worth a warning in its status; the policy works all the same, for types can be told only at run
//! time.

use std::collections::BTreeMap;

use kinds::types::{self, Form, Struct, TypeRef};
use schemas::cel::admission::{Described, Environment, ObjectType};
use serde_json::{Value, json};

use crate::{
    kind::{Definition, Kind},
    registry::Snapshot,
};

/// No rule of a policy has its expressions checked against more types than this.
const MAX_TYPES: usize = 10;
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// One warning for each expression that does not fit some type it is for.
pub(super) fn warnings(snapshot: &Snapshot, policy: &Value) -> Vec<Value> {
    let spec = kinds::read::get(policy, "spec");
    let params = params_type(snapshot, kinds::read::get(spec, "paramKind"));
    let mut environments = Vec::new();
    for (name, object) in object_types(snapshot, spec) {
        let environment = Environment::new()
            .with_authorizer(true)
            .with_variables(true)
            .with_params(params.is_some())
            .with_types(&object, params.as_ref());
        environments.push((name, with_variables(environment, spec)));
    }
    let mut warnings = Vec::new();
    for (index, validation) in kinds::read::list(spec, "validations").iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let source = kinds::read::text(validation, field);
            let complaints = complaints(&environments, source);
            if !source.is_empty() && !complaints.is_empty() {
                let place = format!("spec.validations[{index}].{field}");
                warnings.push(json!({ "fieldRef": place, "warning": complaints }));
            }
        }
    }
    warnings
}

fn with_variables(mut environment: Environment, spec: &Value) -> Environment {
    for variable in kinds::read::list(spec, "variables") {
        let text = |field: &str| kinds::read::text(variable, field);
        environment.declare(text("name"), text("expression"));
    }
    environment
}

fn complaints(environments: &[(String, Environment)], source: &str) -> String {
    let complaints: Vec<String> = environments
        .iter()
        .filter_map(|(name, environment)| Some(format!("{name}: {}\n", environment.check(source)?)))
        .collect();
    complaints.join("\n")
}

/// The types of the resources that rules name in full, by group, version and kind.
fn object_types(snapshot: &Snapshot, spec: &Value) -> Vec<(String, ObjectType)> {
    let mut kinds_found = BTreeMap::new();
    let rules = kinds::read::list(kinds::read::get(spec, "matchConstraints"), "resourceRules");
    for rule in rules {
        for kind in named_kinds(snapshot, rule).take(MAX_TYPES) {
            kinds_found.insert(
                (kind.group.clone(), kind.version.clone(), kind.kind.clone()),
                kind,
            );
        }
    }
    let types = kinds_found
        .into_iter()
        .filter_map(|((group, version, kind), found)| {
            Some((format!("{group}/{version}, Kind={kind}"), type_of(found)?))
        });
    types.collect()
}

fn named_kinds<'s>(snapshot: &'s Snapshot, rule: &Value) -> impl Iterator<Item = &'s Kind> {
    let texts = |field: &str| -> Vec<String> {
        let list = kinds::read::list(rule, field).iter().filter_map(Value::as_str);
        let mut texts: Vec<String> = list.map(str::to_owned).collect();
        texts.sort();
        texts
    };
    let starred = |texts: &[String]| texts.iter().any(|text| text.contains('*'));
    let (mut groups, versions, mut resources) =
        (texts("apiGroups"), texts("apiVersions"), texts("resources"));
    if starred(&groups) || starred(&versions) {
        groups.clear();
    }
    resources.retain(|resource| !resource.contains(['*', '/']));
    let mut found = Vec::new();
    for group in &groups {
        for version in &versions {
            found.extend(
                resources
                    .iter()
                    .filter_map(|resource| snapshot.get(group, version, resource)),
            );
        }
    }
    found.into_iter().map(AsRef::as_ref)
}

fn params_type(snapshot: &Snapshot, param_kind: &Value) -> Option<ObjectType> {
    let api_version = kinds::read::text(param_kind, "apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = snapshot.by_kind(group, version, kinds::read::text(param_kind, "kind"))?;
    type_of(kind)
}

fn type_of(kind: &Kind) -> Option<ObjectType> {
    match &kind.definition {
        Definition::BuiltIn(built_in) => {
            let described = describe(built_in.shape, &mut Vec::new())?;
            Some(ObjectType::of_description(&kind.kind, &described))
        }
        Definition::Custom(custom) => {
            let metadata = describe(types::by_name(METADATA)?, &mut Vec::new())?;
            ObjectType::of_schema(&kind.kind, custom.schema(), &metadata)
        }
    }
}

/// What expressions can see of a type; nothing of types without a form, or inside of one that is within
/// itself.
fn describe(of: TypeRef, within: &mut Vec<&'static Struct>) -> Option<Described> {
    Some(match of.form() {
        Form::String => Described::Text,
        Form::Bool => Described::Bool,
        Form::Int32 | Form::Int64 => Described::Int,
        Form::Double => Described::Double,
        Form::Bytes => Described::Bytes,
        Form::IntOrString => Described::Anything,
        Form::Time | Form::MicroTime => Described::Timestamp,
        Form::RawExtension | Form::FieldsV1 => Described::Object(Vec::new()),
        Form::Quantity
        | Form::Json
        | Form::SchemaOrArray
        | Form::SchemaOrBool
        | Form::SchemaOrStringArray => return None,
        Form::List(item) => Described::List(Box::new(describe(item, within)?)),
        Form::Map(value) => Described::Map(Box::new(describe(value, within)?)),
        Form::Struct(described) => {
            if within.contains(&described) {
                return Some(Described::Object(Vec::new()));
            }
            within.push(described);
            let fields = described.fields().iter();
            let fields = fields
                .filter_map(|field| Some((field.name.to_owned(), describe(field.ty, within)?)))
                .collect();
            within.pop();
            Described::Object(fields)
        }
    })
}
