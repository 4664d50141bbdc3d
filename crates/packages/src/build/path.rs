//! Paths with dots, as replacements and vars have them: names, places in lists, and elements by what they
//! hold.

use regex::Regex;

use super::{
    field_spec::split,
    node::{Content, Map, Node, Scalar, Style, Tag},
    problem::{Outcome, Problem},
};

/// Parts of a path. A part in brackets may hold dots.
pub(super) fn parts(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut split = split(path, '.').into_iter();
    while let Some(part) = split.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            parts.push(part);
            continue;
        }
        let mut bracketed = part;
        for part in split.by_ref() {
            bracketed.push('.');
            bracketed.push_str(&part);
            if part.ends_with(']') {
                break;
            }
        }
        if bracketed.contains('=') {
            parts.push(bracketed);
        } else {
            parts.push(bracketed.trim_matches(['[', ']']).to_owned());
        }
    }
    parts
}

/// `a[0]` as two parts.
pub(super) fn with_places(parts: Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    for part in parts {
        let place = part
            .strip_suffix(']')
            .and_then(|part| part.rsplit_once('['))
            .filter(|(_, place)| !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit()));
        match place {
            Some((name, place)) => {
                if !name.is_empty() {
                    all.push(name.to_owned());
                }
                all.push(place.to_owned());
            }
            None => all.push(part),
        }
    }
    all
}

/// The one node a path leads to; none where something is missing.
pub(super) fn look_up<'n>(node: &'n Node, parts: &[String]) -> Outcome<Option<&'n Node>> {
    let mut found = node;
    for part in parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
    {
        let next = if let Ok(place) = part.parse::<i64>() {
            let place = usize::try_from(place)
                .map_err(|_| Problem::new(format!("the place {place} in a list is negative")))?;
            list(found, part)?.get(place)
        } else if part == "-" {
            list(found, part)?.last()
        } else if part == "*" {
            return Err(Problem::new("`*` is for targets: a source is one field"));
        } else if let Some((name, value)) = element(part)? {
            find(list(found, part)?, name, value)
        } else {
            map(found, part)?.and_then(|map| map.get(part))
        };
        match next {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn list<'n>(node: &'n Node, part: &str) -> Outcome<&'n [Node]> {
    match &node.content {
        Content::List(items) => Ok(items),
        _ if node.is_null() => Ok(&[]),
        _ => Err(wrong(node, part, "a list")),
    }
}

fn map<'n>(node: &'n Node, part: &str) -> Outcome<Option<&'n Map>> {
    match &node.content {
        Content::Map(map) => Ok(Some(map)),
        _ if node.is_null() => Ok(None),
        _ => Err(wrong(node, part, "a map")),
    }
}

fn wrong(node: &Node, part: &str, wanted: &str) -> Problem {
    Problem::new(format!(
        "`{part}` is looked for in {}, not in {wanted}",
        node.shape()
    ))
    .at(node.at)
}

/// Name and value of `[name=value]`; none for other parts.
fn element(part: &str) -> Outcome<Option<(&str, &str)>> {
    if !part.starts_with('[') || !part.ends_with(']') {
        return Ok(None);
    }
    let inner = &part[1..part.len().max(2) - 1];
    inner.split_once('=').map(Some).ok_or_else(|| {
        Problem::new(format!("`{part}` does not say which element is meant"))
            .help("write `[name=value]`, or `[=value]` for a list of scalars")
    })
}

fn find<'n>(items: &'n [Node], name: &str, value: &str) -> Option<&'n Node> {
    items.iter().find(|item| match item.as_map() {
        Some(map) if !name.is_empty() => map.get(name).is_some_and(|node| node.text() == value),
        _ => name.is_empty() && item.text() == value,
    })
}

/// What is made at the end of a path that leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Make {
    Nothing,
    Scalar,
    List,
    Map,
}

impl Make {
    pub(super) fn like(node: &Node) -> Self {
        match &node.content {
            Content::Scalar(_) => Self::Scalar,
            Content::List(_) => Self::List,
            Content::Map(_) => Self::Map,
        }
    }

    /// What a part must lead to for the next part to go on.
    fn before(self, next: Option<&String>) -> Node {
        match next {
            Some(next) if next.starts_with('[') && next.ends_with(']') => Node::list(),
            Some(next) if next.parse::<u64>().is_ok() => Node::list(),
            Some(next) if !next.is_empty() => Node::map(),
            _ => match self {
                Self::List => Node::list(),
                Self::Map => Node::map(),
                Self::Nothing | Self::Scalar => Node::bare(""),
            },
        }
    }
}

