//! `$patch` in a map or as an element of a list says what is to be done with the whole of it.

use super::super::{
    node::{Content, Node},
    problem::{Outcome, Problem},
};

const DIRECTIVE: &str = "$patch";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Reads the directive of a map, and takes it out.
pub(super) fn of_map(node: &mut Node) -> Outcome<Directive> {
    let Some(map) = node.as_map_mut() else {
        return Err(Problem::new(format!("a patch cannot be {}", node.shape())).at(node.at));
    };
    let Some(value) = map.get(DIRECTIVE) else {
        return Ok(Directive::Merge);
    };
    let directive = read(value)?;
    map.remove(DIRECTIVE);
    Ok(directive)
}

/// Reads the directive among the elements of a list, and takes it out.
pub(super) fn of_list(node: &mut Node) -> Outcome<Directive> {
    let Content::List(items) = &mut node.content else {
        return Ok(Directive::Merge);
    };
    let element = items
        .iter()
        .filter_map(Node::as_map)
        .find(|map| map.get(DIRECTIVE).is_some());
    let Some(value) = element
        .filter(|map| map.entries.len() == 1)
        .and_then(|map| map.get(DIRECTIVE))
    else {
        return Ok(Directive::Merge);
    };
    let directive = read(value)?;
    let text = value.text().to_owned();
    items.retain(|item| {
        let has_it = item.get(DIRECTIVE).is_some_and(|value| value.text() == text);
        let is_nothing = item.is_null() || item.as_map().is_some_and(|map| map.entries.is_empty());
        !has_it && !is_nothing
    });
    Ok(directive)
}

fn read(value: &Node) -> Outcome<Directive> {
    match value.text() {
        "merge" => Ok(Directive::Merge),
        "replace" => Ok(Directive::Replace),
        "delete" => Ok(Directive::Delete),
        other => Err(Problem::new(format!("unknown patch strategy `{other}`"))
            .at(value.at)
            .help("`$patch` is `merge`, `replace` or `delete`")),
    }
}
