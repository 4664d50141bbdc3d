//! The elements of lists that are merged. A list is a list of numbers of elements, so that an element can
//! stand in several lists while it is changed.

use std::collections::HashSet;

use super::super::{
    node::{Content, Node, Scalar, Tag},
    problem::{Outcome, Problem},
};

pub(super) type List = Vec<usize>;

pub(super) struct Elements<'k> {
    /// None for lists of scalars, which are found by their text.
    keys: &'k [&'k str],
    all: Vec<Element>,
}

struct Element {
    node: Node,
    /// The texts of its keys, or its own; none for a key it does not have.
    texts: Vec<Option<String>>,
    is_map: bool,
    /// Null or an empty map: the next change of its list drops it.
    is_nothing: bool,
}

impl<'k> Elements<'k> {
    pub(super) fn new(keys: &'k [&'k str]) -> Self {
        Self {
            keys,
            all: Vec::new(),
        }
    }

    /// Takes the elements out of a list.
    pub(super) fn add(&mut self, node: &mut Node) -> List {
        let Content::List(items) = &mut node.content else {
            return Vec::new();
        };
        let start = self.all.len();
        for node in std::mem::take(items) {
            let texts = match node.as_map() {
                _ if self.keys.is_empty() => vec![Some(node.text().to_owned())],
                Some(map) => {
                    let texts = self.keys.iter().map(|key| map.get(key).map(Node::text));
                    texts.map(|text| text.map(str::to_owned)).collect()
                }
                None => vec![None; self.keys.len()],
            };
            self.all.push(Element {
                texts,
                is_map: node.as_map().is_some(),
                is_nothing: is_nothing(&node),
                node,
            });
        }
        (start..self.all.len()).collect()
    }

    pub(super) fn node_mut(&mut self, index: usize) -> &mut Node {
        &mut self.all[index].node
    }

    pub(super) fn is_nothing(&self, index: usize) -> bool {
        is_nothing(&self.all[index].node)
    }

    /// The values of keys for which the result has an element: those of the patch, then the others.
    pub(super) fn wanted(&self, patch: Option<&List>, ours: &List) -> Vec<Vec<String>> {
        let mut seen: HashSet<Vec<String>> = HashSet::new();
        let mut wanted = Vec::new();
        for index in patch.into_iter().flatten().chain(ours) {
            let element = &self.all[*index];
            let values: Vec<String> = (0..self.width())
                .map(|key| element.value(key, self.keys).unwrap_or_default().to_owned())
                .collect();
            if seen.insert(values.clone()) {
                wanted.push(values);
            }
        }
        if self.keys.len() > 1 {
            fill_in(&mut wanted);
        }
        wanted
    }

    fn width(&self) -> usize {
        self.keys.len().max(1)
    }

    /// The keys some element has a value for; all when none has.
    pub(super) fn usable_keys(&self, wanted: &[Vec<String>]) -> Vec<usize> {
        let all = 0..self.width();
        let used: Vec<usize> = all
            .clone()
            .filter(|key| wanted.iter().any(|values| !values[*key].is_empty()))
            .collect();
        if used.is_empty() { all.collect() } else { used }
    }

    /// The first element with these values; empty ones are not asked for unless all are.
    pub(super) fn find(&self, list: &List, keys: &[usize], values: &[&str]) -> Option<usize> {
        let ask_all = values.iter().all(|value| value.is_empty());
        let has_value = |index: &&usize| {
            let element = &self.all[**index];
            (element.is_map || self.keys.is_empty())
                && keys
                    .iter()
                    .zip(values)
                    .filter(|(_, value)| ask_all || !value.is_empty())
                    .all(|(key, value)| element.texts[*key].as_deref() == Some(*value))
        };
        list.iter().find(has_value).copied()
    }

    /// Gives an element the keys it was found by.
    pub(super) fn complete(&mut self, index: usize, keys: &[usize], values: &[&str]) {
        let element = &mut self.all[index];
        for (key, value) in keys.iter().zip(values) {
            if value.is_empty() {
                continue;
            }
            match (&mut element.node.content, self.keys.get(*key)) {
                (Content::Map(map), Some(name)) => {
                    if map.get(name).is_none() {
                        map.set(name, Node::bare(*value));
                    }
                    element.texts[*key] = map.get(name).map(|node| node.text().to_owned());
                }
                (Content::Scalar(_), None) => element.node.replace_scalar(Scalar::new(*value, Tag::None)),
                _ => {}
            }
        }
    }

    /// Puts an element in the place of those with these values, or at the end; none takes them out.
    pub(super) fn replace(
        &self,
        list: &mut List,
        by: Option<usize>,
        keys: &[usize],
        values: &[&str],
    ) -> Outcome {
        let mut is_found = false;
        let mut changed = Vec::with_capacity(list.len() + 1);
        for index in list.iter().copied() {
            let element = &self.all[index];
            if element.is_nothing {
                continue;
            }
            if self.matches(element, keys, values)? {
                is_found = true;
                changed.extend(by);
            } else if !values.is_empty() {
                changed.push(index);
            }
        }
        if let Some(by) = by.filter(|by| !is_found && !self.all[*by].node.is_null()) {
            changed.push(by);
        }
        *list = changed;
        Ok(())
    }

    /// Whether an element has these values, of which there may be fewer than keys.
    fn matches(&self, element: &Element, keys: &[usize], values: &[&str]) -> Outcome<bool> {
        if self.keys.is_empty() {
            let value = values.first().copied().unwrap_or_default();
            return match &element.node.content {
                Content::Scalar(scalar) => Ok(scalar.text == value),
                _ => Err(wrong_element(&element.node, "a scalar")),
            };
        }
        if !element.is_map {
            return match values.first() {
                None | Some(&"") if !keys.is_empty() => Err(wrong_element(&element.node, "a map")),
                _ => Ok(false),
            };
        }
        let matches = |(key, value): (&usize, &&str)| match element.texts[*key].as_deref() {
            Some(text) => value.is_empty() || text == *value,
            None => false,
        };
        Ok(!values.is_empty() && keys.iter().zip(values).all(matches))
    }

    /// Puts the elements of a list into another: in the place of those with the same values, or behind.
    pub(super) fn append(&self, mut to: List, from: &List, keys: &[usize]) -> Outcome<List> {
        for index in from.iter().copied() {
            let element = &self.all[index];
            if self.keys.is_empty() {
                let text = element.node.text();
                self.replace(&mut to, Some(index), keys, &[text])?;
                continue;
            }
            if !element.is_map && !element.node.is_null() {
                return Err(wrong_element(&element.node, "a map"));
            }
            let mut values = Vec::new();
            for key in keys {
                match element.texts[*key].as_deref() {
                    Some(text) => values.push(text),
                    None => to.push(index),
                }
            }
            if keys.len() > 1 {
                self.replace(&mut to, None, keys, &values)?;
            }
            self.replace(&mut to, Some(index), keys, &values)?;
        }
        Ok(to)
    }

    pub(super) fn into_nodes(self, list: &List) -> Vec<Node> {
        let mut nodes: Vec<Option<Node>> = self.all.into_iter().map(|element| Some(element.node)).collect();
        let mut taken = Vec::with_capacity(list.len());
        for (position, index) in list.iter().enumerate() {
            let is_last = !list[position + 1..].contains(index);
            let node = if is_last {
                nodes[*index].take()
            } else {
                nodes[*index].clone()
            };
            taken.extend(node);
        }
        taken
    }
}

