//! Copies a field of one object into fields of others.

use manifests::spelling::nearest;

use super::{Transformer, select::Texts};
use crate::build::{
    decode::{LENIENT, Text},
    identity::Id,
    kustomization::{FieldOptions, Replacement, ReplacementEntry, ReplacementTarget, Source},
    links,
    node::{Content, Node, read_first},
    path::{self, Make, Way},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    root::Root,
    session::{Session, malformed},
};

const DEFAULT_PATH: &str = "metadata.name";

pub(in super::super) struct Replacements {
    replacements: Vec<Replacement>,
}

impl Replacements {
    pub(in super::super) fn new(root: &Root<'_, '_>, entries: Vec<ReplacementEntry>) -> Outcome<Self> {
        let mut replacements = Vec::new();
        for entry in entries {
            let Some(path) = entry.path else {
                replacements.push(entry.replacement);
                continue;
            };
            let inline = &entry.replacement;
            let has_targets = inline.targets.as_ref().is_some_and(|targets| !targets.is_empty());
            if inline.source.is_some() || has_targets {
                return Err(
                    Problem::new("the replacement has both a path and fields of its own")
                        .at(path.at)
                        .help("keep `path`, or `source` and `targets`"),
                );
            }
            replacements.extend(load(root, &path)?);
        }
        Ok(Self { replacements })
    }
}

/// A file has one replacement or a list of them.
fn load(root: &Root<'_, '_>, path: &Text) -> Outcome<Vec<Replacement>> {
    let (text, at) = root.read_text(path)?;
    let node = read_first(&text, at.file).map_err(malformed)?;
    let wrong = || {
        Problem::new("it is neither a replacement nor a list of them")
            .at(at)
            .help("a replacement has `source` and `targets`")
    };
    let node = node.ok_or_else(wrong)?;
    match &node.content {
        Content::List(items) => items
            .iter()
            .map(|item| Replacement::read(item, LENIENT))
            .collect(),
        Content::Map(_) => Replacement::read(&node, LENIENT).map(|it| vec![it]),
        Content::Scalar(_) => Err(wrong()),
    }
}

impl Transformer for Replacements {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        if self.replacements.is_empty() {
            return Ok(());
        }
        for replacement in &self.replacements {
            let (Some(source), Some(targets)) = (&replacement.source, &replacement.targets) else {
                return Err(
                    Problem::new("a replacement needs a source and at least one target")
                        .at(replacement.at)
                        .help("add `source` and `targets`"),
                );
            };
            let mut value = value_of(resources, source)?;
            for target in targets {
                apply(resources, target, &mut value)?;
            }
        }
        // Names and kinds are fields like others.
        for resource in resources.rename() {
            resource.look_up_scope(&mut session.schemas());
        }
        resources.drop_empty();
        Ok(())
    }
}

/// What is copied. The reference holds on to the source's own node, so that a target in the source changes what
/// the targets after it get.
struct Value {
    node: Node,
    /// The object and the way to the node in it; none for what is a copy already.
    from: Option<(usize, Way)>,
}

impl Value {
    /// The source as it is now, without what ties its scalars to others of their object.
    fn refresh(&mut self, index: usize, node: &Node) {
        if let Some((from, way)) = &self.from
            && *from == index
            && let Some(node) = path::at_way(node, way)
        {
            self.node = links::cut(node);
        }
    }

    /// To be called before something else takes the place of a node: what was below it is no part of the object
    /// any more, and stays as it is.
    fn replaces(&mut self, index: usize, target: &[usize]) {
        let is_below = |(from, way): &(usize, Way)| {
            *from == index && way.len() > target.len() && way.starts_with(target)
        };
        if self.from.as_ref().is_some_and(is_below) {
            self.from = None;
        }
    }
}

fn value_of(resources: &Resources, source: &Source) -> Outcome<Value> {
    let is_meant = |(_, resource): &(usize, &Resource)| ids(resource).any(|id| source.exact.selects(&id));
    let mut found = resources.iter().enumerate().filter(is_meant);
    let Some((index, resource)) = found.next() else {
        let problem = Problem::new(format!(
            "the source of the replacement, {}, is not there",
            source.exact.describe()
        ))
        .at(source.at);
        return Err(
            match nearest(&source.exact.name, resources.iter().map(Resource::name)) {
                Some(name) => problem.help(format!("did you mean `{name}`?")),
                None => problem,
            },
        );
    };
    if let Some((_, other)) = found.next() {
        return Err(Problem::new(format!(
            "the source of the replacement, {}, are several objects: {} and {}",
            source.exact.describe(),
            resource.id(),
            other.id()
        ))
        .at(source.at)
        .help("say more of it: kind, name, namespace"));
    }
    let path = Some(source.field_path.as_str())
        .filter(|path| !path.is_empty())
        .unwrap_or(DEFAULT_PATH);
    let way = path::way_to(&resource.node, &path::parts(path)).map_err(|problem| problem.at(source.at))?;
    let found = way.and_then(|way| Some((path::at_way(&resource.node, &way)?, way)));
    let Some((node, way)) = found.filter(|(node, _)| !node.is_empty()) else {
        return Err(Problem::new(format!("{} has no field `{path}`", resource.id()))
            .at(source.at)
            .object(resource.node.at)
            .help("name the field from the top of the object, as in `metadata.name`"));
    };
    let node = links::cut(node);
    if source.options.delimiter.is_empty() {
        let from = Some((index, way));
        return Ok(Value { node, from });
    }
    let node = part_of(node, &source.options).map_err(|problem| problem.at(source.at))?;
    Ok(Value { node, from: None })
}

