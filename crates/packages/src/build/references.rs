//! Names of objects in the fields of others follow when the objects get other names.

mod candidates;

use std::collections::HashMap;

use self::candidates::{Candidates, Reference};
use super::{
    config::FieldSpecs,
    field_spec::{Create, FieldSpec},
    identity::{Gvk, group_version},
    node::{Content, Node, Scalar, Tag},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
};

/// A field that may hold the name of an object of a kind.
type Field<'c> = (&'c FieldSpec, &'c Gvk);

pub(super) fn fix_references(resources: &mut Resources, config: &FieldSpecs) -> Outcome {
    // Also where nothing has another name than before: what holds a name must be able to.
    let candidates = Candidates::new(resources);
    // Objects of the same kind have the same fields.
    let mut by_kind: HashMap<(String, String), Vec<Field<'_>>> = HashMap::new();
    for (index, resource) in resources.iter_mut().enumerate() {
        let kind = (
            resource.api_version().to_owned(),
            resource.original_id().kind.to_owned(),
        );
        let fields = by_kind
            .entry(kind)
            .or_insert_with_key(|(api_version, kind)| fields(config, api_version, kind));
        if !fields.is_empty() {
            fix(resource, index, fields, &candidates)?;
        }
    }
    Ok(())
}

fn fields<'c>(config: &'c FieldSpecs, api_version: &str, kind: &str) -> Vec<Field<'c>> {
    let (group, version) = group_version(api_version);
    let all = config.name_reference.iter().flat_map(|reference| {
        let specs = reference.field_specs.iter();
        specs.map(move |spec| (spec, &reference.gvk))
    });
    all.filter(|(spec, _)| spec.gvk.selects(group, version, kind))
        .collect()
}

fn fix(resource: &mut Resource, index: usize, fields: &[Field<'_>], candidates: &Candidates) -> Outcome {
    let namespaces = candidates::account_namespaces(resource)?;
    for (spec, target) in fields {
        let role = spec
            .path
            .ends_with("roleRef/name")
            .then(|| role_of(&resource.node))
            .flatten();
        let reference = Reference {
            referrer: index,
            target,
            role,
            account_namespaces: &namespaces,
        };
        let result = spec.visit(&mut resource.node, Create::Nothing, &mut |node| {
            set(node, &reference, candidates)
        });
        result.map_err(|problem| problem.at(resource.node.at))?;
    }
    Ok(())
}

/// The kind of role a binding refers to.
fn role_of(node: &Node) -> Option<Gvk> {
    let role = node.get("roleRef")?;
    Some(Gvk {
        group: role.get("apiGroup")?.text().to_owned(),
        kind: role.get("kind")?.text().to_owned(),
        version: String::new(),
    })
}

fn set(node: &mut Node, reference: &Reference<'_>, candidates: &Candidates) -> Outcome {
    if node.is_null() {
        return Ok(());
    }
    match &mut node.content {
        Content::List(items) => items.iter_mut().try_for_each(|item| match &item.content {
            Content::List(_) => Err(Problem::new("a list of lists holds no names").at(item.at)),
            _ if item.is_null() => Ok(()),
            Content::Map(_) => set_map(item, reference, candidates),
            Content::Scalar(_) => set_scalar(item, reference, candidates),
        }),
        Content::Map(_) => set_map(node, reference, candidates),
        Content::Scalar(_) => set_scalar(node, reference, candidates),
    }
}

fn set_scalar(node: &mut Node, reference: &Reference<'_>, candidates: &Candidates) -> Outcome {
    let Some(found) = candidates
        .find(reference, node.text())
        .map_err(|it| it.at(node.at))?
    else {
        return Ok(());
    };
    if found.name != node.text() {
        node.replace_scalar(Scalar::new(&found.name, Tag::None));
    }
    Ok(())
}

/// A map with a name and perhaps a namespace; both follow.
fn set_map(node: &mut Node, reference: &Reference<'_>, candidates: &Candidates) -> Outcome {
    let at = node.at;
    let Some(map) = node.as_map_mut() else {
        return Ok(());
    };
    let Some(name) = map.get("name").map(|name| name.text().to_owned()) else {
        return Err(Problem::new("a map that should name an object has no `name`").at(at));
    };
    let namespace = map.get("namespace").map(Node::text);
    let found = candidates.find_in(reference, &name, namespace);
    let Some(found) = found.map_err(|problem| problem.at(at))? else {
        return Ok(());
    };
    if found.name == name && found.namespace.is_empty() {
        return Ok(());
    }
    map.set("name", Node::bare(&found.name));
    if !found.namespace.is_empty() {
        map.set("namespace", Node::bare(&found.namespace));
    }
    Ok(())
}
