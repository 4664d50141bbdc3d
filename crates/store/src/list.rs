//! Reading a range of one collection: now, or as it was at an earlier revision.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

use crate::log::EventLog;
use crate::name::{Key, SEPARATOR};
use crate::object::Object;

/// A consistent part of a collection.
#[derive(Clone, Debug)]
pub struct List {
    pub items: Vec<Arc<Object>>,
    /// Every change up to this revision is in the list, and none after it.
    pub revision: u64,
    /// How many objects follow the last item.
    pub remaining: usize,
}

/// The keys a list covers, and how many of them it may return.
pub(crate) struct Range<'a> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) start_after: Option<&'a Key>,
    pub(crate) limit: Option<usize>,
}

pub(crate) type Objects = BTreeMap<Key, Arc<Object>>;

/// The objects in range, and how many are left beyond the limit.
pub(crate) fn current(objects: &Objects, range: &Range<'_>) -> (Vec<Arc<Object>>, usize) {
    take(within(objects, range).map(|(_, object)| object), range.limit)
}

/// The objects in range as they were at a revision the log still reaches back to.
pub(crate) fn rewound(
    objects: &Objects,
    log: &EventLog,
    revision: u64,
    range: &Range<'_>,
) -> (Vec<Arc<Object>>, usize) {
    let past = undo(log, revision);
    let unchanged = within(objects, range).filter(|(key, _)| !past.contains_key(*key));
    let changed = within(&past, range).filter_map(|(key, object)| Some((key, object.as_ref()?)));
    take(
        Merged {
            left: unchanged.peekable(),
            right: changed.peekable(),
        },
        range.limit,
    )
}

/// What each key changed since a revision held at that revision.
fn undo(log: &EventLog, revision: u64) -> BTreeMap<Key, Option<Arc<Object>>> {
    // Newest first, so that the earliest change of a key has the last word.
    log.after(revision)
        .rev()
        .map(|event| (event.key().clone(), event.previous.clone()))
        .collect()
}

fn take<'a>(
    mut objects: impl Iterator<Item = &'a Arc<Object>>,
    limit: Option<usize>,
) -> (Vec<Arc<Object>>, usize) {
    let items = objects
        .by_ref()
        .take(limit.unwrap_or(usize::MAX))
        .cloned()
        .collect();
    (items, objects.count())
}

fn within<'a, V>(
    map: &'a BTreeMap<Key, V>,
    range: &Range<'_>,
) -> impl Iterator<Item = (&'a Key, &'a V)> + use<'a, V> {
    let (first, end) = bounds(range);
    // A start beyond the end of its namespace is an empty range, which the map would refuse.
    let empty = end.as_ref().is_some_and(|end| {
        let (Bound::Included(first) | Bound::Excluded(first)) = &first else {
            return false;
        };
        first >= end
    });
    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let first = first.as_ref().map(|first| &**first);
    (!empty)
        .then(|| map.range::<str, _>((first, end)))
        .into_iter()
        .flatten()
}

/// Where a range starts, and the first joined name after its namespace.
fn bounds(range: &Range<'_>) -> (Bound<String>, Option<String>) {
    let namespace_start = range.namespace.map(|namespace| format!("{namespace}{SEPARATOR}"));
    let namespace_end = range.namespace.map(|namespace| format!("{namespace}\u{1}"));
    let after = range.start_after.map(|key| key.joined().to_owned());
    let first = match (namespace_start, after) {
        (Some(start), Some(after)) if after < start => Bound::Included(start),
        (_, Some(after)) => Bound::Excluded(after),
        (Some(start), None) => Bound::Included(start),
        (None, None) => Bound::Unbounded,
    };
    (first, namespace_end)
}

/// Two sequences that are sorted by key and share none, as one.
struct Merged<L: Iterator, R: Iterator> {
    left: Peekable<L>,
    right: Peekable<R>,
}

impl<'a, L, R> Iterator for Merged<L, R>
where
    L: Iterator<Item = (&'a Key, &'a Arc<Object>)>,
    R: Iterator<Item = (&'a Key, &'a Arc<Object>)>,
{
    type Item = &'a Arc<Object>;

    fn next(&mut self) -> Option<Self::Item> {
        let from_left = match (self.left.peek(), self.right.peek()) {
            (Some((left, _)), Some((right, _))) => left < right,
            (left, _) => left.is_some(),
        };
        let next = if from_left {
            self.left.next()
        } else {
            self.right.next()
        };
        next.map(|(_, object)| object)
    }
}
