//! What lists are made of: of every object as much as a row shows, in the order of its list, and who waits for a
//! change of which. It is filled by one watch and can be built again from the API at any time.

mod words;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use kube::{Client, core::ApiResource, core::DynamicObject};
use parking_lot::{Mutex, RwLock};
use reconcile::{Cached, Change, Controller, Informer, Unread};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::{sync::watch, task::JoinSet};

pub(crate) use words::word;

use crate::cursor::Beside;

/// What a row of some list keeps of its object.
pub(crate) trait Form: Send + Sync + Sized + 'static {
    fn read(object: &Value) -> Self;
}

/// An object as lists know it.
#[derive(Debug)]
pub(crate) struct Row<F> {
    namespace: Arc<str>,
    name: Box<str>,
    uid: Box<str>,
    version: u64,
    /// Seconds since the epoch.
    created: i64,
    pub(crate) form: F,
}

impl<F> Row<F> {
    pub(crate) fn created(&self) -> Timestamp {
        Timestamp::from_second(self.created).unwrap_or_default()
    }

    pub(crate) fn place(&self) -> Place {
        (
            Reverse(self.created),
            self.namespace.to_string(),
            self.name.to_string(),
        )
    }
}

/// Where a row is in the list of all namespaces: the newest come first.
pub(crate) type Place = (Reverse<i64>, String, String);

impl<'de, F: Form> Deserialize<'de> for Row<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::read(&Value::deserialize(deserializer)?))
    }
}

impl<F: Form> Row<F> {
    pub(crate) fn read(object: &Value) -> Self {
        let meta = &object["metadata"];
        let text = |name: &str| meta[name].as_str().unwrap_or_default();
        let created = text("creationTimestamp").parse::<Timestamp>();
        Self {
            namespace: word(text("namespace")),
            name: text("name").into(),
            uid: text("uid").into(),
            version: text("resourceVersion").parse().unwrap_or_default(),
            created: created.map(Timestamp::as_second).unwrap_or_default(),
            form: F::read(object),
        }
    }
}

impl<F> Cached for Row<F> {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn controller(&self) -> Option<Controller<'_>> {
        None
    }

    fn trim(&mut self) {}
}

/// The rows of a namespace, the newest first.
type Rows<F> = BTreeMap<(Reverse<i64>, Box<str>), Arc<Row<F>>>;

/// All rows of a kind. Clones are the same index.
pub(crate) struct Index<F> {
    informer: Informer<Row<F>>,
    ordered: Arc<RwLock<BTreeMap<Arc<str>, Rows<F>>>>,
    followers: Followers,
}

impl<F> Clone for Index<F> {
    fn clone(&self) -> Self {
        Self {
            informer: self.informer.clone(),
            ordered: self.ordered.clone(),
            followers: self.followers.clone(),
        }
    }
}

impl<F: Form> Index<F> {
    /// Follows a kind, in one namespace or in all, until the tasks are dropped.
    pub(crate) fn start(
        client: Client,
        kind: &ApiResource,
        namespace: Option<&str>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let objects = Unread::of::<DynamicObject>(client, kind, namespace);
        Self::over(Informer::start(objects, tasks))
    }

    fn over(informer: Informer<Row<F>>) -> Self {
        let index = Self {
            informer,
            ordered: Arc::default(),
            followers: Followers::default(),
        };
        let (ordered, followers) = (index.ordered.clone(), index.followers.clone());
        index.informer.on_change(move |change| {
            note(&mut ordered.write(), change);
            if let Some(row) = change.object() {
                followers.tell(&row.namespace, &row.name);
            }
        });
        index
    }

    pub(crate) async fn synced(&self) {
        self.informer.synced().await;
    }

    /// What the API answered to a change, ahead of the watch: whoever made it sees it in the next list.
    pub(crate) fn wrote(&self, object: &Value) {
        self.informer.wrote(Row::read(object));
    }

    pub(crate) fn removed(&self, object: &Value) {
        self.informer.removed(&Row::read(object));
    }

