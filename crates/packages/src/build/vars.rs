//! Vars: `$(NAME)` in some fields stands for a field of an object, read when everything has its final
//! name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    config::FieldSpecs,
    field_spec::Create,
    identity::Id,
    kustomization::Var,
    links,
    node::{Content, Node, Scalar, Tag},
    path,
    problem::{Outcome, Problem},
    resources::Resources,
    session::Session,
};

/// Vars by name.
pub(super) type Vars = BTreeMap<String, Var>;

/// What a var stands for.
enum Value {
    /// Its text, and the type it has where the var is all of a field.
    Scalar(String, Tag),
    /// Maps and lists cannot stand in text; the var stays as it is.
    None,
}

/// Adds vars, whose names must be new.
pub(super) fn merge(vars: &mut Vars, incoming: impl IntoIterator<Item = Var>) -> Outcome {
    for var in incoming {
        if let Some(existing) = vars.get(&var.name) {
            return Err(Problem::new(format!("the var `{}` is there already", var.name))
                .at(var.at)
                .other(existing.at)
                .help("every var needs a name of its own, also in different bases"));
        }
        vars.insert(var.name.clone(), var);
    }
    Ok(())
}

/// Notes on objects which vars read from them.
pub(super) fn attach(resources: &mut Resources, vars: &[Var]) -> Outcome {
    for var in vars {
        let object = &var.object;
        let wanted = Id {
            group: &object.gvk.group,
            version: &object.gvk.version,
            kind: &object.gvk.kind,
            name: &object.name,
            namespace: &object.namespace,
            is_cluster_scoped: false,
        };
        let found = resources.find(&object.name, |resource| {
            resource.ids().any(|id| {
                let is_anywhere = object.namespace.is_empty();
                id.is_named_like(&wanted) && (is_anywhere || id.has_same_namespace(&wanted))
            })
        });
        match found.as_slice() {
            [] => {}
            [index] => resources.get_mut(*index).vars.push(var.name.clone()),
            several => {
                return Err(Problem::new(format!(
                    "the object of the var `{}` could be one of {}",
                    var.name,
                    several.len()
                ))
                .at(var.at)
                .help("add `namespace` to its `objref`"));
            }
        }
    }
    Ok(())
}

/// Puts the values of vars where they stand.
pub(super) fn resolve(
    resources: &mut Resources,
    vars: &Vars,
    config: &FieldSpecs,
    session: &Session<'_>,
) -> Outcome {
    if vars.is_empty() {
        return Ok(());
    }
    let mut values = BTreeMap::new();
    for (name, var) in vars {
        values.insert(name.as_str(), value_of(resources, var)?);
    }
    let mut used = BTreeSet::new();
    for resource in resources.rename() {
        for spec in &config.var_reference {
            spec.apply(&mut resource.node, Create::Nothing, &mut |node| {
                expand(node, &values, &mut used)
            })?;
            // A label or annotation that is in several places is replaced in all of them.
            links::follow(resource);
        }
    }
    let unused: Vec<&str> = values
        .keys()
        .copied()
        .filter(|name| !used.contains(*name))
        .collect();
    if !unused.is_empty() {
        session.warn(format!(
            "well-defined vars that were never replaced: {}",
            unused.join(",")
        ));
    }
    Ok(())
}

fn value_of(resources: &Resources, var: &Var) -> Outcome<Value> {
    let Some(resource) = resources
        .iter()
        .find(|resource| resource.vars.contains(&var.name))
    else {
        return Err(Problem::new(format!(
            "the object of the var `{}`, {}, is not there",
            var.name,
            var.object.describe()
        ))
        .at(var.at)
        .help("its `objref` must be the apiVersion, kind and name an object has in this package"));
    };
    let parts = path::with_places(path::parts(&var.field_path));
    let missing = || {
        Problem::new(format!(
            "the field `{}` of the var `{}` is not in {}",
            var.field_path,
            var.name,
            resource.id()
        ))
        .at(var.at)
        .object(resource.node.at)
    };
    let found = path::look_up(&resource.node, &parts).map_err(|_| missing())?;
    let node = found.ok_or_else(missing)?;
    let Content::Scalar(scalar) = &node.content else {
        return Ok(Value::None);
    };
    let text = scalar.text.clone();
    match scalar.tag {
        Tag::Integer => {
            let number: i64 = text.parse().map_err(|_| missing())?;
            Ok(Value::Scalar(number.to_string(), Tag::Integer))
        }
        Tag::Float => {
            let number: f64 = text.parse().map_err(|_| missing())?;
            Ok(Value::Scalar(number.to_string(), Tag::Float))
        }
        Tag::Bool => Ok(Value::Scalar(text.to_lowercase(), Tag::Bool)),
        _ => Ok(Value::Scalar(text, Tag::Text)),
    }
}

type Values<'v> = BTreeMap<&'v str, Value>;

fn expand(node: &mut Node, values: &Values<'_>, used: &mut BTreeSet<String>) -> Outcome {
    match &mut node.content {
        Content::Scalar(scalar) => expand_scalar(scalar, values, used),
        Content::List(items) => {
            for item in items {
                let at = item.at;
                match &mut item.content {
                    Content::Scalar(scalar) if scalar.may_be_text() => expand_scalar(scalar, values, used),
                    _ => {
                        return Err(
                            Problem::new("an element of a list that may hold vars is not text")
                                .at(at)
                                .help("put it in quotes"),
                        );
                    }
                }
            }
        }
        Content::Map(map) => {
            for entry in &mut map.entries {
                if !entry.key.may_be_text() {
                    return Err(Problem::new(format!("the key `{}` is not text", entry.key.text))
                        .at(entry.at)
                        .help("put it in quotes"));
                }
                if let Content::Scalar(scalar) = &mut entry.value.content {
                    expand_scalar(scalar, values, used);
                }
            }
        }
    }
    Ok(())
}

/// Text becomes text with values, or a value when the var is all of it.
fn expand_scalar(scalar: &mut Scalar, values: &Values<'_>, used: &mut BTreeSet<String>) {
    if scalar.may_be_text() {
        let (text, tag) = expanded(&scalar.text, values, used);
        *scalar = Scalar {
            link: scalar.link,
            ..Scalar::new(text, tag)
        };
    }
}

fn expanded(input: &str, values: &Values<'_>, used: &mut BTreeSet<String>) -> (String, Tag) {
    let mut out = String::with_capacity(input.len());
    let mut rest = input;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        let behind = &rest[dollar + 1..];
        let Some(next) = behind.chars().next() else {
            out.push('$');
            rest = "";
            break;
        };
        let end = behind.find(')').filter(|_| next == '(');
        if next == '$' {
            out.push('$');
            rest = &behind[1..];
        } else if let Some(end) = end {
            let name = &behind[1..end];
            match values.get(name) {
                Some(Value::Scalar(text, tag)) => {
                    used.insert(name.to_owned());
                    if input.len() == name.len() + 3 {
                        return (text.clone(), tag.clone());
                    }
                    out.push_str(&shown(text, tag));
                }
                _ => out.push_str(&format!("$({name})")),
            }
            rest = &behind[end + 1..];
        } else {
            out.push('$');
            out.push(next);
            rest = &behind[next.len_utf8()..];
        }
    }
    out.push_str(rest);
    (out, Tag::Text)
}

/// A value within text.
fn shown(text: &str, tag: &Tag) -> String {
    match (tag, text.parse::<f64>()) {
        (Tag::Float, Ok(number)) => manifests::yaml::shortest_float(number),
        _ => text.to_owned(),
    }
}
