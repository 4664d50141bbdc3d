//! Where a page of a list ends, as text that clients hand back without reading it. A page begins after a key,
//! so that nothing is missed or shown twice when the list changes meanwhile.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};

use crate::problem::{Outcome, Problem};

pub(crate) const DEFAULT_LIMIT: usize = 50;
pub(crate) const MAX_LIMIT: usize = 500;

/// The key as it is shown to clients.
pub(crate) fn encode(key: &impl Serialize) -> String {
    let text = serde_json::to_vec(key).unwrap_or_default();
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

/// The key of a cursor that was handed out for the same list.
pub(crate) fn decode<K: DeserializeOwned>(cursor: &str) -> Outcome<K> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok();
    let key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    key.ok_or_else(|| Problem::field("?cursor", "is not the `next_cursor` of a page of this list"))
}

/// What is beside a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beside<K> {
    /// After which key the next page begins, if there is one.
    pub(crate) next: Option<K>,
    /// Where the one before begins, if there is one.
    pub(crate) previous: Option<Begin<K>>,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begin<K> {
    /// With the list.
    WithList,
    After(K),
}

impl<K> Begin<K> {
    /// What it comes after; the first page has no such key.
    pub(crate) fn key(&self) -> Option<&K> {
        match self {
            Self::WithList => None,
            Self::After(key) => Some(key),
        }
    }
}

impl<K> Beside<K> {
    /// From the keys of what comes before a page, the nearest first, as many as a page has and one more.
    pub(crate) fn previous(before: impl IntoIterator<Item = K>, limit: usize) -> Option<Begin<K>> {
        let mut before = before.into_iter();
        let nearest = before.next()?;
        if limit == 0 {
            return Some(Begin::After(nearest));
        }
        Some(before.nth(limit - 1).map_or(Begin::WithList, Begin::After))
    }
}

/// A page: what comes after the cursor, and what is beside it.
pub(crate) fn page<K: Ord + Clone, T>(
    sorted: impl Iterator<Item = (K, T)>,
    after: Option<&K>,
    limit: usize,
) -> (Vec<T>, Beside<K>) {
    let mut before = Vec::new();
    let mut rest = sorted.skip_while(|(key, _)| {
        let is_before = after.is_some_and(|after| key <= after);
        if is_before {
            before.push(key.clone());
        }
        is_before
    });
    let mut page = Vec::new();
    let mut last = None;
    for (key, item) in rest.by_ref().take(limit) {
        page.push(item);
        last = Some(key);
    }
    let next = if rest.next().is_some() { last } else { None };
    drop(rest);
    let previous = Beside::previous(before.into_iter().rev(), limit);
    (page, Beside { next, previous })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_as_they_were_and_others_are_refused() {
        let cursor = encode(&("2026", "default", "a"));
        let key: (String, String, String) = decode(&cursor).unwrap();
        assert_eq!(key.2, "a");
        for wrong in ["", "x", "e30", "%%%"] {
            assert!(decode::<(String, String, String)>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pages_together_are_the_list() {
        let list = || (1..=5).map(|number| (number, number));
        let beside = |next, previous| Beside { next, previous };
        assert_eq!(page(list(), None, 2), (vec![1, 2], beside(Some(2), None)));
        assert_eq!(
            page(list(), Some(&2), 2),
            (vec![3, 4], beside(Some(4), Some(Begin::WithList)))
        );
        assert_eq!(
            page(list(), Some(&4), 2),
            (vec![5], beside(None, Some(Begin::After(2))))
        );
        // What has gone meanwhile does not matter.
        assert_eq!(
            page(list().filter(|(key, _)| *key != 2), Some(&2), 3),
            (vec![3, 4, 5], beside(None, Some(Begin::WithList)))
        );
        assert_eq!(page(list(), Some(&9), 2).0, Vec::<i32>::new());
    }
}