    /// A page of the rows that are wanted, of a namespace or of all, and what is beside it.
    pub(crate) fn page(
        &self,
        namespace: Option<&str>,
        after: Option<&Place>,
        limit: usize,
        is_wanted: impl Fn(&Row<F>) -> bool,
    ) -> (Vec<Arc<Row<F>>>, Beside<Place>) {
        let ordered = self.ordered.read();
        let previous = after.and_then(|after| {
            let before = before(&ordered, namespace, after).filter(|row| is_wanted(row));
            Beside::previous(before.map(|row| row.place()), limit)
        });
        let mut lists: Vec<_> = ordered
            .iter()
            .filter(|(name, _)| namespace.is_none_or(|namespace| &***name == namespace))
            .map(|(name, rows)| start_of(rows, name, after).peekable())
            .collect();
        let mut page = Vec::new();
        let mut is_more = false;
        // There are few namespaces: the one whose next row comes first is found by looking at each.
        while let Some(list) = lists
            .iter_mut()
            .filter_map(|list| Some((list.peek()?.created, list)))
            .min_by_key(|(created, _)| Reverse(*created))
            .map(|(_, list)| list)
            && let Some(row) = list.next()
        {
            if !is_wanted(row) {
                continue;
            }
            if page.len() == limit {
                is_more = true;
                break;
            }
            page.push(row.clone());
        }
        let next = if is_more {
            page.last().map(|row: &Arc<Row<F>>| row.place())
        } else {
            None
        };
        (page, Beside { next, previous })
    }

    /// Every row of a namespace, or of all, that is wanted.
    pub(crate) fn all(
        &self,
        namespace: Option<&str>,
        is_wanted: impl Fn(&Row<F>) -> bool,
    ) -> Vec<Arc<Row<F>>> {
        self.page(namespace, None, usize::MAX, is_wanted).0
    }

    /// One row, as it was last seen.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<Row<F>>> {
        self.informer.get(&reconcile::Key::new(namespace, name))
    }

    /// Tells of changes of one object from now on.
    pub(crate) fn follow(&self, namespace: &str, name: &str) -> Follower {
        self.followers.follow(namespace, name)
    }
}

/// The rows of a namespace that come after a place. Of rows of the same second those of an earlier namespace
/// come first.
fn start_of<'a, F>(
    rows: &'a Rows<F>,
    namespace: &str,
    after: Option<&Place>,
) -> impl Iterator<Item = &'a Arc<Row<F>>> + use<'a, F> {
    let from = match after {
        None => std::ops::Bound::Unbounded,
        Some((created, after, name)) => match namespace.cmp(after) {
            std::cmp::Ordering::Equal => std::ops::Bound::Excluded((*created, name.as_str().into())),
            std::cmp::Ordering::Greater => std::ops::Bound::Included((*created, "".into())),
            // Nothing of this second is left in it: the next older second follows.
            std::cmp::Ordering::Less => {
                std::ops::Bound::Included((Reverse(created.0.saturating_sub(1)), "".into()))
            }
        },
    };
    rows.range((from, std::ops::Bound::Unbounded)).map(|(_, row)| row)
}

/// The rows up to a place, the nearest first.
fn before<'a, F>(
    ordered: &'a BTreeMap<Arc<str>, Rows<F>>,
    namespace: Option<&str>,
    place: &Place,
) -> impl Iterator<Item = &'a Arc<Row<F>>> + use<'a, F> {
    let mut lists: Vec<_> = ordered
        .iter()
        .filter(|(name, _)| namespace.is_none_or(|namespace| &***name == namespace))
        .map(|(name, rows)| end_of(rows, name, place).peekable())
        .collect();
    std::iter::from_fn(move || {
        let nearest = lists
            .iter_mut()
            .filter_map(|list| Some((Reverse(list.peek()?.created), list)))
            // Of rows of the same second those of a later namespace are nearer; the last of several is taken.
            .max_by_key(|(created, _)| *created)
            .map(|(_, list)| list);
        nearest?.next()
    })
}

/// The rows of a namespace up to a place, the nearest first.
fn end_of<'a, F>(
    rows: &'a Rows<F>,
    namespace: &str,
    place: &Place,
) -> impl Iterator<Item = &'a Arc<Row<F>>> + use<'a, F> {
    let (created, of, name) = place;
    let to = match namespace.cmp(of) {
        std::cmp::Ordering::Equal => std::ops::Bound::Included((*created, name.as_str().into())),
        std::cmp::Ordering::Greater => std::ops::Bound::Excluded((*created, "".into())),
        std::cmp::Ordering::Less => {
            std::ops::Bound::Excluded((Reverse(created.0.saturating_sub(1)), "".into()))
        }
    };
    rows.range((std::ops::Bound::Unbounded, to))
        .rev()
        .map(|(_, row)| row)
}

fn note<F>(ordered: &mut BTreeMap<Arc<str>, Rows<F>>, change: &Change<'_, Row<F>>) {
    let key = |row: &Row<F>| (Reverse(row.created), row.name.clone());
    if let Some(before) = change.before
        && let Some(rows) = ordered.get_mut(&before.namespace)
    {
        rows.remove(&key(before));
        if rows.is_empty() {
            ordered.remove(&before.namespace);
        }
    }
    if let Some(after) = change.after {
        let rows = ordered.entry(after.namespace.clone()).or_default();
        rows.insert(key(after), after.clone());
    }
}

