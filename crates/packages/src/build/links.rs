//! A label that a transformer adds in several places of an object is one node in the reference: a patch of
//! one place changes the others too. Packages depend on it, so scalars added together are linked.

use super::{
    node::{Content, Node, Scalar},
    resource::Resource,
};

/// The linked scalars of an object as they were last the same, by their numbers less one.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(Vec<Scalar>);

impl Links {
    /// Gives a number to a scalar that is about to be added in several places.
    pub(super) fn add(&mut self, scalar: &mut Scalar) {
        scalar.link = self.0.len() as u32 + 1;
        self.0.push(scalar.clone());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Has the scalars of an object that were changed in one place follow in the others.
pub(super) fn follow(resource: &mut Resource) {
    let Links(known) = &mut resource.links;
    if known.is_empty() {
        return;
    }
    let mut changed: Vec<(usize, Scalar)> = Vec::new();
    visit(&mut resource.node, &mut |scalar| {
        let index = scalar.link as usize - 1;
        let is_changed = |known: &Scalar| (&scalar.text, &scalar.tag) != (&known.text, &known.tag);
        if known.get(index).is_some_and(is_changed) {
            changed.push((index, scalar.clone()));
        }
    });
    if changed.is_empty() {
        return;
    }
    for (index, scalar) in changed {
        known[index] = scalar;
    }
    visit(&mut resource.node, &mut |scalar| {
        if let Some(known) = known.get(scalar.link as usize - 1) {
            scalar.clone_from(known);
        }
    });
}

/// A copy of a node, whose scalars stand alone.
pub(super) fn cut(node: &Node) -> Node {
    let mut copy = node.clone();
    visit(&mut copy, &mut |scalar| scalar.link = 0);
    copy
}

fn visit(node: &mut Node, change: &mut dyn FnMut(&mut Scalar)) {
    match &mut node.content {
        Content::Scalar(scalar) if scalar.link > 0 => change(scalar),
        Content::Scalar(_) => {}
        Content::List(items) => items.iter_mut().for_each(|item| visit(item, change)),
        Content::Map(map) => map
            .entries
            .iter_mut()
            .for_each(|entry| visit(&mut entry.value, change)),
    }
}
