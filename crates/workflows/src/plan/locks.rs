//! Mutexes and semaphores: who holds them and who waits, over all workflows.
//!
//! What is held is written into the status of its holder before it is relied upon, so a controller that
//! starts anew finds out from the workflows who holds what.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    execute::Use,
    walk::{Halt, Walk},
};
use crate::{
    model::{Synchronization, TemplateType},
    node::{NodeType, Phase, SynchronizationStatus},
};

/// What all workflows hold together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locks {
    locks: BTreeMap<String, Lock>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// `namespace/workflow` or `namespace/workflow/node`.
    pub holders: Vec<String>,
    /// In the order of their turn.
    pub waiting: Vec<Waiting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub who: String,
    pub priority: i64,
    /// When the workflow was made, for the order among equals.
    pub since: String,
}

/// A lock that could not be had.
pub(super) struct NotYet {
    pub(super) lock: String,
    pub(super) message: String,
}

fn holder(namespace: &str, workflow: &str, node: &str) -> String {
    match node {
        "" => format!("{namespace}/{workflow}"),
        node => format!("{namespace}/{workflow}/{node}"),
    }
}

impl Locks {
    /// Takes in what a workflow's status says it holds; for a controller that has just started.
    pub fn restore(&mut self, namespace: &str, object: &Value) {
        let status = &object["status"]["synchronization"];
        for kind in ["mutex", "semaphore"] {
            for held in status[kind]["holding"].as_array().into_iter().flatten() {
                let name = held["mutex"].as_str().or_else(|| held["semaphore"].as_str());
                let Some(name) = name else { continue };
                let several = held["holders"].as_array().into_iter().flatten();
                for who in several.chain([&held["holder"]]).filter_map(Value::as_str) {
                    let who = if who.starts_with(&format!("{namespace}/")) {
                        who.to_owned()
                    } else {
                        format!("{namespace}/{who}")
                    };
                    let holders = &mut self.locks.entry(name.to_owned()).or_default().holders;
                    if !holders.contains(&who) {
                        holders.push(who);
                    }
                }
            }
        }
    }

    /// Whether it was had, and how many hold it.
    fn acquire(&mut self, lock: &str, limit: usize, waiting: Waiting) -> (bool, usize) {
        let lock = self.locks.entry(lock.to_owned()).or_default();
        if lock.holders.contains(&waiting.who) {
            return (true, lock.holders.len());
        }
        if !lock.waiting.iter().any(|known| known.who == waiting.who) {
            let place = lock.waiting.iter().position(|known| {
                (waiting.priority, known.since.as_str()) > (known.priority, waiting.since.as_str())
                    && waiting.priority >= known.priority
            });
            let place = place.unwrap_or(lock.waiting.len());
            lock.waiting.insert(place, waiting.clone());
        }
        let free = limit.saturating_sub(lock.holders.len());
        let is_next = lock
            .waiting
            .iter()
            .take(free)
            .any(|known| known.who == waiting.who);
        if is_next {
            lock.waiting.retain(|known| known.who != waiting.who);
            lock.holders.push(waiting.who);
        }
        (is_next, lock.holders.len())
    }

    /// What has begun under a lock has it, whatever others were promised meanwhile.
    pub(super) fn keep(&mut self, lock: &str, who: &str) {
        let lock = self.locks.entry(lock.to_owned()).or_default();
        lock.waiting.retain(|waiting| waiting.who != who);
        if !lock.holders.iter().any(|holder| holder == who) {
            lock.holders.push(who.to_owned());
        }
    }

    /// Of several locks that are only of use together, one could not be had. Whoever waits for it neither holds the
    /// others nor stands before anybody else there: two that wait for each other would wait for ever.
    fn give_back(&mut self, who: &str, but: &str) {
        for (name, lock) in &mut self.locks {
            if name != but {
                lock.holders.retain(|holder| holder != who);
                lock.waiting.retain(|waiting| waiting.who != who);
            }
        }
    }

    /// Whether somebody stood there.
    fn leave_queues(&mut self, who: &str) -> bool {
        let mut is_changed = false;
        for lock in self.locks.values_mut() {
            let before = lock.waiting.len();
            lock.waiting.retain(|waiting| waiting.who != who);
            is_changed |= lock.waiting.len() != before;
        }
        is_changed
    }

    pub(crate) fn has_holder(&self, namespace: &str, workflow: &str, node: &str) -> bool {
        let who = holder(namespace, workflow, node);
        self.locks.values().any(|lock| lock.holders.contains(&who))
    }