impl Element {
    /// The value of a key that is there and not empty.
    fn value(&self, key: usize, keys: &[&str]) -> Option<&str> {
        if keys.is_empty() {
            return self.texts[key].as_deref();
        }
        let node = self.node.get(keys[key])?;
        (!node.is_empty()).then(|| node.text())
    }
}

/// Values that agree where both have something are the same, and complete each other.
fn fill_in(wanted: &mut [Vec<String>]) {
    for first in 0..wanted.len() {
        let before = wanted[first].clone();
        for second in 0..wanted.len() {
            if let Some(values) = common(&before, &wanted[second]) {
                wanted[first].clone_from(&values);
                wanted[second] = values;
            }
        }
    }
}

fn common(left: &[String], right: &[String]) -> Option<Vec<String>> {
    let mut has_common = false;
    let mut values = Vec::with_capacity(left.len());
    for (left, right) in left.iter().zip(right) {
        has_common |= left == right;
        if left != right && !left.is_empty() && !right.is_empty() {
            return None;
        }
        values.push(if left.is_empty() { right } else { left }.clone());
    }
    has_common.then_some(values)
}

fn is_nothing(node: &Node) -> bool {
    node.is_null() || node.as_map().is_some_and(|map| map.entries.is_empty())
}

fn wrong_element(node: &Node, wanted: &str) -> Problem {
    Problem::new(format!(
        "an element of the list is {}, not {wanted}",
        node.shape()
    ))
    .at(node.at)
}
