//! The objects of a kind as last seen, and as last written by ourselves.
//!
//! A watch tells of our own writes with a delay. Until then a plan made from the cache would repeat
//! them, so writers put what the server answered into the cache themselves. Two things must not
//! happen then: an old event must not undo the write, and a write whose object the watch has already
//! seen come *and go* must not bring it back. The version the watch has reached decides.
//!
//! A watch that has broken off begins with a new list, and nobody says as of which version. What we write and delete
//! while it is under way may be missing in it: that stays as we know it until the watch, which goes on from the list,
//! has passed it by.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use crate::{Cached, Key};

pub(crate) struct Cache<K> {
    objects: BTreeMap<Key, Arc<K>>,
    /// Keys, each after the uid of the object that controls it.
    controlled: BTreeSet<(Arc<str>, Key)>,
    /// How far the watch has come.
    reached: u64,
    /// Uids we know to be gone although the watch has not said so yet.
    gone: HashSet<String>,
    /// Those of them that have gone since the last list was begun.
    gone_lately: HashSet<String>,
    /// What we have written since the last list was begun and the watch has not told of yet, by version.
    written: BTreeMap<u64, Key>,
    is_listing: bool,
}

/// What an object was and is.
pub(crate) type Transition<K> = (Option<Arc<K>>, Option<Arc<K>>);