    pub(crate) fn release(&mut self, namespace: &str, workflow: &str, node: &str) {
        let who = holder(namespace, workflow, node);
        self.forget(|known| known == who);
    }

    /// The nodes of a workflow that hold something; empty is the workflow as a whole.
    pub(crate) fn held_by(&self, namespace: &str, workflow: &str) -> BTreeSet<String> {
        let held = self.held(namespace, workflow);
        held.into_iter().map(|(_, node)| node).collect()
    }

    /// What a workflow holds, and which of its nodes does.
    pub(super) fn held(&self, namespace: &str, workflow: &str) -> Vec<(String, String)> {
        let whole = holder(namespace, workflow, "");
        let own = self
            .all()
            .filter_map(|(lock, who)| Some((lock, who.strip_prefix(&whole)?)));
        own.filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'))
            .map(|(lock, rest)| (lock.to_owned(), rest.trim_start_matches('/').to_owned()))
            .collect()
    }

    /// Each lock with each who holds it.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.locks.iter().flat_map(|(name, lock)| {
            let holders = lock.holders.iter();
            holders.map(move |who| (name.as_str(), who.as_str()))
        })
    }

    /// A workflow waits for nothing more.
    pub(crate) fn leave_all_queues(&mut self, namespace: &str, workflow: &str) {
        let whole = holder(namespace, workflow, "");
        let start = format!("{whole}/");
        let is_own = |who: &str| who == whole || who.starts_with(&start);
        for lock in self.locks.values_mut() {
            lock.waiting.retain(|waiting| !is_own(&waiting.who));
        }
        self.forget_unused();
    }

    /// Whether a workflow holds or waits for something.
    pub fn concern(&self, namespace: &str, workflow: &str) -> bool {
        let whole = holder(namespace, workflow, "");
        let is_own = |who: &str| {
            let rest = who.strip_prefix(&whole);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.locks.values().any(|lock| {
            let waiting = lock.waiting.iter().map(|waiting| &waiting.who);
            lock.holders.iter().chain(waiting).any(|who| is_own(who))
        })
    }

    /// Everything a workflow holds or waits for.
    pub fn release_all(&mut self, namespace: &str, workflow: &str) {
        let whole = holder(namespace, workflow, "");
        let start = format!("{whole}/");
        self.forget(|known| known == whole || known.starts_with(&start));
    }

    pub(super) fn forget(&mut self, is_meant: impl Fn(&str) -> bool) {
        for lock in self.locks.values_mut() {
            lock.holders.retain(|holder| !is_meant(holder));
            lock.waiting.retain(|waiting| !is_meant(&waiting.who));
        }
        self.forget_unused();
    }

    fn forget_unused(&mut self) {
        self.locks
            .retain(|_, lock| !lock.holders.is_empty() || !lock.waiting.is_empty());
    }

    /// Workflows whose turn it may be, as namespace and name.
    pub fn waiting(&self) -> Vec<(String, String)> {
        let all = self.locks.values().flat_map(|lock| &lock.waiting);
        let mut workflows: Vec<(String, String)> = all
            .filter_map(|waiting| {
                let mut parts = waiting.who.splitn(3, '/');
                Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
            })
            .collect();
        workflows.sort();
        workflows.dedup();
        workflows
    }

    /// What a workflow holds and waits for, as its status has it.
    pub(crate) fn write(&self, namespace: &str, workflow: &str, status: &mut Value) {
        let whole = holder(namespace, workflow, "");
        let start = format!("{whole}/");
        let is_own = |who: &str| who == whole || who.starts_with(&start);
        let mut written = json!({});
        for (name, lock) in &self.locks {
            let kind = if name.contains("/Mutex/") {
                "mutex"
            } else {
                "semaphore"
            };
            let own: Vec<&String> = lock.holders.iter().filter(|who| is_own(who)).collect();
            let mut push = |list: &str, entry: Value| match written[kind][list].as_array_mut() {
                Some(entries) => entries.push(entry),
                None => written[kind][list] = json!([entry]),
            };
            match kind {
                "mutex" => own
                    .iter()
                    .for_each(|who| push("holding", json!({"mutex": name, "holder": who}))),
                _ if own.is_empty() => {}
                _ => push("holding", json!({"semaphore": name, "holders": own})),
            }
            if lock.waiting.iter().any(|waiting| is_own(&waiting.who)) {
                push(
                    "waiting",
                    match kind {
                        "mutex" => json!({"mutex": name, "holder": lock.holders.first()}),
                        _ => json!({"semaphore": name, "holders": lock.holders}),
                    },
                );
            }
        }
        *status = if written.as_object().is_some_and(serde_json::Map::is_empty) {
            Value::Null
        } else {
            written
        };
    }
}

