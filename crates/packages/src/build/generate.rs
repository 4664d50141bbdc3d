//! Objects made of literals and files: ConfigMaps, Secrets, and accounts for a cloud.

mod sources;

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{
    decode::Fields,
    kustomization::GeneratorArgs,
    node::{At, Content, Map, Node, Scalar, Style, Tag},
    problem::{Outcome, Problem},
    resource::{Behavior, Resource},
    resources::Resources,
    root::Root,
};

/// Base64 is broken into lines of this length.
const LINE: usize = 70;

pub(super) fn config_map(root: &Root<'_, '_>, args: &GeneratorArgs) -> Outcome<Resource> {
    let mut map = base("ConfigMap", args)?;
    for (key, content) in sources::load(root, args)? {
        let (field, text) = match String::from_utf8(content) {
            Ok(text) => ("data", text),
            Err(error) => ("binaryData", base64(error.as_bytes())),
        };
        let data = map.get_or_insert(field, Node::map);
        if let Some(data) = data.as_map_mut() {
            data.set(&key, data_node(text));
        }
    }
    Ok(finish(root, map, args))
}

pub(super) fn secret(root: &Root<'_, '_>, args: &GeneratorArgs) -> Outcome<Resource> {
    let mut map = base("Secret", args)?;
    let secret_type = Some(args.secret_type.as_str()).filter(|it| !it.is_empty());
    map.set("type", Node::string(secret_type.unwrap_or("Opaque")));
    let mut data = Map::default();
    for (key, content) in sources::load(root, args)? {
        data.set(&key, data_node(base64(&content)));
    }
    map.set("data", Node::new(Content::Map(data)));
    Ok(finish(root, map, args))
}

/// A ServiceAccount that stands for one of Google's.
pub(super) fn iam_policy(root: &Root<'_, '_>, fields: &Fields<'_>) -> Outcome<Resource> {
    let cloud = fields.text("cloud")?;
    if cloud != "gke" {
        return Err(Problem::new(format!("the cloud `{cloud}` is not known"))
            .at(fields.at)
            .help("it must be `gke`"));
    }
    let texts = |name, parts: [&'static str; 2]| {
        let read = |node: &Node, rules| {
            let fields = Fields::of(node, name, rules)?;
            Ok((fields.text(parts[0])?, fields.text(parts[1])?))
        };
        fields.object(name, read).map(Option::unwrap_or_default)
    };
    let (name, namespace) = texts("kubernetesService", ["name", "namespace"])?;
    let (account, project) = texts("serviceAccount", ["name", "projectId"])?;
    let mut annotations = Map::default();
    annotations.set(
        "iam.gke.io/gcp-service-account",
        Node::string(format!("{account}@{project}.iam.gserviceaccount.com")),
    );
    let mut metadata = Map::default();
    metadata.set("annotations", Node::new(Content::Map(annotations)));
    metadata.set("name", Node::string(name));
    if !namespace.is_empty() {
        metadata.set("namespace", Node::string(namespace));
    }
    let mut map = Map::default();
    map.set("apiVersion", Node::string("v1"));
    map.set("kind", Node::string("ServiceAccount"));
    map.set("metadata", Node::new(Content::Map(metadata)));
    Ok(resource(root, map, fields.at))
}

fn base(kind: &str, args: &GeneratorArgs) -> Outcome<Map> {
    if args.name.is_empty() {
        return Err(Problem::new(format!("the {kind} has no name"))
            .at(args.at)
            .help("add `name`"));
    }
    let mut metadata = Map::default();
    metadata.set("name", Node::string(&args.name));
    if !args.namespace.is_empty() {
        metadata.set("namespace", Node::string(&args.namespace));
    }
    let mut map = Map::default();
    map.set("apiVersion", Node::string("v1"));
    map.set("kind", Node::string(kind));
    map.set("metadata", Node::new(Content::Map(metadata)));
    Ok(map)
}

/// Labels, annotations and what is noted of a generated object.
fn finish(root: &Root<'_, '_>, mut map: Map, args: &GeneratorArgs) -> Resource {
    let options = args.options.clone().unwrap_or_default();
    if let Some(metadata) = map.get_mut("metadata").and_then(Node::as_map_mut) {
        for (field, texts) in [("labels", &options.labels), ("annotations", &options.annotations)] {
            set_texts(metadata, field, texts);
        }
    }
    if options.immutable {
        map.set("immutable", Node::scalar(Scalar::new("true", Tag::Bool)));
    }
    let mut resource = resource(root, map, args.at);
    resource.needs_hash = !options.disable_name_suffix_hash;
    resource.behavior = Some(args.behavior());
    resource
}