/// Changes every node a path leads to; says how many there were.
pub(super) fn change(
    node: &mut Node,
    parts: &[String],
    make: Make,
    change_node: &mut dyn FnMut(&mut Node) -> Outcome,
) -> Outcome<usize> {
    let Some((part, rest)) = parts.split_first() else {
        change_node(node)?;
        return Ok(1);
    };
    if let Ok(place) = part.parse::<usize>() {
        return change_place(node, place, rest, make, change_node);
    }
    if let Some((name, value)) = element(part)? {
        return change_elements(node, (name, value), rest, make, change_node);
    }
    if part == "*" {
        let mut count = 0;
        for item in items_mut(node, part)? {
            count += change(item, rest, make, change_node)?;
        }
        return Ok(count);
    }
    if node.is_null() {
        return Ok(0);
    }
    let (at, shape) = (node.at, node.shape());
    let Some(map) = node.as_map_mut() else {
        return Err(Problem::new(format!("`{part}` is looked for in {shape}, not in a map")).at(at));
    };
    let found = match make {
        Make::Nothing => map.get_mut(part),
        _ => Some(map.get_or_insert(part, || make.before(rest.first()))),
    };
    found.map_or(Ok(0), |found| change(found, rest, make, change_node))
}

fn items_mut<'n>(node: &'n mut Node, part: &str) -> Outcome<&'n mut Vec<Node>> {
    if node.is_null() {
        node.content = Content::List(Vec::new());
    }
    let problem = wrong(node, part, "a list");
    match &mut node.content {
        Content::List(items) => Ok(items),
        _ => Err(problem),
    }
}

fn change_place(
    node: &mut Node,
    place: usize,
    rest: &[String],
    make: Make,
    change_node: &mut dyn FnMut(&mut Node) -> Outcome,
) -> Outcome<usize> {
    let at = node.at;
    let items = items_mut(node, &place.to_string())?;
    if items.len() == place && make != Make::Nothing {
        items.push(make.before(rest.first()));
    }
    let count = items.len();
    let Some(item) = items.get_mut(place) else {
        return Err(Problem::new(format!("the list has {count} elements, so none at place {place}")).at(at));
    };
    change(item, rest, make, change_node)
}

fn change_elements(
    node: &mut Node,
    (name, value): (&str, &str),
    rest: &[String],
    make: Make,
    change_node: &mut dyn FnMut(&mut Node) -> Outcome,
) -> Outcome<usize> {
    let expression = Regex::new(value)
        .map_err(|_| Problem::new(format!("`{value}` is not a regular expression")).at(node.at))?;
    let items = items_mut(node, &format!("[{name}={value}]"))?;
    let mut count = 0;
    for item in items.iter_mut() {
        let written = match name {
            "" => Some(written(item)),
            name => item.get(name).map(written),
        };
        if written.is_some_and(|written| expression.is_match(written.trim())) {
            // An element that is a scalar is where the path ends, whatever follows.
            let rest = if name.is_empty() { &[] } else { rest };
            count += change(item, rest, make, change_node)?;
        }
    }
    if count > 0 || make == Make::Nothing {
        return Ok(count);
    }
    let element = match name {
        "" => Node::bare(value),
        name => {
            let mut map = Map::default();
            map.push(Scalar::new(name, Tag::None), Node::bare(value));
            Node::new(Content::Map(map))
        }
    };
    items.push(element);
    // It may still not be found, when the expression does not match itself.
    let last = items.len() - 1;
    let is_found = expression.is_match(value);
    if !is_found {
        return Err(Problem::new(format!("no element can be made for `[{name}={value}]`")).at(node.at));
    }
    let rest = if name.is_empty() { &[] } else { rest };
    change(&mut items[last], rest, make, change_node)
}

/// A scalar as it stands in its document, which is what expressions are matched against.
fn written(node: &Node) -> String {
    match node.as_scalar() {
        Some(scalar) => match scalar.style {
            Style::SingleQuoted => format!("'{}'", scalar.text.replace('\'', "''")),
            Style::DoubleQuoted => format!("{:?}", scalar.text),
            _ => scalar.text.clone(),
        },
        None => String::new(),
    }
}