impl<K: Cached> Cache<K> {
    pub(crate) fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            controlled: BTreeSet::new(),
            reached: 0,
            gone: HashSet::new(),
            gone_lately: HashSet::new(),
            written: BTreeMap::new(),
            is_listing: false,
        }
    }

    /// The watch says that an object is like this; with it go those it would have told of by now.
    pub(crate) fn told(&mut self, object: K) -> Vec<Transition<K>> {
        let mut changes = self.overtaken(&object);
        changes.extend(self.seen(object));
        changes
    }

    /// The watch says that an object is no more.
    pub(crate) fn told_gone(&mut self, object: &K) -> Vec<Transition<K>> {
        let mut changes = self.overtaken(object);
        changes.extend(self.seen_gone(object));
        changes
    }

    fn seen(&mut self, object: K) -> Option<Transition<K>> {
        let version = object.version();
        self.reached = self.reached.max(version);
        let key = Key::of(&object);
        let is_gone = self.gone.contains(object.uid());
        let before = self.objects.get(&key).cloned();
        if is_gone || before.as_deref().is_some_and(|known| known.version() > version) {
            return None;
        }
        let after = Arc::new(object);
        self.put(key, after.clone());
        Some((before, Some(after)))
    }

    fn seen_gone(&mut self, object: &K) -> Option<Transition<K>> {
        self.reached = self.reached.max(object.version());
        self.gone.remove(object.uid());
        self.gone_lately.remove(object.uid());
        self.take(object).map(|before| (Some(before), None))
    }

    /// We wrote an object and this is the server's answer.
    pub(crate) fn wrote(&mut self, object: K) -> Option<Transition<K>> {
        if object.version() <= self.reached {
            return None;
        }
        let key = Key::of(&object);
        let before = self.objects.get(&key).cloned();
        if before
            .as_deref()
            .is_some_and(|known| known.version() >= object.version())
        {
            return None;
        }
        if self.is_listing {
            self.written.insert(object.version(), key.clone());
        }
        let after = Arc::new(object);
        self.put(key, after.clone());
        Some((before, Some(after)))
    }

    /// We deleted an object and it is gone at once.
    pub(crate) fn removed(&mut self, object: &K) -> Option<Transition<K>> {
        let before = self.take(object)?;
        self.gone.insert(object.uid().to_owned());
        if self.is_listing {
            self.gone_lately.insert(object.uid().to_owned());
        }
        Some((Some(before), None))
    }

    /// A list is asked for: it knows everything that was answered to us before.
    pub(crate) fn list(&mut self) {
        self.is_listing = true;
        self.gone_lately.clear();
        self.written.clear();
    }

    /// A new list begins the watch anew: what it does not name has gone meanwhile, unless we have only just written it.
    pub(crate) fn replace(&mut self, objects: Vec<K>) -> Vec<Transition<K>> {
        self.is_listing = false;
        self.gone = self.gone_lately.clone();
        // The list is at least as new as the newest object in it.
        let newest = objects.iter().map(Cached::version).max().unwrap_or_default();
        self.written.retain(|version, _| *version > newest);
        let mut kept: HashSet<Key> = objects.iter().map(|object| Key::of(object)).collect();
        kept.extend(self.written.values().cloned());
        let vanished: Vec<Arc<K>> = self
            .objects
            .iter()
            .filter(|(key, _)| !kept.contains(key))
            .map(|(_, object)| object.clone())
            .collect();
        let removed = vanished
            .into_iter()
            .filter_map(|object| self.take(&object).map(|before| (Some(before), None)))
            .collect::<Vec<_>>();
        let seen = objects.into_iter().filter_map(|object| self.seen(object));
        removed.into_iter().chain(seen).collect()
    }

    /// What we wrote before this object became what the watch tells of it, and the watch has not told of: it has gone
    /// again before the list was made.
    fn overtaken(&mut self, object: &K) -> Vec<Transition<K>> {
        let (key, version) = (Key::of(object), object.version());
        let later = self.written.split_off(&version);
        let earlier = std::mem::replace(&mut self.written, later);
        self.written.retain(|_, written| *written != key);
        let others = earlier.into_iter().filter(|(_, written)| *written != key);
        let gone = others.filter_map(|(version, key)| {
            let known = self.objects.get(&key)?.clone();
            // One that was written or told of again since is none of these.
            if known.version() != version {
                return None;
            }
            self.take(&known).map(|before| (Some(before), None))
        });
        gone.collect()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.objects.get(key).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.objects.values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.objects
            .range(Key::new(namespace, "")..)
            .take_while(|(key, _)| &*key.namespace == namespace)
            .map(|(_, object)| object.clone())
            .collect()
    }

    pub(crate) fn controlled_by(&self, uid: &str) -> Vec<Arc<K>> {
        let controlled = self.entries_of(uid);
        controlled
            .filter_map(|(_, key)| self.objects.get(key))
            .cloned()
            .collect()
    }

    fn entries_of(&self, uid: &str) -> impl Iterator<Item = &(Arc<str>, Key)> {
        let first = (Arc::from(uid), Key::new("", ""));
        let until = uid.to_owned();
        self.controlled
            .range(first..)
            .take_while(move |(controller, _)| **controller == *until)
    }

    fn put(&mut self, key: Key, object: Arc<K>) {
        if let Some(controller) = object.controller() {
            let known = self.entries_of(controller.uid).next();
            // All that one object controls share its uid.
            let uid = known.map_or_else(|| controller.uid.into(), |(uid, _)| uid.clone());
            self.controlled.insert((uid, key.clone()));
        }
        if let Some(before) = self.objects.insert(key.clone(), object.clone())
            && controller(&*before) != controller(&*object)
        {
            self.forget_controller(key, &before);
        }
    }

    /// Takes out the object, unless another has meanwhile got its name.
    fn take(&mut self, object: &K) -> Option<Arc<K>> {
        let key = Key::of(object);
        let known = self.objects.get(&key)?;
        if known.uid() != object.uid() {
            return None;
        }
        let before = self.objects.remove(&key)?;
        self.forget_controller(key, &before);
        Some(before)
    }

    fn forget_controller(&mut self, key: Key, object: &K) {
        if let Some(controller) = object.controller() {
            self.controlled.remove(&(controller.uid.into(), key));
        }
    }
}

