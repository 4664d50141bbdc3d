//! Paths with dots, as replacements and vars have them: names, places in lists, and elements by what they
//! hold.

use super::{
    expression::expression,
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
    Ok(way_to(node, parts)?.and_then(|way| at_way(node, &way)))
}

/// The way to the one node a path leads to; none where something is missing.
pub(super) fn way_to(node: &Node, parts: &[String]) -> Outcome<Option<Way>> {
    let (mut found, mut way) = (node, Way::new());
    for part in parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
    {
        let next = if let Ok(place) = part.parse::<i64>() {
            let place = usize::try_from(place)
                .map_err(|_| Problem::new(format!("the place {place} in a list is negative")))?;
            list(found, part)?.get(place).map(|_| place)
        } else if part == "-" {
            list(found, part)?.len().checked_sub(1)
        } else if part == "*" {
            return Err(Problem::new("`*` is for targets: a source is one field"));
        } else if let Some((name, value)) = element(part)? {
            find(list(found, part)?, name, value)
        } else {
            let entries = map(found, part)?.map(|map| map.entries.as_slice());
            entries.and_then(|entries| entries.iter().position(|entry| entry.key.text == part))
        };
        let next = next.and_then(|step| Some((step, at_way(found, &[step])?)));
        let Some((step, next)) = next else {
            return Ok(None);
        };
        way.push(step);
        found = next;
    }
    Ok(Some(way))
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

fn find(items: &[Node], name: &str, value: &str) -> Option<usize> {
    items.iter().position(|item| match item.as_map() {
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

/// The way from a node to one below it: the number of an entry or an element at each step. It holds as long as
/// nothing on the way is removed; what is added comes last.
pub(super) type Way = Vec<usize>;

/// The ways to every node a path leads to; what is missing is made on the way.
pub(super) fn ways(node: &mut Node, parts: &[String], make: Make) -> Outcome<Vec<Way>> {
    let mut found = Vec::new();
    Search {
        make,
        found: &mut found,
    }
    .follow(node, parts, &mut Vec::new())?;
    Ok(found)
}

/// What a way leads to.
pub(super) fn at_way<'n>(node: &'n Node, way: &[usize]) -> Option<&'n Node> {
    way.iter().try_fold(node, |node, step| match &node.content {
        Content::List(items) => items.get(*step),
        Content::Map(map) => map.entries.get(*step).map(|entry| &entry.value),
        Content::Scalar(_) => None,
    })
}

pub(super) fn at_way_mut<'n>(node: &'n mut Node, way: &[usize]) -> Option<&'n mut Node> {
    way.iter().try_fold(node, |node, step| match &mut node.content {
        Content::List(items) => items.get_mut(*step),
        Content::Map(map) => map.entries.get_mut(*step).map(|entry| &mut entry.value),
        Content::Scalar(_) => None,
    })
}

struct Search<'f> {
    make: Make,
    found: &'f mut Vec<Way>,
}

impl Search<'_> {
    fn follow(&mut self, node: &mut Node, parts: &[String], way: &mut Way) -> Outcome {
        let Some((part, rest)) = parts.split_first() else {
            self.found.push(way.clone());
            return Ok(());
        };
        if let Ok(place) = part.parse::<usize>() {
            return self.place(node, place, rest, way);
        }
        if let Some((name, value)) = element(part)? {
            return self.elements(node, (name, value), rest, way);
        }
        if part == "*" {
            let items = items_mut(node, part)?.iter_mut().enumerate();
            for (index, item) in items {
                self.step(item, index, rest, way)?;
            }
            return Ok(());
        }
        if node.is_null() {
            return Ok(());
        }
        let (at, shape) = (node.at, node.shape());
        let Some(map) = node.as_map_mut() else {
            return Err(Problem::new(format!("`{part}` is looked for in {shape}, not in a map")).at(at));
        };
        if self.make != Make::Nothing {
            map.get_or_insert(part, || self.make.before(rest.first()));
        }
        let index = map.entries.iter().position(|entry| entry.key.text == *part);
        match index {
            Some(index) => self.step(&mut map.entries[index].value, index, rest, way),
            None => Ok(()),
        }
    }

    fn step(&mut self, node: &mut Node, index: usize, rest: &[String], way: &mut Way) -> Outcome {
        way.push(index);
        self.follow(node, rest, way)?;
        way.pop();
        Ok(())
    }

    fn place(&mut self, node: &mut Node, place: usize, rest: &[String], way: &mut Way) -> Outcome {
        let at = node.at;
        let items = items_mut(node, &place.to_string())?;
        if items.len() == place && self.make != Make::Nothing {
            items.push(self.make.before(rest.first()));
        }
        let count = items.len();
        let Some(item) = items.get_mut(place) else {
            return Err(
                Problem::new(format!("the list has {count} elements, so none at place {place}")).at(at),
            );
        };
        self.step(item, place, rest, way)
    }

    fn elements(
        &mut self,
        node: &mut Node,
        (name, value): (&str, &str),
        rest: &[String],
        way: &mut Way,
    ) -> Outcome {
        let expression = expression(value)
            .map_err(|told| Problem::new(format!("`{value}` is not a regular expression: {told}")))?;
        // An element that is a scalar is where the path ends, whatever follows.
        let rest = if name.is_empty() { &[] } else { rest };
        let items = items_mut(node, &format!("[{name}={value}]"))?;
        let before = self.found.len();
        for (index, item) in items.iter_mut().enumerate() {
            let written = match name {
                "" => Some(written(item)),
                name => item.get(name).map(written),
            };
            if written.is_some_and(|written| expression.is_match(written.trim())) {
                self.step(item, index, rest, way)?;
            }
        }
        if self.found.len() > before || self.make == Make::Nothing {
            return Ok(());
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
        if !expression.is_match(value) {
            return Err(Problem::new(format!("no element can be made for `[{name}={value}]`")).at(node.at));
        }
        let last = items.len() - 1;
        self.step(&mut items[last], last, rest, way)
    }
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
