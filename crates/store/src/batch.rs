//! A batch of writes on its way to the file: each checked against memory and those before it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::disk;
use crate::event::{Event, Kind};
use crate::memory::Memory;
use crate::name::{Collection, Key};
use crate::object::Object;
use crate::partition::Partition;
use crate::write::{Change, Expect, Write, WriteError, WriteResult};

/// Writes that passed their check, not yet visible to anyone.
pub(crate) struct Batch<'a> {
    memory: &'a Memory,
    revision: u64,
    /// What this batch has changed so far; `None` where it deleted.
    pending: HashMap<(Collection, Key), Option<Arc<Object>>>,
    /// Events per collection, in the order of their revisions.
    events: Vec<(Arc<Partition>, Vec<Arc<Event>>)>,
    changes: Vec<disk::Change>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(memory: &'a Memory) -> Self {
        Self {
            memory,
            revision: memory.revision(),
            pending: HashMap::new(),
            events: Vec::new(),
            changes: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The revision of the last write in the batch.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn events(&self) -> &[(Arc<Partition>, Vec<Arc<Event>>)] {
        &self.events
    }

    pub(crate) fn changes(&self) -> &[disk::Change] {
        &self.changes
    }

    /// Checks one write and takes it in. The answer holds once the batch is committed.
    pub(crate) fn stage(&mut self, write: Write) -> WriteResult {
        write.check_form()?;
        let Write {
            collection,
            key,
            change,
        } = write;
        let partition = self.memory.partition_or_new(&collection);
        let name = (collection, key);
        let current = match self.pending.get(&name) {
            Some(pending) => pending.clone(),
            None => partition.get(name.1.joined()),
        };
        let event = event(&name.1, change, current, self.revision + 1)?;
        Ok(self.accept(&partition, name, event))
    }

    fn accept(&mut self, partition: &Arc<Partition>, name: (Collection, Key), event: Event) -> Arc<Object> {
        self.revision = event.revision;
        let event = Arc::new(event);
        let object = Arc::clone(&event.object);
        self.changes.push(disk::Change {
            collection: name.0.clone(),
            event: Arc::clone(&event),
        });
        self.pending.insert(name, event.survivor().cloned());
        match self
            .events
            .iter_mut()
            .find(|(known, _)| Arc::ptr_eq(known, partition))
        {
            Some((_, events)) => events.push(event),
            None => self.events.push((Arc::clone(partition), vec![event])),
        }
        object
    }
}

/// Compare-and-swap: the event a change makes of the current state, or why it may not.
fn event(
    key: &Key,
    change: Change,
    current: Option<Arc<Object>>,
    revision: u64,
) -> Result<Event, WriteError> {
    match (change, current) {
        (
            Change::Put {
                expect: Expect::Absent,
                body,
            },
            None,
        ) => Ok(Event::new(
            Kind::Added,
            Object::stamped(key.clone(), body, revision),
            None,
        )),
        (
            Change::Put {
                expect: Expect::Absent,
                ..
            },
            Some(current),
        ) => Err(WriteError::AlreadyExists { current }),
        (
            Change::Put {
                expect: Expect::Revision(expected),
                body,
            },
            Some(current),
        ) => {
            let current = unchanged_since(expected, current)?;
            Ok(Event::new(
                Kind::Modified,
                Object::stamped(key.clone(), body, revision),
                Some(current),
            ))
        }
        (Change::Delete { expect }, Some(current)) => {
            let current = unchanged_since(expect.unwrap_or(current.revision()), current)?;
            Ok(Event::new(
                Kind::Deleted,
                current.restamped(revision),
                Some(current),
            ))
        }
        (
            Change::Put {
                expect: Expect::Revision(_),
                ..
            }
            | Change::Delete { .. },
            None,
        ) => Err(WriteError::NotFound),
    }
}

fn unchanged_since(expected: u64, current: Arc<Object>) -> Result<Arc<Object>, WriteError> {
    if current.revision() == expected {
        Ok(current)
    } else {
        Err(WriteError::Conflict { current })
    }
}
