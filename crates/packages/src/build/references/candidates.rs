//! The objects a name may mean, found by the names they had.

use std::collections::{HashMap, HashSet};

use super::super::{
    identity::{CLUSTER, Gvk},
    node::Node,
    problem::{Outcome, Problem},
    resource::{PreviousId, Resource},
    resources::Resources,
};

/// What is asked for.
pub(super) struct Reference<'r> {
    /// The number of the object whose field it is.
    pub(super) referrer: usize,
    pub(super) target: &'r Gvk,
    pub(super) role: Option<Gvk>,
    /// The namespaces of accounts a role binding is for.
    pub(super) account_namespaces: &'r HashSet<String>,
}

/// An object as far as names go.
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) namespace: String,
    effective_namespace: String,
    original_namespace: String,
    group: String,
    version: String,
    is_account: bool,
    previous: Vec<PreviousId>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

pub(super) struct Candidates {
    all: Vec<Candidate>,
    /// Which objects were called so once.
    by_previous_name: HashMap<String, Vec<usize>>,
}

impl Candidates {
    pub(super) fn new(resources: &Resources) -> Self {
        let mut by_previous_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, resource) in resources.iter().enumerate() {
            for previous in &resource.previous {
                let found = by_previous_name.entry(previous.name.clone()).or_default();
                if found.last() != Some(&index) {
                    found.push(index);
                }
            }
        }
        let all = if by_previous_name.is_empty() {
            Vec::new()
        } else {
            resources.iter().map(Candidate::new).collect()
        };
        Self {
            all,
            by_previous_name,
        }
    }

    pub(super) fn find(&self, reference: &Reference<'_>, name: &str) -> Outcome<Option<&Candidate>> {
        let candidates = self.called(name);
        self.choose(reference, candidates, |left, right| left.name == right.name)
    }

    /// The same for a name with a namespace, which may be the one an object had or has.
    pub(super) fn find_in(
        &self,
        reference: &Reference<'_>,
        name: &str,
        namespace: Option<&str>,
    ) -> Outcome<Option<&Candidate>> {
        let mut candidates = self.called(name);
        if let Some(namespace) = namespace {
            let had_it = |candidate: &Candidate| candidate.original_namespace == namespace;
            let is_known = namespace != CLUSTER
                && !candidates.is_empty()
                && self
                    .all
                    .iter()
                    .any(|candidate| had_it(candidate) && self.is_reachable(reference, candidate));
            candidates.retain(|candidate| {
                if is_known {
                    had_it(candidate)
                } else {
                    namespace != CLUSTER && candidate.effective_namespace == namespace
                }
            });
        }
        self.choose(reference, candidates, |left, right| {
            (&left.name, &left.namespace) == (&right.name, &right.namespace)
        })
    }

    fn called(&self, name: &str) -> Vec<&Candidate> {
        let found = self.by_previous_name.get(name).into_iter().flatten();
        found.map(|index| &self.all[*index]).collect()
    }

    fn choose<'c>(
        &'c self,
        reference: &Reference<'_>,
        mut candidates: Vec<&'c Candidate>,
        is_same: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Outcome<Option<&'c Candidate>> {
        if candidates.is_empty() {
            return Ok(None);
        }
        let referrer = &self.all[reference.referrer];
        candidates.retain(|candidate| {
            self.is_reachable(reference, candidate)
                && candidate.was(reference.target)
                && reference.role.as_ref().is_none_or(|role| candidate.was(role))
                && is_in_reach(referrer, candidate)
        });
        if let [one] = candidates.as_slice() {
            return Ok(Some(one));
        }
        candidates.retain(|candidate| has_same_affixes(candidate, referrer, true));
        if candidates.len() > 1 {
            candidates.retain(|candidate| has_same_affixes(candidate, referrer, false));
        }
        let Some((first, others)) = candidates.split_first() else {
            return Ok(None);
        };
        if let Some(other) = others.iter().find(|other| !is_same(first, other)) {
            return Err(Problem::new(format!(
                "the name could mean `{}` or `{}`, which both had it",
                first.name, other.name
            ))
            .help("give the objects different names before they are renamed"));
        }
        Ok(Some(first))
    }

    /// Objects of other namespaces cannot be meant, but for accounts a role binding is for.
    fn is_reachable(&self, reference: &Reference<'_>, candidate: &Candidate) -> bool {
        let referrer = &self.all[reference.referrer];
        referrer.effective_namespace == CLUSTER
            || candidate.effective_namespace == CLUSTER
            || candidate.effective_namespace == referrer.effective_namespace
            || reference.account_namespaces.contains(&candidate.namespace)
    }
}

fn is_in_reach(referrer: &Candidate, candidate: &Candidate) -> bool {
    referrer.effective_namespace == CLUSTER
        || candidate.effective_namespace == CLUSTER
        || candidate.is_account
        || candidate.effective_namespace == referrer.effective_namespace
}

impl Candidate {
    fn new(resource: &Resource) -> Self {
        let id = resource.id();
        Self {
            name: id.name.to_owned(),
            namespace: id.namespace.to_owned(),
            effective_namespace: id.effective_namespace().to_owned(),
            original_namespace: resource.original_id().effective_namespace().to_owned(),
            group: id.group.to_owned(),
            version: id.version.to_owned(),
            is_account: id.kind == "ServiceAccount",
            previous: resource.previous.clone(),
            prefixes: resource.prefixes.clone(),
            suffixes: resource.suffixes.clone(),
        }
    }

    /// Whether it was of a kind before it was renamed.
    fn was(&self, gvk: &Gvk) -> bool {
        self.previous
            .iter()
            .any(|previous| gvk.selects(&self.group, &self.version, &previous.kind))
    }
}

fn has_same_affixes(left: &Candidate, right: &Candidate, is_empty_any: bool) -> bool {
    let pairs = [
        (&left.prefixes, &right.prefixes),
        (&left.suffixes, &right.suffixes),
    ];
    pairs.into_iter().all(|(left, right)| {
        (is_empty_any && (left.is_empty() || right.is_empty())) || has_same_end(left, right)
    })
}

/// Whether the shorter list is the end of the longer; an empty one only of an empty one.
fn has_same_end(left: &[String], right: &[String]) -> bool {
    let (short, long) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    if short.is_empty() {
        return long.is_empty();
    }
    long.ends_with(short)
}

/// The namespaces of the accounts a role binding is for; none for other objects.
pub(super) fn account_namespaces(resource: &Resource) -> Outcome<HashSet<String>> {
    if resource.kind() != "RoleBinding" {
        return Ok(HashSet::new());
    }
    let subjects = resource.node.get("subjects").and_then(Node::as_list);
    let mut namespaces = HashSet::new();
    for subject in subjects.into_iter().flatten() {
        let is_account = subject
            .get("kind")
            .is_some_and(|kind| kind.text() == "ServiceAccount");
        let Some(namespace) = subject.get("namespace").filter(|_| is_account) else {
            continue;
        };
        if namespace.is_null() {
            return Err(
                Problem::new(format!("a subject of {} has a blank namespace", resource.id()))
                    .at(namespace.at)
                    .help("name the namespace of the account"),
            );
        }
        namespaces.insert(namespace.text().to_owned());
    }
    Ok(namespaces)
}