/// The namespace and name of an object.
type ObjectKey = (String, String);

/// Who waits for changes of which object.
#[derive(Clone, Default)]
struct Followers {
    by_key: Arc<Mutex<HashMap<ObjectKey, watch::Sender<()>>>>,
}

impl Followers {
    fn tell(&self, namespace: &str, name: &str) {
        let followers = self.by_key.lock();
        if followers.is_empty() {
            return;
        }
        if let Some(sender) = followers.get(&(namespace.to_owned(), name.to_owned())) {
            sender.send_replace(());
        }
    }

    fn follow(&self, namespace: &str, name: &str) -> Follower {
        let key = (namespace.to_owned(), name.to_owned());
        let mut followers = self.by_key.lock();
        let sender = followers
            .entry(key.clone())
            .or_insert_with(|| watch::Sender::new(()));
        Follower {
            changes: sender.subscribe(),
            key,
            followers: self.clone(),
        }
    }
}

/// Somebody who waits for changes of one object.
pub(crate) struct Follower {
    changes: watch::Receiver<()>,
    key: (String, String),
    followers: Followers,
}

impl Follower {
    /// Resolves when the object has changed since the last time this resolved.
    pub(crate) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut followers = self.followers.by_key.lock();
        if followers
            .get(&self.key)
            .is_some_and(|sender| sender.receiver_count() <= 1)
        {
            followers.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cursor::Begin;

    struct Nothing;

    impl Form for Nothing {
        fn read(_: &Value) -> Self {
            Self
        }
    }

    fn object(namespace: &str, name: &str, second: u32, version: u32) -> Value {
        json!({"metadata": {
            "namespace": namespace, "name": name, "uid": name, "resourceVersion": version.to_string(),
            "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z"),
        }})
    }

    fn index() -> Index<Nothing> {
        let index = Index::over(Informer::detached());
        for (number, (namespace, name, second)) in [
            ("a", "one", 1),
            ("b", "two", 2),
            ("a", "three", 2),
            ("a", "four", 4),
            ("c", "five", 2),
        ]
        .into_iter()
        .enumerate()
        {
            index.wrote(&object(namespace, name, second, number as u32 + 1));
        }
        index
    }

    fn names(rows: &[Arc<Row<Nothing>>]) -> Vec<&str> {
        rows.iter().map(|row| row.name()).collect()
    }

    #[test]
    fn pages_of_all_namespaces_together_are_the_list() {
        let index = index();
        let whole = names(&index.all(None, |_| true)).join(" ");
        assert_eq!(whole, "four three two five one");
        for limit in 1..6 {
            let (mut after, mut pages) = (None, Vec::new());
            loop {
                let (rows, beside) = index.page(None, after.as_ref(), limit, |_| true);
                pages.push(names(&rows).join(" "));
                if beside.next.is_none() {
                    break;
                }
                after = beside.next;
            }
            assert_eq!(pages.join(" "), whole, "{limit} a page");
            // And back again.
            let mut back = Vec::new();
            loop {
                let (rows, beside) = index.page(None, after.as_ref(), limit, |_| true);
                back.push(names(&rows).join(" "));
                match beside.previous {
                    Some(previous) => after = previous.key().cloned(),
                    None => break,
                }
            }
            back.reverse();
            assert_eq!(back, pages, "{limit} a page");
        }
    }

    #[test]
    fn a_namespace_has_its_own_and_filters_do_not_end_a_page_early() {
        let index = index();
        assert_eq!(names(&index.all(Some("a"), |_| true)), ["four", "three", "one"]);
        let (rows, beside) = index.page(None, None, 1, |row| row.name().starts_with('t'));
        assert_eq!(names(&rows), ["three"]);
        let (rows, beside) = index.page(None, beside.next.as_ref(), 1, |row| row.name().starts_with('t'));
        assert_eq!((names(&rows), beside.next), (vec!["two"], None));
        assert_eq!(beside.previous, Some(Begin::WithList));
    }

    #[test]
    fn what_is_removed_is_in_no_list() {
        let index = index();
        index.removed(&object("a", "three", 2, 3));
        assert_eq!(names(&index.all(Some("a"), |_| true)), ["four", "one"]);
        index.removed(&object("c", "five", 2, 5));
        assert!(!index.ordered.read().contains_key("c"));
    }

    #[tokio::test]
    async fn whoever_follows_an_object_is_told_of_it_alone() {
        let index = index();
        let mut follower = index.follow("a", "one");
        index.wrote(&object("b", "two", 2, 9));
        assert!(!follower.changes.has_changed().unwrap());
        index.wrote(&object("a", "one", 1, 10));
        follower.changed().await;
        drop(follower);
        assert!(index.followers.by_key.lock().is_empty());
    }
}
