//! Which kinds are served right now: the built-in ones and those of established custom resource
//! definitions. A snapshot is never changed, only replaced, so that a request sees one state.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use manifests::api_versions;
use parking_lot::{Mutex, RwLock};
use store::Collection;
use tokio::sync::watch;

use crate::kind::Kind;

/// One state of the registry.
pub struct Snapshot {
    /// Counts replacements; names the state in ETags.
    pub generation: u64,
    by_resource: HashMap<(String, String, String), Arc<Kind>>,
    /// Groups in the order discovery lists them, each with its versions, the preferred one first.
    pub groups: Vec<Group>,
}

pub struct Group {
    pub name: String,
    pub versions: Vec<Version>,
}

pub struct Version {
    pub version: String,
    pub kinds: Vec<Arc<Kind>>,
}

impl Snapshot {
    fn new(
        generation: u64,
        built_in: &[Arc<Kind>],
        custom: &[Arc<Kind>],
        priorities: &BTreeMap<String, i64>,
    ) -> Self {
        let mut by_resource = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for kind in built_in.iter().chain(custom) {
            by_resource.insert(
                (
                    kind.group.to_string(),
                    kind.version.to_string(),
                    kind.plural.to_string(),
                ),
                kind.clone(),
            );
            let group = if let Some(index) = groups.iter().position(|group| group.name == kind.group) {
                &mut groups[index]
            } else {
                groups.push(Group {
                    name: kind.group.to_string(),
                    versions: Vec::new(),
                });
                groups.last_mut().unwrap_or_else(|| unreachable!("pushed above"))
            };
            match group
                .versions
                .iter_mut()
                .find(|version| version.version == kind.version)
            {
                Some(version) => version.kinds.push(kind.clone()),
                None => group.versions.push(Version {
                    version: kind.version.to_string(),
                    kinds: vec![kind.clone()],
                }),
            }
        }
        let first_custom = built_in
            .iter()
            .map(|kind| &kind.group)
            .collect::<std::collections::HashSet<_>>();
        for group in groups
            .iter_mut()
            .filter(|group| !first_custom.contains(&std::borrow::Cow::Borrowed(group.name.as_str())))
        {
            group
                .versions
                .sort_by_key(|version| Reverse(api_versions::rank(&version.version)));
        }
        groups.sort_by_cached_key(|group| {
            let is_built_in = first_custom.contains(&std::borrow::Cow::Borrowed(group.name.as_str()));
            (!is_built_in).then(|| place(group, priorities))
        });
        Self {
            generation,
            by_resource,
            groups,
        }
    }

    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.by_resource
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The preferred version of a kind by its plural, for readers that do not care which.
    pub fn by_plural(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.group(group)?
            .versions
            .iter()
            .flat_map(|version| &version.kinds)
            .find(|kind| kind.plural == plural)
    }

    /// The kind an owner reference or a scale target names.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let group = self.group(group)?;
        let version = group.versions.iter().find(|v| v.version == version)?;
        version.kinds.iter().find(|candidate| candidate.kind == kind)
    }

    /// Every kind once, by what it stores; the first version served stands for the rest.
    pub fn stored_kinds(&self) -> Vec<Arc<Kind>> {
        let mut seen: BTreeMap<Collection, Arc<Kind>> = BTreeMap::new();
        let kinds = self
            .groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.kinds);
        for kind in kinds.filter(|kind| kind.has_verb("list")) {
            seen.entry(kind.collection.clone())
                .or_insert_with(|| kind.clone());
        }
        seen.into_values().collect()
    }
}

/// Built-in groups keep their order; those of definitions follow by priority and name, as with the real server.
fn place(group: &Group, priorities: &BTreeMap<String, i64>) -> (Reverse<i64>, String) {
    let kinds = group.versions.iter().flat_map(|version| &version.kinds);
    let own = kinds.filter_map(|kind| kind.group_priority()).max();
    let given = priorities.get(&group.name).copied();
    let priority = given.or(own).unwrap_or(MEASURED_PRIORITY);
    (Reverse(priority), group.name.clone())
}

/// The place of groups whose objects are measured.
const MEASURED_PRIORITY: i64 = 100;

/// The kinds that come and go.
#[derive(Default)]
struct Others {
    custom: Vec<Arc<Kind>>,
    /// Kinds whose objects are measured, not stored.
    measured: Vec<Arc<Kind>>,
    /// Places in discovery that users gave to groups of definitions.
    priorities: BTreeMap<String, i64>,
}

/// The current snapshot and the way to replace it.
pub struct Registry {
    built_in: Vec<Arc<Kind>>,
    others: Mutex<Others>,
    current: RwLock<Arc<Snapshot>>,
    changed: watch::Sender<u64>,
}

impl Registry {
    pub fn new(built_in: Vec<Arc<Kind>>) -> Self {
        let snapshot = Arc::new(Snapshot::new(0, &built_in, &[], &BTreeMap::new()));
        Self {
            built_in,
            others: Mutex::default(),
            current: RwLock::new(snapshot),
            changed: watch::Sender::new(0),
        }
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// Serves these custom kinds from now on, and no others.
    pub fn replace_custom(&self, custom: &[Arc<Kind>]) {
        self.replace(|others| others.custom = custom.to_vec());
    }

    /// Serves these measured kinds from now on, and no others.
    pub fn replace_measured(&self, measured: Vec<Arc<Kind>>) {
        self.replace(|others| others.measured = measured);
    }

    /// Lists groups of definitions at these places in discovery from now on.
    pub fn replace_priorities(&self, priorities: BTreeMap<String, i64>) {
        if self.others.lock().priorities != priorities {
            self.replace(|others| others.priorities = priorities);
        }
    }

    fn replace(&self, change: impl FnOnce(&mut Others)) {
        let mut others = self.others.lock();
        change(&mut others);
        let all = [others.custom.as_slice(), &others.measured].concat();
        let mut current = self.current.write();
        let generation = current.generation + 1;
        *current = Arc::new(Snapshot::new(
            generation,
            &self.built_in,
            &all,
            &others.priorities,
        ));
        drop(current);
        self.changed.send_replace(generation);
    }

    /// Tells of every replacement.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