impl Walk<'_> {
    /// Takes all locks, or none and says which is missing.
    pub(super) fn try_lock(
        &mut self,
        node: &str,
        synchronization: &Synchronization,
    ) -> Result<Option<NotYet>, Halt> {
        let wanted = self.wanted(synchronization)?;
        let who = holder(&self.namespace, &self.name, node);
        let priority = self
            .spec
            .priority
            .as_ref()
            .and_then(crate::model::Number::integer)
            .unwrap_or_default();
        let since = self.object["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap_or_default();
        for (lock, limit) in &wanted {
            let waiting = Waiting {
                who: who.clone(),
                priority,
                since: since.to_owned(),
            };
            let (is_had, holders) = self.locks.acquire(lock, *limit, waiting);
            if !is_had {
                self.locks.give_back(&who, lock);
                let free = limit.saturating_sub(holders);
                return Ok(Some(NotYet {
                    lock: lock.clone(),
                    message: format!("Waiting for {lock} lock. Lock status: {free}/{limit}"),
                }));
            }
        }
        Ok(None)
    }

    /// Who could not begin if he had a lock stands before nobody who can: the one who has the room may wait for it.
    pub(super) fn leave_queues(&mut self, name: &str) {
        let who = holder(&self.namespace, &self.name, &self.id(name));
        self.plan.left_queue |= self.locks.leave_queues(&who);
    }

    /// Names of locks and how many may hold each, in one order for all.
    fn wanted(&mut self, synchronization: &Synchronization) -> Result<Vec<(String, usize)>, Halt> {
        let mut wanted = Vec::new();
        for mutex in synchronization.mutex.iter().chain(&synchronization.mutexes) {
            let namespace = if mutex.namespace.is_empty() {
                &self.namespace
            } else {
                &mutex.namespace
            };
            wanted.push((format!("{namespace}/Mutex/{}", mutex.name), 1));
        }
        let semaphores = synchronization
            .semaphore
            .iter()
            .chain(&synchronization.semaphores);
        for semaphore in semaphores.cloned().collect::<Vec<_>>() {
            let Some(key) = &semaphore.config_map_key_ref else {
                return Err(Halt::Broken(
                    "a semaphore needs configMapKeyRef; those in databases are not supported".to_owned(),
                ));
            };
            let namespace = if semaphore.namespace.is_empty() {
                self.namespace.clone()
            } else {
                semaphore.namespace.clone()
            };
            let found = self.config_map(&namespace, &key.name)?;
            let text = found
                .and_then(|data| data.get(&key.key).cloned())
                .ok_or_else(|| {
                    Halt::Broken(format!(
                        "ConfigMap {namespace}/{} has no key {}",
                        key.name, key.key
                    ))
                })?;
            let limit: usize = text.trim().parse().map_err(|_| {
                Halt::Broken(format!(
                    "ConfigMap {namespace}/{}, key {}: `{text}` is no number",
                    key.name, key.key
                ))
            })?;
            wanted.push((format!("{namespace}/ConfigMap/{}/{}", key.name, key.key), limit));
        }
        wanted.sort();
        wanted.dedup();
        Ok(wanted)
    }

    fn end_waiting(&mut self, name: &str) {
        if let Some(node) = self.node_mut(name)
            && node.synchronization_status.take().is_some()
        {
            node.message = String::new();
        }
    }

    /// Whether the node has its locks; otherwise it says what it waits for.
    pub(super) fn lock_node(
        &mut self,
        used: &Use<'_>,
        synchronization: &Synchronization,
    ) -> Result<bool, Halt> {
        let id = self.id(used.name);
        let has_begun = self.node(used.name).is_some_and(|node| {
            let is_under_way = node.phase == Phase::Running || self.pods.contains_key(id.as_str());
            node.synchronization_status.is_none() && is_under_way
        });
        // Pods that nobody could note were made under the lock.
        if has_begun || self.has_strays(used.name) {
            let who = holder(&self.namespace, &self.name, &id);
            for (lock, _) in self.wanted(synchronization)? {
                self.locks.keep(&lock, &who);
            }
            self.end_waiting(used.name);
            return Ok(true);
        }
        let waiting = self.try_lock(&id, synchronization)?;
        let Some(waiting) = waiting else {
            self.end_waiting(used.name);
            return Ok(true);
        };
        if self.node(used.name).is_none() {
            let kind = match used.template.kind() {
                _ if self.retry_strategy(used.template).is_some() => NodeType::Retry,
                Some(TemplateType::Steps) => NodeType::Steps,
                Some(TemplateType::Dag) => NodeType::Dag,
                Some(TemplateType::Suspend) => NodeType::Suspend,
                Some(TemplateType::Http) => NodeType::Http,
                _ => NodeType::Pod,
            };
            self.add_node(used.new_node(kind, Phase::Pending));
            if kind == NodeType::Pod {
                self.add_container_nodes(used);
            }
        }
        if let Some(node) = self.node_mut(used.name) {
            node.message = waiting.message;
            node.synchronization_status = Some(SynchronizationStatus {
                waiting: waiting.lock,
            });
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(who: &str, priority: i64, since: &str) -> Waiting {
        Waiting {
            who: who.to_owned(),
            priority,
            since: since.to_owned(),
        }
    }

    #[test]
    fn the_one_who_waits_longest_or_is_more_urgent_comes_next() {
        let mut locks = Locks::default();
        let lock = "n/Mutex/m";
        assert!(locks.acquire(lock, 1, waiting("n/a", 0, "1")).0);
        assert!(!locks.acquire(lock, 1, waiting("n/b", 0, "2")).0);
        assert!(!locks.acquire(lock, 1, waiting("n/c", 0, "3")).0);
        assert!(!locks.acquire(lock, 1, waiting("n/d", 5, "4")).0);
        assert!(locks.concern("n", "a") && locks.concern("n", "d"));
        locks.release("n", "a", "");
        assert!(!locks.acquire(lock, 1, waiting("n/c", 0, "3")).0);
        assert!(!locks.acquire(lock, 1, waiting("n/b", 0, "2")).0);
        assert!(locks.acquire(lock, 1, waiting("n/d", 5, "4")).0);
        locks.release_all("n", "d");
        assert!(!locks.concern("n", "a") && !locks.concern("n", "d"));
        assert!(locks.acquire(lock, 1, waiting("n/b", 0, "2")).0);
    }

    #[test]
    fn a_semaphore_has_several_holders() {
        let mut locks = Locks::default();
        let lock = "n/ConfigMap/c/k";
        assert!(locks.acquire(lock, 2, waiting("n/a/x", 0, "")).0);
        assert!(locks.acquire(lock, 2, waiting("n/a/y", 0, "")).0);
        assert!(!locks.acquire(lock, 2, waiting("n/b", 0, "")).0);
        assert!(locks.acquire(lock, 2, waiting("n/a/x", 0, "")).0);
        assert!(locks.concern("n", "a") && !locks.concern("n", "a2"));
    }

    #[test]
    fn who_waits_for_one_of_two_locks_keeps_nobody_from_the_other() {
        let mut locks = Locks::default();
        let (one, two) = ("n/Mutex/1", "n/Mutex/2");
        assert!(locks.acquire(two, 1, waiting("n/d", 0, "0")).0);
        // It wants both: it has the first, waits for the second and gives the first back.
        assert!(locks.acquire(one, 1, waiting("n/a", 0, "1")).0);
        assert!(!locks.acquire(two, 1, waiting("n/a", 0, "1")).0);
        locks.give_back("n/a", two);
        assert!(locks.acquire(one, 1, waiting("n/e", 0, "2")).0);
        locks.release("n", "d", "");
        // Now it waits for the first, and the one who has that may have the second.
        assert!(!locks.acquire(one, 1, waiting("n/a", 0, "1")).0);
        locks.give_back("n/a", one);
        assert!(locks.acquire(two, 1, waiting("n/e", 0, "2")).0);
    }

    #[test]
    fn what_is_held_is_found_again_in_the_status() {
        let mut locks = Locks::default();
        locks.acquire("n/Mutex/m", 1, waiting("n/w/node-1", 0, ""));
        locks.acquire("n/ConfigMap/c/k", 2, waiting("n/w", 0, ""));
        let mut status = Value::Null;
        locks.write("n", "w", &mut status);
        let mut restored = Locks::default();
        restored.restore("n", &json!({"status": {"synchronization": status}}));
        assert_eq!(restored, locks);
    }
}