/// What the options say to take of a value.
fn part_of(mut node: Node, options: &FieldOptions) -> Outcome<Node> {
    let text = node.value_text().to_owned();
    let Content::Scalar(scalar) = &mut node.content else {
        return Err(Problem::new("only text can be split at a delimiter"));
    };
    let mut parts = text.split(options.delimiter.as_str());
    let part = usize::try_from(options.index)
        .ok()
        .and_then(|index| parts.nth(index));
    let part = part.ok_or_else(|| {
        Problem::new(format!(
            "`{text}` has no part {} at `{}`",
            options.index, options.delimiter
        ))
    })?;
    part.clone_into(&mut scalar.text);
    Ok(node)
}

fn apply(resources: &mut Resources, target: &ReplacementTarget, value: &mut Value) -> Outcome {
    let Some(select) = &target.select else {
        return Err(Problem::new("a target needs `select`").at(target.at));
    };
    let texts = Texts::new(select)?;
    let rejects = target
        .reject
        .iter()
        .map(|reject| Ok((reject, Texts::new(reject)?)));
    let rejects = rejects.collect::<Outcome<Vec<_>>>()?;
    let default = [Text {
        text: DEFAULT_PATH.to_owned(),
        at: target.at,
    }];
    let paths = if target.field_paths.is_empty() {
        &default
    } else {
        target.field_paths.as_slice()
    };
    let paths: Vec<(&Text, Vec<String>)> = paths.iter().map(|path| (path, path::parts(&path.text))).collect();
    for (index, resource) in resources.rename().iter_mut().enumerate() {
        let is_rejected = |resource: &Resource| {
            rejects.iter().any(|(reject, texts)| {
                let has_texts = !reject.label_selector.is_empty() || !reject.annotation_selector.is_empty();
                (has_texts && texts.match_resource(resource))
                    || (!reject.exact.is_empty() && ids(resource).any(|id| reject.exact.selects(&id)))
            })
        };
        let is_selected = ids(resource).any(|id| select.exact.selects(&id));
        if !is_selected || !texts.match_resource(resource) || is_rejected(resource) {
            continue;
        }
        for (path, parts) in &paths {
            copy((index, resource), path, parts, &target.options, value)?;
        }
    }
    Ok(())
}

/// Ids, of which none is known to have no namespace.
fn ids(resource: &Resource) -> impl Iterator<Item = Id<'_>> {
    resource.ids().map(|id| Id {
        is_cluster_scoped: false,
        ..id
    })
}

fn copy(
    (index, resource): (usize, &mut Resource),
    path: &Text,
    parts: &[String],
    options: &FieldOptions,
    value: &mut Value,
) -> Outcome {
    let make = if options.create {
        Make::like(&value.node)
    } else {
        Make::Nothing
    };
    let in_field = |problem: Problem, resource: &Resource| {
        problem
            .within(&format!("the field `{}` of {}", path.text, resource.id()))
            .at(path.at)
    };
    let ways = path::ways(&mut resource.node, parts, make).map_err(|problem| in_field(problem, resource))?;
    if ways.is_empty() {
        return Err(
            Problem::new(format!("{} has no field `{}`", resource.id(), path.text))
                .at(path.at)
                .object(resource.node.at)
                .help("add `options: {create: true}` to make it, or reject the object"),
        );
    }
    for way in ways {
        value.refresh(index, &resource.node);
        value.replaces(index, &way);
        let Some(node) = path::at_way_mut(&mut resource.node, &way) else {
            continue;
        };
        set(node, options, &value.node).map_err(|problem| in_field(problem, resource))?;
        links::follow(resource);
        value.refresh(index, &resource.node);
    }
    Ok(())
}

/// A scalar gets the text and keeps its type; what is no scalar is replaced as it is.
fn set(node: &mut Node, options: &FieldOptions, value: &Node) -> Outcome {
    let mut text = value.text().to_owned();
    if !options.delimiter.is_empty() {
        if node.as_scalar().is_none() {
            return Err(Problem::new("only text can be split at a delimiter").at(node.at));
        }
        let mut parts: Vec<&str> = node.text().split(options.delimiter.as_str()).collect();
        let part = value.value_text();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, part),
            Ok(index) if index >= parts.len() => parts.push(part),
            Ok(index) => parts[index] = part,
        }
        text = parts.join(&options.delimiter);
    }
    match &mut node.content {
        Content::Scalar(scalar) => scalar.text = text,
        content => {
            *content = value.content.clone();
            if let (Content::Scalar(scalar), false) = (content, options.delimiter.is_empty()) {
                scalar.text = text;
            }
        }
    }
    Ok(())
}
