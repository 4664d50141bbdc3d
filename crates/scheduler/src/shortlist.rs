//! The nodes where a class of pods can go, best last, kept true while pods are placed.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    cluster::Cluster,
    demand::Demand,
    explain::shortages,
    filters::Prepared,
    node::Node,
    placement::{Unplaceable, place, refusals},
    scores,
};

/// So many classes are kept at a time; beyond that the work of keeping them exceeds what they save.
const KEPT: usize = 64;

/// Higher is better: the score, then the fewer pods, then the name, so that the choice is always the same.
type Rank = (i64, Reverse<usize>, Reverse<Arc<str>>);

struct Shortlist {
    /// One pod of the class, for all of them.
    example: Arc<Demand>,
    /// The part of a node's score that does not change with the pods on it.
    fixed: HashMap<Arc<str>, i64>,
    ranks: BTreeSet<Rank>,
    rank_of: HashMap<Arc<str>, Rank>,
    /// Why there is no node, and for which state of the cluster that was found out.
    failure: Option<(u64, Arc<Explained>)>,
}

/// Why no node will do, and what is missing where.
pub(crate) struct Explained {
    pub failure: Unplaceable,
    pub shortages: String,
}

impl Explained {
    fn new(cluster: &Cluster, demand: &Demand, failure: Unplaceable) -> Arc<Self> {
        let shortages = shortages(cluster, demand, &failure);
        Arc::new(Self { failure, shortages })
    }
}

#[derive(Default)]
pub(crate) struct Shortlists {
    by_class: HashMap<Arc<str>, Shortlist>,
}

impl Shortlists {
    /// The best node for the pod, as [`place`] would find it.
    pub(crate) fn place(
        &mut self,
        cluster: &Cluster,
        demand: &Arc<Demand>,
    ) -> Result<String, Arc<Explained>> {
        let alone = || place(cluster, demand).map_err(|failure| Explained::new(cluster, demand, failure));
        // Where some pods do not want others near, it matters who a pod is.
        let Some(class) = demand.class.as_ref().filter(|_| !cluster.has_guarded()) else {
            return alone();
        };
        if !self.by_class.contains_key(class) {
            if self.by_class.len() >= KEPT {
                self.by_class.clear();
            }
            self.by_class
                .insert(class.clone(), Shortlist::new(cluster, demand.clone()));
        }
        match self.by_class.get_mut(class) {
            Some(list) => list.best(cluster, demand),
            None => alone(),
        }
    }

    /// The pods of a node have changed.
    pub(crate) fn refresh(&mut self, cluster: &Cluster, node: &str) {
        if let Some(node) = cluster.node(node) {
            for list in self.by_class.values_mut() {
                list.refresh(cluster, node);
            }
        }
    }
}

impl Shortlist {
    fn new(cluster: &Cluster, example: Arc<Demand>) -> Self {
        let mut list = Self {
            fixed: HashMap::new(),
            ranks: BTreeSet::new(),
            rank_of: HashMap::new(),
            failure: None,
            example: example.clone(),
        };
        let prepared = Prepared::new(cluster, &example);
        let possible: Vec<&Node> = cluster
            .nodes()
            .filter(|node| prepared.objections(node).is_empty())
            .collect();
        for (node, fixed) in possible.iter().zip(scores::fixed(cluster, &example, &possible)) {
            list.fixed.insert(node.name.clone(), fixed);
            list.insert(node, fixed);
        }
        list
    }

    /// The best node for a pod of the class. Why there is none is told of the first that asks: it may be
    /// members of its own group that are in the way.
    fn best(&mut self, cluster: &Cluster, demand: &Demand) -> Result<String, Arc<Explained>> {
        if let Some((_, _, Reverse(name))) = self.ranks.last() {
            return Ok(name.to_string());
        }
        match &self.failure {
            Some((version, failure)) if *version == cluster.version() => Err(failure.clone()),
            _ => {
                let failure = refusals(cluster, demand);
                let failure = Explained::new(cluster, demand, failure);
                self.failure = Some((cluster.version(), failure.clone()));
                Err(failure)
            }
        }
    }

    fn refresh(&mut self, cluster: &Cluster, node: &Node) {
        if let Some(rank) = self.rank_of.remove(&node.name) {
            self.ranks.remove(&rank);
        }
        let prepared = Prepared::new(cluster, &self.example);
        if !prepared.objections(node).is_empty() {
            return;
        }
        // One that was not possible at first has no marks in its favour.
        let fixed = self.fixed.get(&node.name).copied().unwrap_or_default();
        self.insert(node, fixed);
    }

    fn insert(&mut self, node: &Node, fixed: i64) {
        let score = fixed + scores::own(&self.example, node);
        let rank = (score, Reverse(node.pods.len()), Reverse(node.name.clone()));
        self.ranks.insert(rank.clone());
        self.rank_of.insert(node.name.clone(), rank);
    }
}
