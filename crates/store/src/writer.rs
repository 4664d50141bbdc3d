//! The one thread that writes. Takes whatever has queued up, commits it in one transaction, shows it
//! to readers and only then answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use crate::batch::Batch;
use crate::disk::{Disk, DiskError};
use crate::memory::Memory;
use crate::name::Collection;
use crate::pace::Pace;
use crate::write::{Write, WriteError, WriteResult};

/// What callers queue.
pub(crate) enum Job {
    Write {
        writes: Vec<Write>,
        reply: oneshot::Sender<Vec<WriteResult>>,
    },
    Drop {
        collection: Collection,
        reply: oneshot::Sender<Result<u64, WriteError>>,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

/// Answers that wait for their batch to be committed.
type Answers = Vec<(Vec<WriteResult>, oneshot::Sender<Vec<WriteResult>>)>;

/// A batch takes no further jobs once it has this many writes: later callers would rather have the
/// next commit than wait for a huge one.
const ENOUGH: usize = 1024;
/// How often a batch that waits for company looks for it.
const LOOK_AGAIN: Duration = Duration::from_micros(100);
/// How often idle collections are looked through for events that are too old.
const SWEEP: Duration = Duration::from_mins(1);

/// Runs until the store is closed or all its handles are gone.
pub(crate) fn run(queue: mpsc::Receiver<Job>, memory: Arc<Memory>, disk: Disk) {
    let mut writer = Writer {
        queue,
        memory,
        disk,
        pace: Pace::new(Instant::now()),
        swept: Instant::now(),
    };
    let closed = writer.run();
    let Writer { memory, disk, .. } = writer;
    // The file is closed before anyone hears of it, so that it can be opened again at once.
    drop(disk);
    memory.end();
    if let Some(closed) = closed {
        let _ = closed.send(());
    }
}

struct Writer {
    queue: mpsc::Receiver<Job>,
    memory: Arc<Memory>,
    disk: Disk,
    pace: Pace,
    swept: Instant,
}

impl Writer {
    fn run(&mut self) -> Option<oneshot::Sender<()>> {
        let mut next = self.queue.blocking_recv();
        while let Some(job) = next.take() {
            match job {
                Job::Write { .. } => next = self.write(job),
                Job::Drop { collection, reply } => {
                    let _ = reply.send(self.drop_collection(&collection));
                }
                Job::Close { reply } => return Some(reply),
            }
            if next.is_none() {
                next = self.queue.blocking_recv();
            }
        }
        None
    }

    /// Commits a job's writes together with those queued behind it. Returns the job that came next,
    /// where one was taken off the queue to see that it does not belong.
    fn write(&mut self, job: Job) -> Option<Job> {
        let memory = Arc::clone(&self.memory);
        let mut batch = Batch::new(&memory);
        let mut answers = Answers::new();
        let mut staged = 0;
        let mut next = Some(job);
        while let Some(Job::Write { writes, reply }) = next {
            staged += writes.len();
            let results = writes.into_iter().map(|write| batch.stage(write)).collect();
            answers.push((results, reply));
            next = if staged < ENOUGH {
                self.next_in_batch(answers.len())
            } else {
                None
            };
        }
        let (answered, started) = (answers.len(), Instant::now());
        let committed = self.commit(batch);
        let now = Instant::now();
        self.pace
            .committed(answered, self.queue.len(), now.duration_since(started), now);
        answer(answers, committed.err().as_ref());
        next
    }

    /// A job that is queued, or comes while the batch waits for company.
    fn next_in_batch(&mut self, jobs: usize) -> Option<Job> {
        loop {
            match self.queue.try_recv() {
                Err(TryRecvError::Empty) if self.pace.hopes_for_more(jobs, Instant::now()) => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                received => return received.ok(),
            }
        }
    }

    /// Makes a batch durable, then visible.
    fn commit(&mut self, batch: Batch<'_>) -> Result<u64, Arc<DiskError>> {
        let revision = batch.revision();
        if batch.is_empty() {
            return Ok(revision);
        }
        self.disk.commit(batch.changes(), revision)?;
        let now = Instant::now();
        self.memory.publish(batch.events(), revision, now);
        self.disk.compact_if_worthwhile(|| self.memory.snapshot());
        if now.duration_since(self.swept) > SWEEP {
            self.swept = now;
            self.memory.sweep(now);
        }
        Ok(revision)
    }

    fn drop_collection(&mut self, collection: &Collection) -> Result<u64, WriteError> {
        let memory = Arc::clone(&self.memory);
        let Some(partition) = memory.partition(collection) else {
            return Ok(memory.revision());
        };
        let mut batch = Batch::new(&memory);
        for key in partition.keys() {
            batch.stage(Write::delete(collection, key, None))?;
        }
        let revision = self.commit(batch).map_err(WriteError::Disk)?;
        memory.replace(collection, revision);
        Ok(revision)
    }
}

/// Answers the callers of a batch. After a failed commit every answer is void, refusals included:
/// they may rest on writes of the same batch.
fn answer(answers: Answers, failure: Option<&Arc<DiskError>>) {
    for (mut results, reply) in answers {
        if let Some(error) = failure {
            results.fill_with(|| Err(WriteError::Disk(Arc::clone(error))));
        }
        // A caller that stopped waiting has still written.
        let _ = reply.send(results);
    }
}
