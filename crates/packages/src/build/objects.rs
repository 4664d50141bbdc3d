//! From documents to objects: each must have a kind and a name, and lists are taken apart.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    node::{Content, Documents, Node, Scalar, Style, Tag, read_documents, to_value},
    problem::{Outcome, Problem},
    resource::Resource,
    session::{Session, malformed},
};

/// The objects of a text within another file, all at one place in it.
pub(super) fn inline_objects(
    session: &Session<'_>,
    text: &str,
    at: super::node::At,
) -> Outcome<Vec<Resource>> {
    let documents = read_documents(text, at.file).map_err(malformed)?;
    let mut resources = objects(session, &documents)?;
    for resource in &mut resources {
        resource.node.place_at(at);
    }
    Ok(resources)
}

/// The objects of a file.
pub(super) fn objects(session: &Session<'_>, documents: &Documents) -> Outcome<Vec<Resource>> {
    let mut waiting = VecDeque::new();
    for node in unwrapped(documents) {
        check_and_add(&mut waiting, node)?;
    }
    let mut resources = Vec::new();
    while let Some(node) = waiting.pop_front() {
        match items(&node)? {
            Items::None => resources.push(Resource::new(node, &mut session.schemas())),
            Items::Some(items) => {
                for item in items {
                    let value = to_value(item)?;
                    let mut node = from_json(value);
                    node.place_at(item.at);
                    let documents = Documents {
                        chunks: 1,
                        nodes: vec![node],
                    };
                    for node in unwrapped(&documents) {
                        check_and_add(&mut waiting, node)?;
                    }
                }
            }
        }
    }
    Ok(resources)
}

fn check_and_add(waiting: &mut VecDeque<Node>, node: Node) -> Outcome {
    if !node.is_empty() {
        check(&node)?;
        waiting.push_back(node);
    }
    Ok(())
}

/// A file that is nothing but a list stands for its items.
fn unwrapped(documents: &Documents) -> Vec<Node> {
    let is_list = |node: &&Node| {
        let kind = node.get("kind").map_or("", Node::value_text);
        matches!(kind, "List" | "ResourceList")
            && (node.get("items").is_some() || node.get("functionConfig").is_some())
    };
    match documents.nodes.as_slice() {
        [list] if documents.chunks == 1 && is_list(&list) => {
            let items = list.get("items").and_then(Node::as_list);
            items.unwrap_or_default().to_vec()
        }
        nodes => nodes.to_vec(),
    }
}

/// Every object has a kind and a name.
pub(super) fn check(node: &Node) -> Outcome {
    let text = |node: Option<&Node>| {
        node.filter(|node| !node.is_empty())
            .map_or("", Node::value_text)
            .to_owned()
    };
    let kind = text(node.get("kind"));
    if kind.is_empty() {
        return Err(Problem::new("the object has no kind")
            .at(node.at)
            .help("every document needs `apiVersion`, `kind` and `metadata.name`"));
    }
    let name = text(node.get("metadata").and_then(|metadata| metadata.get("name")));
    if name.is_empty() && !kind.ends_with("List") {
        let generated = node
            .get("metadata")
            .and_then(|metadata| metadata.get("generateName"));
        return Err(Problem::new(format!("the {kind} has no `metadata.name`"))
            .at(node.at)
            .help(match generated {
                Some(_) => "`generateName` is not enough: packages find objects by their names",
                None => "give it a name",
            }));
    }
    Ok(())
}

enum Items<'n> {
    None,
    Some(&'n [Node]),
}

/// The items of an object of a kind that ends in `List`.
fn items(node: &Node) -> Outcome<Items<'_>> {
    let kind = node.get("kind").map_or("", Node::text);
    let Some(items) = node.get("items").filter(|_| kind.ends_with("List")) else {
        return Ok(Items::None);
    };
    match items.as_list() {
        Some(items) => Ok(Items::Some(items)),
        None if items.is_null() => Ok(Items::Some(&[])),
        None => Err(Problem::new(format!("the items of the {kind} are {}", items.shape())).at(items.at)),
    }
}

/// A value that was read from JSON: text is in quotes.
fn from_json(value: Value) -> Node {
    match value {
        Value::Null => Node::scalar(Scalar::new("null", Tag::Null)),
        Value::Bool(value) => Node::scalar(Scalar::new(value.to_string(), Tag::Bool)),
        Value::Number(number) => {
            let text = number.to_string();
            let tag = super::node::resolve(&text).tag();
            Node::scalar(Scalar::new(text, tag))
        }
        Value::String(text) => Node::scalar(quoted(text)),
        Value::Array(items) => Node::new(Content::List(items.into_iter().map(from_json).collect())),
        Value::Object(fields) => {
            let mut map = super::node::Map::default();
            for (name, value) in fields {
                map.push(quoted(name), from_json(value));
            }
            Node::new(Content::Map(map))
        }
    }
}

fn quoted(text: String) -> Scalar {
    Scalar {
        text,
        tag: Tag::Text,
        style: Style::DoubleQuoted,
        link: 0,
    }
}
