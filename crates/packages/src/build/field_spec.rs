//! Which fields of which kinds a transformer is about: a path, walked in every object it is for. Lists on
//! the way stand for all of their elements.

use super::{
    identity::{Gvk, group_version},
    node::{Content, Map, Node, Scalar, Tag},
    problem::{Outcome, Problem},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldSpec {
    pub(super) gvk: Gvk,
    pub(super) path: String,
    pub(super) create: bool,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    name: String,
    /// It was written with `[]`: a list, which is never made.
    is_list: bool,
}

/// What is made where the last field of a path is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Create {
    Nothing,
    Map,
    Scalar,
}

impl FieldSpec {
    pub(super) fn new(gvk: Gvk, path: &str, create: bool) -> Self {
        let steps = split(path, '/')
            .into_iter()
            .map(|name| match name.strip_suffix("[]") {
                Some(name) => Step {
                    name: name.trim().to_owned(),
                    is_list: true,
                },
                None => Step {
                    name: name.trim().to_owned(),
                    is_list: false,
                },
            });
        Self {
            gvk,
            path: path.to_owned(),
            create,
            steps: steps.collect(),
        }
    }

    /// Whether another spec is for the same field: this one may be for more kinds.
    fn covers(&self, other: &Self) -> bool {
        let gvk = &self.gvk;
        self.path == other.path && other.gvk.selects(&gvk.group, &gvk.version, &gvk.kind)
    }

    fn is_for(&self, object: &Node) -> bool {
        let text = |field: &str| object.get(field).map_or("", Node::text);
        let (group, version) = group_version(text("apiVersion"));
        self.gvk.selects(group, version, text("kind"))
    }

    /// Changes the field in an object it is for, wherever the path leads.
    pub(super) fn apply(
        &self,
        object: &mut Node,
        create: Create,
        change: &mut dyn FnMut(&mut Node) -> Outcome,
    ) -> Outcome {
        if !self.is_for(object) {
            return Ok(());
        }
        self.visit(object, create, change)
    }

    /// The same for an object of any kind.
    pub(super) fn visit(
        &self,
        object: &mut Node,
        create: Create,
        change: &mut dyn FnMut(&mut Node) -> Outcome,
    ) -> Outcome {
        let create = if self.create { create } else { Create::Nothing };
        let walked = walk(object, &self.steps, create, change);
        walked.map_err(|problem| problem.within(&format!("the field `{}`", self.path)))
    }
}

fn walk(
    node: &mut Node,
    steps: &[Step],
    create: Create,
    change: &mut dyn FnMut(&mut Node) -> Outcome,
) -> Outcome {
    let Some((step, rest)) = steps.split_first() else {
        return change(node);
    };
    if node.is_null() {
        return Ok(());
    }
    let at = node.at;
    match &mut node.content {
        Content::List(items) => items
            .iter_mut()
            .try_for_each(|item| walk(item, steps, create, change)),
        Content::Map(map) => {
            let found = entry(map, step, rest.is_empty(), create).map_err(|problem| problem.at(at))?;
            found.map_or(Ok(()), |next| walk(next, rest, create, change))
        }
        Content::Scalar(scalar) => Err(Problem::new(format!(
            "`{}` has no field `{}`",
            scalar.text, step.name
        ))
        .at(at)
        .help("the path of the field must lead through maps and lists")),
    }
}

/// The entry a step leads to, made where it is missing and may be made.
fn entry<'m>(map: &'m mut Map, step: &Step, is_last: bool, create: Create) -> Outcome<Option<&'m mut Node>> {
    let name = step.name.as_str();
    if name.is_empty() {
        return Err(Problem::new("a part of the path is empty"));
    }
    if name.parse::<u64>().is_ok() || name == "-" || name == "*" {
        return Err(Problem::new(format!(
            "`{name}` in the path would be a place in a list, but is a map"
        ))
        .help("leave numbers out of paths: every element of a list is meant"));
    }
    let make = match (create, is_last) {
        _ if step.is_list => None,
        (Create::Nothing, _) => None,
        (Create::Scalar, true) => Some(Create::Scalar),
        _ => Some(Create::Map),
    };
    let Some(make) = make else {
        let mut found = map.get_mut(name);
        if let Some(node) = &mut found
            && step.is_list
            && node.is_null()
        {
            node.content = Content::List(Vec::new());
        }
        return Ok(found);
    };
    let node = map.get_or_insert(name, || match make {
        Create::Scalar => Node::bare(""),
        _ => Node::map(),
    });
    if node.is_null() {
        node.content = match make {
            Create::Scalar => Content::Scalar(Scalar::new(node.text(), Tag::None)),
            _ => Content::Map(Map::default()),
        };
    }
    Ok(Some(node))
}

/// Parts of a path; a separator behind a backslash belongs to its part.
pub(super) fn split(path: &str, separator: char) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let path = match path.strip_prefix(separator) {
        Some(rest) => rest,
        None => path,
    };
    for part in path.split(separator) {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(separator);
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Adds specs to others. One for the same field may not differ in whether the field is made.
pub(super) fn merge(specs: &mut Vec<FieldSpec>, incoming: impl IntoIterator<Item = FieldSpec>) -> Outcome {
    for spec in incoming {
        match specs.iter().find(|existing| existing.covers(&spec)) {
            Some(existing) if existing.create != spec.create => {
                return Err(Problem::new(format!(
                    "two configurations disagree whether `{}` is made where it is missing",
                    spec.path
                ))
                .help("give both the same `create`"));
            }
            Some(_) => {}
            None => specs.push(spec),
        }
    }
    Ok(())
}

/// Sets an entry of the map a spec leads to.
pub(super) fn set_entry(node: &mut Node, name: &str, scalar: &Scalar) -> Outcome {
    if node.is_null() {
        return Ok(());
    }
    let (shape, at) = (node.shape(), node.at);
    let Some(map) = node.as_map_mut() else {
        return Err(Problem::new(format!("it is {shape}, not a map")).at(at));
    };
    map.set(name, Node::scalar(scalar.clone()));
    Ok(())
}

/// Sets the scalar a spec leads to.
pub(super) fn set_scalar(node: &mut Node, scalar: Scalar) -> Outcome {
    if node.as_scalar().is_none() {
        return Err(Problem::new(format!("it is {}, not a scalar", node.shape())).at(node.at));
    }
    node.replace_scalar(scalar);
    Ok(())
}
