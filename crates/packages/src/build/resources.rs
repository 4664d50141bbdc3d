//! The objects of a package so far, in the order they came, findable by every name they have or had.

use std::collections::HashMap;

use manifests::spelling::nearest;

use super::{
    identity::Id,
    problem::{Outcome, Problem},
    resource::Resource,
};

#[derive(Default)]
pub(super) struct Resources {
    list: Vec<Resource>,
    /// Which objects have or had a name; none while names may have changed.
    by_name: Option<HashMap<String, Vec<usize>>>,
}

impl Resources {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.list.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, index: usize) -> &Resource {
        &self.list[index]
    }

    /// The objects, to change them without changing what they are called.
    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.list.iter_mut()
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut Resource {
        &mut self.list[index]
    }

    /// The objects, to change also what they are called.
    pub(super) fn rename(&mut self) -> &mut Vec<Resource> {
        self.by_name = None;
        &mut self.list
    }

    pub(super) fn into_list(self) -> Vec<Resource> {
        self.list
    }

    /// Adds an object whose id no other has.
    pub(super) fn push(&mut self, resource: Resource) -> Outcome {
        let id = resource.id();
        if let Some(existing) = self.find(id.name, |other| other.id().is_same(&id)).first() {
            let existing = &self.list[*existing];
            return Err(Problem::new(format!("{id} is there already"))
                .at(resource.node.at)
                .other(existing.node.at)
                .help("remove one of them, or change one by a patch instead of adding it again"));
        }
        let index = self.list.len();
        for id in resource.ids() {
            let by_name = self.by_name.get_or_insert_default();
            let found = by_name.entry(id.name.to_owned()).or_default();
            if found.last() != Some(&index) {
                found.push(index);
            }
        }
        self.list.push(resource);
        Ok(())
    }

    pub(super) fn extend(&mut self, resources: impl IntoIterator<Item = Resource>) -> Outcome {
        resources.into_iter().try_for_each(|resource| self.push(resource))
    }

    /// Two objects must not have the same id; names may have changed since that was last true.
    pub(super) fn check_ids(&mut self) -> Outcome {
        if self.by_name.is_none() {
            let list = std::mem::take(&mut self.list);
            self.extend(list)?;
        }
        Ok(())
    }

    /// Objects that have or had a name and pass a test, in their order.
    pub(super) fn find(&mut self, name: &str, test: impl Fn(&Resource) -> bool) -> Vec<usize> {
        let list = &self.list;
        let by_name = self.by_name.get_or_insert_with(|| {
            let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
            for (index, resource) in list.iter().enumerate() {
                for id in resource.ids() {
                    let found = by_name.entry(id.name.to_owned()).or_default();
                    if found.last() != Some(&index) {
                        found.push(index);
                    }
                }
            }
            by_name
        });
        let named = by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        named
            .iter()
            .copied()
            .filter(|index| test(&list[*index]))
            .collect()
    }

    /// Objects that have or had an id.
    pub(super) fn with_id(&mut self, id: &Id<'_>) -> Vec<usize> {
        self.find(id.name, |resource| resource.ids().any(|other| other.is_same(id)))
    }

    /// The one object a patch without a target is for.
    pub(super) fn target_of(&mut self, patch: &Resource) -> Outcome<usize> {
        let id = patch.original_id();
        match self.with_id(&id).as_slice() {
            [index] => Ok(*index),
            [] => Err(self.no_target(&id).at(patch.node.at)),
            several => {
                let first = &self.list[several[0]];
                Err(
                    Problem::new(format!("the patch is for {id}, which are several objects"))
                        .at(patch.node.at)
                        .other(first.node.at)
                        .help("give the patch a namespace, or a `target` that says which are meant"),
                )
            }
        }
    }

    fn no_target(&self, id: &Id<'_>) -> Problem {
        let problem = Problem::new(format!("the patch is for {id}, which is not there"));
        let same_name = self.list.iter().find(|other| other.name() == id.name);
        let of_kind = self.list.iter().filter(|other| other.kind() == id.kind);
        if let Some(other) = same_name {
            return problem.help(format!("there is {}", other.id()));
        }
        match nearest(id.name, of_kind.map(Resource::name)) {
            Some(name) => problem.help(format!("did you mean `{name}`?")),
            None => problem.help("add the object to `resources`, or take the patch out"),
        }
    }

    /// Removes objects of which nothing is left.
    pub(super) fn drop_empty(&mut self) {
        if self.list.iter().any(|resource| resource.node.is_empty()) {
            self.rename().retain(|resource| !resource.node.is_empty());
        }
    }
}