fn controller(object: &impl Cached) -> Option<&str> {
    object.controller().map(|controller| controller.uid)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, version: u64, owner: Option<&str>) -> Pod {
        let owners: Vec<_> = owner
            .map(|uid| json!({"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": uid, "controller": true}))
            .into_iter()
            .collect();
        serde_json::from_value(json!({"metadata": {
            "namespace": "n", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(), "ownerReferences": owners,
        }}))
        .unwrap()
    }

    fn names(objects: Vec<Arc<Pod>>) -> Vec<String> {
        objects
            .iter()
            .filter_map(|pod| pod.metadata.name.clone())
            .collect()
    }

    #[test]
    fn a_write_is_known_before_the_watch_tells_of_it() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, None));
        assert!(cache.wrote(pod("b", 5, Some("o"))).is_some());
        assert_eq!(names(cache.controlled_by("o")), ["b"]);
        assert!(cache.seen(pod("a", 4, None)).is_some());
        assert_eq!(names(cache.all()), ["a", "b"]);
    }

    #[test]
    fn an_old_event_does_not_undo_a_write() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, None));
        cache.wrote(pod("a", 3, Some("o")));
        assert!(cache.seen(pod("a", 2, None)).is_none());
        assert_eq!(names(cache.controlled_by("o")), ["a"]);
    }

    #[test]
    fn a_late_answer_does_not_bring_back_what_has_gone() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 2, None));
        cache.seen_gone(&pod("a", 3, None));
        assert!(cache.wrote(pod("a", 2, None)).is_none());
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn an_event_does_not_bring_back_what_we_deleted() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, None));
        cache.removed(&pod("a", 1, None));
        assert!(cache.seen(pod("a", 2, None)).is_none());
        cache.seen_gone(&pod("a", 3, None));
        let mut reborn = pod("a", 4, None);
        reborn.metadata.uid = Some("another".into());
        assert!(cache.seen(reborn).is_some());
    }

    #[test]
    fn a_new_owner_takes_the_object_from_the_old() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, Some("o")));
        cache.seen(pod("a", 2, Some("p")));
        assert!(cache.controlled_by("o").is_empty());
        assert_eq!(names(cache.controlled_by("p")), ["a"]);
    }

    #[test]
    fn what_is_written_while_a_list_is_made_outlives_it() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, None));
        cache.wrote(pod("before", 2, None));
        cache.list();
        cache.wrote(pod("new", 9, Some("o")));
        cache.wrote(pod("a", 8, None));
        cache.replace(vec![pod("a", 1, None), pod("b", 5, None)]);
        assert_eq!(names(cache.all()), ["a", "b", "new"]);
        assert_eq!(cache.get(&Key::new("n", "a")).unwrap().version(), 8);
        // The watch tells of both in their order.
        assert_eq!(cache.told(pod("a", 8, None)).len(), 1);
        assert_eq!(cache.told(pod("new", 9, Some("o"))).len(), 1);
        cache.told(pod("b", 12, None));
        assert_eq!(names(cache.all()), ["a", "b", "new"]);
    }

    #[test]
    fn what_is_written_and_goes_before_the_list_is_made_goes() {
        let mut cache = Cache::new();
        cache.list();
        cache.wrote(pod("short", 3, None));
        cache.wrote(pod("late", 9, None));
        cache.replace(vec![pod("b", 5, None)]);
        // The list is newer than the one, and for all we know older than the other.
        assert_eq!(names(cache.all()), ["b", "late"]);
        // The watch has passed it by.
        let changes = cache.told(pod("b", 11, None));
        assert_eq!(changes.len(), 2);
        assert_eq!(names(cache.all()), ["b"]);
    }

    #[test]
    fn what_is_deleted_while_a_list_is_made_does_not_come_back() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, None));
        cache.seen(pod("b", 2, None));
        cache.removed(&pod("b", 2, None));
        cache.list();
        cache.removed(&pod("a", 1, None));
        cache.replace(vec![pod("a", 1, None)]);
        assert_eq!(cache.len(), 0);
        assert!(cache.told(pod("a", 6, None)).is_empty());
        // The next list knows of it.
        cache.list();
        cache.replace(Vec::new());
        assert!(cache.gone.is_empty());
    }

    #[test]
    fn what_was_written_before_a_list_goes_with_it() {
        let mut cache = Cache::new();
        cache.wrote(pod("a", 7, None));
        cache.list();
        cache.replace(Vec::new());
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn a_new_list_removes_what_it_does_not_name() {
        let mut cache = Cache::new();
        cache.seen(pod("a", 1, None));
        cache.seen(pod("b", 2, None));
        let changes = cache.replace(vec![pod("b", 2, None), pod("c", 7, None)]);
        assert_eq!(changes.len(), 3);
        assert_eq!(names(cache.all()), ["b", "c"]);
    }
}
