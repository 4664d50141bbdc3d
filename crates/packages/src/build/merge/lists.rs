//! Lists whose elements are found by keys. The elements of the patch come first, in its order.
//!
//! This follows the reference step by step, because what it does with elements that lack a key, or stand
//! in a list twice, follows from its steps and from nothing else.

use super::{
    super::{
        node::{Content, Node},
        problem::Outcome,
        schema::Schema,
    },
    Merger, Walked,
    directive::{self, Directive},
    elements::{Elements, List},
    take,
};

/// Where the change of a list comes from.
enum Change<'p> {
    None,
    Patch(&'p mut Node),
    /// The list is part of a patch: it is both what is changed and the change.
    Itself,
}

impl<'d> Merger<'d> {
    pub(super) fn lists(
        &self,
        ours: Option<&mut Node>,
        patch: Option<&mut Node>,
        schema: Option<Schema<'d>>,
        keys: &[&str],
    ) -> Outcome<Walked> {
        let Some(ours) = ours.filter(|ours| !ours.is_null()) else {
            let Some(patch) = patch else {
                return Ok(Walked::Removed);
            };
            self.merge_list(patch, Change::Itself, schema, keys)?;
            return Ok(Walked::Patch);
        };
        let Some(patch) = patch else {
            self.merge_list(ours, Change::None, schema, keys)?;
            return Ok(Walked::Ours);
        };
        if patch.is_null() {
            return Ok(Walked::Removed);
        }
        match directive::of_list(patch)? {
            Directive::Delete => Ok(Walked::Removed),
            Directive::Replace => {
                self.merge_list(patch, Change::Itself, schema, keys)?;
                Ok(Walked::Patch)
            }
            Directive::Merge => {
                self.merge_list(ours, Change::Patch(patch), schema, keys)?;
                Ok(Walked::Ours)
            }
        }
    }

    /// Whether a list of the patch stays.
    pub(super) fn adopt_list(
        &self,
        list: &mut Node,
        schema: Option<Schema<'d>>,
        keys: &[&str],
    ) -> Outcome<bool> {
        if directive::of_list(list)? == Directive::Delete {
            return Ok(false);
        }
        self.merge_list(list, Change::Itself, schema, keys)?;
        Ok(true)
    }

    fn merge_list(
        &self,
        target: &mut Node,
        change: Change<'_>,
        schema: Option<Schema<'d>>,
        keys: &[&str],
    ) -> Outcome {
        let mut elements = Elements::new(keys);
        let mut ours = elements.add(target);
        let (patch, is_itself) = match change {
            Change::None => (None, false),
            Change::Patch(patch) => (Some(elements.add(patch)), false),
            Change::Itself => (None, true),
        };
        let schema = schema.and_then(Schema::elements);
        let wanted = elements.wanted(patch.as_ref(), &ours);
        let used = elements.usable_keys(&wanted);
        let mut items: List = Vec::new();
        for values in &wanted {
            let values: Vec<&str> = used.iter().map(|key| values[*key].as_str()).collect();
            let kept = if is_itself {
                self.adopt_element(&mut elements, &ours, &used, &values, schema)?
            } else {
                self.merge_element(&mut elements, &ours, patch.as_ref(), &used, &values, schema)?
            };
            let Some(kept) = kept.filter(|kept| !elements.is_nothing(*kept)) else {
                elements.replace(&mut ours, None, &used, &values)?;
                continue;
            };
            elements.complete(kept, &used, &values);
            elements.replace(&mut items, Some(kept), &used, &values)?;
        }
        let list = if wanted.is_empty() {
            ours
        } else {
            elements.append(items, &ours, &used)?
        };
        target.content = Content::List(elements.into_nodes(&list));
        Ok(())
    }

    fn adopt_element(
        &self,
        elements: &mut Elements<'_>,
        list: &List,
        keys: &[usize],
        values: &[&str],
        schema: Option<Schema<'d>>,
    ) -> Outcome<Option<usize>> {
        let Some(found) = elements.find(list, keys, values) else {
            return Ok(None);
        };
        let stays = self.adopt(elements.node_mut(found), schema)?;
        Ok(stays.then_some(found))
    }

    /// Merges the elements that both lists have for some values; gives the one that holds the result.
    fn merge_element(
        &self,
        elements: &mut Elements<'_>,
        ours: &List,
        patch: Option<&List>,
        keys: &[usize],
        values: &[&str],
        schema: Option<Schema<'d>>,
    ) -> Outcome<Option<usize>> {
        let ours = elements.find(ours, keys, values);
        let patch = patch.and_then(|patch| elements.find(patch, keys, values));
        if ours.is_none() && patch.is_none() {
            return Ok(None);
        }
        let mut our_node = ours.map(|ours| take(elements.node_mut(ours)));
        let mut patch_node = patch.map(|patch| take(elements.node_mut(patch)));
        let walked = self.walk(our_node.as_mut(), patch_node.as_mut(), schema)?;
        for (index, node) in [(ours, our_node), (patch, patch_node)] {
            if let (Some(index), Some(node)) = (index, node) {
                *elements.node_mut(index) = node;
            }
        }
        Ok(match walked {
            Walked::Removed => None,
            Walked::Ours => ours,
            Walked::Patch => patch,
        })
    }
}