fn resource(root: &Root<'_, '_>, map: Map, at: At) -> Resource {
    let mut node = Node::new(Content::Map(map));
    node.place_at(at);
    Resource::new(node, &mut root.session.schemas())
}

fn set_texts(metadata: &mut Map, field: &str, texts: &BTreeMap<String, String>) {
    if texts.is_empty() {
        return;
    }
    let mut map = Map::default();
    for (name, text) in texts {
        map.set(name, Node::string(text));
    }
    metadata.set(field, Node::new(Content::Map(map)));
}

fn data_node(text: String) -> Node {
    let style = if text.contains('\n') {
        Style::Literal
    } else {
        Style::Plain
    };
    Node::scalar(Scalar {
        text,
        tag: Tag::Text,
        style,
        link: 0,
    })
}

fn base64(content: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(content);
    if encoded.len() < LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(LINE));
        lines.push_str(line);
        lines.push('\n');
        rest = behind;
    }
    lines
}

/// Adds a generated object, or puts it in the place of the one it is to be merged with or to replace.
pub(super) fn absorb(resources: &mut Resources, mut resource: Resource) -> Outcome {
    let id = resource.id();
    let found = resources.with_id(&id);
    let behavior = resource.behavior.unwrap_or(Behavior::Create);
    let at = resource.node.at;
    match (found.as_slice(), behavior) {
        ([], Behavior::Create) => resources.push(resource),
        ([], _) => Err(
            Problem::new(format!("{id} is not there to be merged or replaced"))
                .at(at)
                .help("take `behavior` out to make it, or name the generator of the base"),
        ),
        ([index], Behavior::Create) => Err(Problem::new(format!("{id} is there already"))
            .at(at)
            .other(resources.get(*index).node.at)
            .help("set `behavior` to `merge` or `replace`")),
        ([index], behavior) => {
            take_over(&mut resource, resources.get(*index), behavior);
            resources.rename()[*index] = resource;
            Ok(())
        }
        (several, _) => Err(Problem::new(format!("{id} stands for {} objects", several.len()))
            .at(at)
            .help("give the generator the namespace of the one that is meant")),
    }
}

/// What a generated object has from the one it takes the place of.
fn take_over(resource: &mut Resource, old: &Resource, behavior: Behavior) {
    let origin = old.annotation(super::origin::ORIGIN).map(str::to_owned);
    for field in ["labels", "annotations"] {
        let mut texts: BTreeMap<String, String> = owned(old.texts(field));
        texts.extend(owned(resource.texts(field)));
        if let Some(metadata) = resource.metadata_mut() {
            metadata.remove(field);
            set_texts(metadata, field, &texts);
        }
    }
    resource.set_name(old.name());
    resource.set_namespace(old.namespace());
    resource.needs_hash &= old.needs_hash;
    resource.previous.clone_from(&old.previous);
    resource.prefixes.clone_from(&old.prefixes);
    resource.suffixes.clone_from(&old.suffixes);
    resource.behavior = old.behavior;
    resource.vars.clone_from(&old.vars);
    if behavior == Behavior::Merge {
        merge_data(resource, old, "data");
        merge_data(resource, old, "binaryData");
        if let Some(origin) = origin {
            resource.set_annotation(super::origin::ORIGIN, &origin);
        }
    }
}

fn merge_data(resource: &mut Resource, old: &Resource, field: &str) {
    let texts = |resource: &Resource| -> BTreeMap<String, String> {
        let map = resource.node.get(field).and_then(Node::as_map);
        let entries = map.into_iter().flat_map(|map| &map.entries);
        let entries = entries.map(|entry| (entry.key.text.clone(), entry.value.value_text().to_owned()));
        entries.collect()
    };
    let mut merged = texts(old);
    merged.extend(texts(resource));
    let at = resource.node.at;
    if let Some(map) = resource.node.as_map_mut() {
        map.remove(field);
        if merged.is_empty() {
            return;
        }
        let mut data = Map::default();
        for (name, text) in merged {
            data.set(&name, data_node(text));
        }
        let mut node = Node::new(Content::Map(data));
        node.place_at(at);
        map.set(field, node);
    }
}

fn owned<'t>(texts: impl Iterator<Item = (&'t str, &'t str)>) -> BTreeMap<String, String> {
    texts
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect()
}
