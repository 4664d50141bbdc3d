//! Reading the file from its first commit to its last, and telling sound records from damaged ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::sync::Arc;

use super::commit::Commit;
use super::header::{self, Slot};
use super::record::{self, Content, Record};
use crate::list::Objects;
use crate::name::Collection;

/// Everything the file holds.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) collections: BTreeMap<Collection, Objects>,
    /// The keys of records that are not what was once written, and that nothing written later replaces.
    pub(super) damaged: BTreeSet<String>,
}

/// How far reading got.
pub(super) enum Reach {
    /// To the end the slot names.
    End {
        /// The bytes of the last commit; none where there is no commit.
        last_commit: Vec<u8>,
    },
    /// To a commit at this offset, which is not there or not what was written.
    Broken(u64),
}

/// Reads every commit the slot vouches for. A damaged commit whose records can be told apart is taken
/// with those that are sound, but for the last where `may_be_cut_short` says so.
pub(super) fn load(file: &File, slot: &Slot, may_be_cut_short: bool) -> io::Result<(Contents, Reach)> {
    let mut contents = Contents::default();
    let mut buffer = Vec::new();
    let (mut at, mut revision) = (header::LEN, 0);
    let limit = slot.length.min(file.metadata()?.len());
    while at < slot.length {
        let Some(commit) = Commit::read(file, at, limit, &mut buffer)? else {
            return Ok((contents, Reach::Broken(at)));
        };
        let is_last = commit.end == slot.length;
        // A commit that was put in the place of another has a revision that is out of turn.
        let in_turn = commit.revision >= revision && (!is_last || commit.revision <= slot.revision);
        let is_cut_short = is_last && may_be_cut_short && !commit.sound;
        if !in_turn || is_cut_short || !contents.take(&commit) {
            return Ok((contents, Reach::Broken(at)));
        }
        (at, revision) = (commit.end, commit.revision);
    }
    let last_commit = buffer;
    Ok((contents, Reach::End { last_commit }))
}

impl Contents {
    /// Takes a commit's records, and notes those that are damaged. False where they cannot be told apart.
    fn take(&mut self, commit: &Commit<'_>) -> bool {
        let mut records = commit.records();
        let damaged = records.by_ref().filter(|record| record.content.is_none()).count();
        // A commit that is damaged although none of its records is has another length or revision.
        if records.is_torn() || commit.sound != (damaged == 0) {
            return false;
        }
        for record in commit.records() {
            self.take_record(record);
        }
        true
    }

    fn take_record(&mut self, record: Record<'_>) {
        let Some((collection, name)) = record::split_key(record.key) else {
            return;
        };
        let objects = match self.collections.get_mut(collection) {
            Some(objects) => objects,
            None => self.collections.entry(collection.into()).or_default(),
        };
        self.damaged.remove(record.key);
        match record.content {
            Some(Content::Put(object)) => {
                objects.insert(object.key().clone(), Arc::new(object));
            }
            Some(Content::Remove) => {
                objects.remove(name);
            }
            None => {
                // An older state must not come back in the place of a damaged one.
                objects.remove(name);
                self.damaged.insert(record.key.to_owned());
            }
        }
    }

    /// How many bytes the objects take in a file without anything else.
    pub(super) fn live_bytes(&self) -> u64 {
        let sizes = self.collections.iter().flat_map(|(collection, objects)| {
            objects
                .values()
                .map(|object| record::put_len(collection, Some(object)))
        });
        sizes.sum()
    }
}
