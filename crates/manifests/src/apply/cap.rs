//! The limit to how many managers that update an object are told apart.

use std::mem;

use super::managers::{Entry, Operation};

/// How many managers that update an object are told apart.
const MAX_UPDATE_MANAGERS: usize = 10;

/// Who owns the fields of updates too old to be told apart.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// Merges the oldest updates of each version into one entry when there are too many.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let updates = || (0..entries.len()).filter(|i| entries[*i].operation == Operation::Update);
    let mut surplus = updates().count().saturating_sub(MAX_UPDATE_MANAGERS);
    if surplus == 0 {
        return;
    }
    let mut oldest_first: Vec<usize> = updates().collect();
    oldest_first.sort_by_cached_key(|i| (entries[*i].time.clone(), entries[*i].identifier()));
    for (position, &current) in oldest_first.iter().enumerate() {
        if surplus == 0 {
            break;
        }
        let version = entries[current].api_version.clone();
        let mut older = oldest_first[..position].iter().copied();
        let Some(first) = older.find(|i| entries[*i].api_version == version) else {
            continue;
        };
        let bucket = bucket_of(entries, &version, first);
        // The bucket may be younger than another manager, which it then takes in.
        let source = if bucket == current { first } else { current };
        let fields = mem::take(&mut entries[source].fields);
        entries[bucket].fields.union_with(fields);
        let time = entries[current].time.clone();
        entries[bucket].time = time;
        surplus -= 1;
    }
    entries.retain(|entry| !entry.fields.is_empty());
}

/// The entry that collects the old updates of a version; the oldest of them becomes it.
fn bucket_of(entries: &mut [Entry], version: &str, first: usize) -> usize {
    let is_bucket = |entry: &Entry| entry.is_of(ANCIENT_CHANGES, Operation::Update, version, "");
    if let Some(bucket) = entries.iter().position(is_bucket) {
        return bucket;
    }
    ANCIENT_CHANGES.clone_into(&mut entries[first].manager);
    entries[first].subresource.clear();
    first
}

#[cfg(test)]
mod tests {
    use super::{super::field_set::FieldSet, *};

    fn entry(manager: &str, time: &str) -> Entry {
        Entry {
            manager: manager.to_owned(),
            operation: Operation::Update,
            api_version: "v1".to_owned(),
            subresource: String::new(),
            time: Some(time.to_owned()),
            fields: FieldSet::of_fields(&[&["data", manager]]),
        }
    }

    /// Kubernetes forgets the fields of the bucket when another manager of the same second comes
    /// before it; nothing is gained by doing the same.
    #[test]
    fn ancient_changes_are_kept_when_they_are_not_the_oldest() {
        let mut entries: Vec<Entry> = ('b'..='j')
            .map(|name| entry(&name.to_string(), "2024-01-01T00:00:02Z"))
            .collect();
        entries.push(entry("a", "2024-01-01T00:00:01Z"));
        entries.push(entry(ANCIENT_CHANGES, "2024-01-01T00:00:01Z"));
        cap(&mut entries);
        assert_eq!(entries.len(), MAX_UPDATE_MANAGERS);
        let bucket = entries
            .iter()
            .find(|entry| entry.manager == ANCIENT_CHANGES)
            .unwrap();
        assert_eq!(
            bucket.fields,
            FieldSet::of_fields(&[&["data", "a"], &["data", ANCIENT_CHANGES]])
        );
    }
}
