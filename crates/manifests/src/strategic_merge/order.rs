//! The order of a merged list. Items the patch names stand in the patch's order, all others in
//! the order they had, and where the two meet the old order decides.

use std::collections::HashMap;

use serde_json::Value;

use super::lists::key_of;
use super::{Object, StrategicMergeError};

/// Where each key stands in a list; the first time counts.
pub(super) type Ranks = HashMap<Value, usize>;

/// An item of the merged list and where its key stood.
pub(super) struct Ranked {
    in_patch: Option<usize>,
    on_server: Option<usize>,
    item: Value,
}

pub(super) fn ranks<'v>(keys: impl Iterator<Item = &'v Value>) -> Ranks {
    let mut ranks = Ranks::new();
    for (rank, key) in keys.enumerate() {
        ranks.entry(key.clone()).or_insert(rank);
    }
    ranks
}

pub(super) fn rank_scalar(item: Value, patch: &Ranks, server: &Ranks) -> Ranked {
    Ranked {
        in_patch: patch.get(&item).copied(),
        on_server: server.get(&item).copied(),
        item,
    }
}

pub(super) fn rank_object(
    item: Object,
    key: &str,
    patch: &Ranks,
    server: &Ranks,
) -> Result<Ranked, StrategicMergeError> {
    let value = key_of(&item, key)?;
    let (in_patch, on_server) = (patch.get(value).copied(), server.get(value).copied());
    Ok(Ranked {
        in_patch,
        on_server,
        item: Value::Object(item),
    })
}

/// Merges the two orders. A server item goes before the next patch item only when it stood before
/// it on the server.
pub(super) fn interleave(items: Vec<Ranked>) -> Vec<Value> {
    let count = items.len();
    let (mut patch, mut server): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|ranked| ranked.in_patch.is_some());
    patch.sort_by_key(|ranked| ranked.in_patch);
    server.sort_by_key(|ranked| ranked.on_server);

    let (mut patch, mut server) = (patch.into_iter().peekable(), server.into_iter().peekable());
    let mut merged = Vec::with_capacity(count);
    while let (Some(left), Some(right)) = (server.peek(), patch.peek()) {
        let server_first =
            matches!((left.on_server, right.on_server), (Some(left), Some(right)) if left < right);
        merged.extend(if server_first { server.next() } else { patch.next() });
    }
    merged
        .into_iter()
        .chain(server)
        .chain(patch)
        .map(|ranked| ranked.item)
        .collect()
}
