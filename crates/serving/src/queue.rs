//! Requests wait in one queue for a fixed number of workers. A worker takes the first, and with it whatever waits for
//! the same signature in the same shape: an idle server adds no delay, a busy one answers many at once.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Instant,
};

use parking_lot::{Condvar, Mutex};
use saved_model::{Signature, Tensor};
use tokio::sync::oneshot;

use crate::{
    catalogue::Version,
    failure::{Code, Failure, Outcome},
    metrics::Metrics,
};

/// What bounds the queue and the batches.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests that wait; what comes on top is asked to come again.
    pub waiting: usize,
    /// Rows that are answered together.
    pub rows: usize,
    pub workers: usize,
}

/// A request to a signature, with its inputs in their order.
pub(crate) struct Job {
    version: Arc<Version>,
    signature: String,
    inputs: Vec<Tensor>,
    /// How many rows it has, where it may be answered with others.
    rows: Option<usize>,
    since: Instant,
    reply: oneshot::Sender<Outcome<Vec<Tensor>>>,
}

pub(crate) struct Queue {
    limits: Limits,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    is_closed: bool,
}

impl Queue {
    pub(crate) fn new(limits: Limits, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            metrics,
            state: Mutex::default(),
            work: Condvar::new(),
        })
    }

    /// Starts the workers. They end when the queue is closed and empty.
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<Vec<JoinHandle<()>>> {
        let worker = |number: usize| {
            let queue = self.clone();
            thread::Builder::new()
                .name(format!("model-{number}"))
                .spawn(move || queue.work())
        };
        (0..self.limits.workers.max(1)).map(worker).collect()
    }

    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.work.notify_all();
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Waits in the queue and for the answer.
    pub(crate) async fn ask(
        &self,
        version: Arc<Version>,
        signature: &str,
        inputs: Vec<Tensor>,
    ) -> Outcome<Vec<Tensor>> {
        let rows = rows(&inputs).filter(|_| version.batchable.contains(signature));
        let (reply, answer) = oneshot::channel();
        let job = Job {
            version,
            signature: signature.to_owned(),
            inputs,
            rows,
            since: Instant::now(),
            reply,
        };
        self.put(job)?;
        answer
            .await
            .unwrap_or_else(|_| Err(Failure::new(Code::Internal, "the model failed on this request")))
    }

    fn put(&self, job: Job) -> Outcome<()> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(Failure::new(Code::Unavailable, "the server is stopping"));
        }
        if state.waiting.len() >= self.limits.waiting {
            drop(state);
            self.metrics.turned_away();
            return Err(Failure::new(
                Code::Unavailable,
                format!("{} requests wait already; try again", self.limits.waiting),
            ));
        }
        state.waiting.push_back(job);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    fn work(&self) {
        while let Some(jobs) = self.take() {
            self.answer(jobs);
        }
    }

    fn take(&self) -> Option<Vec<Job>> {
        let mut state = self.state.lock();
        loop {
            // Nobody waits for the answer any more where the client is gone.
            while state.waiting.front().is_some_and(|job| job.reply.is_closed()) {
                state.waiting.pop_front();
            }
            if !state.waiting.is_empty() {
                return Some(batch(&mut state.waiting, self.limits.rows));
            }
            if state.is_closed {
                return None;
            }
            self.work.wait(&mut state);
        }
    }

    fn answer(&self, jobs: Vec<Job>) {
        let Some(first) = jobs.first() else { return };
        let total = jobs.iter().map(|job| job.rows.unwrap_or(1)).sum();
        self.metrics
            .batched(total, jobs.iter().map(|job| job.since.elapsed()));
        if jobs.len() > 1
            && let Some(inputs) = stacked(&jobs)
            && let Ok(outputs) = run(&first.version, &first.signature, inputs)
            && let Some(parts) = apart(&outputs, &jobs)
        {
            for (job, part) in jobs.into_iter().zip(parts) {
                let _ = job.reply.send(Ok(part));
            }
            return;
        }
        // Alone, or together in a way that failed: then only those fail that cannot be answered.
        for job in jobs {
            let answer = run(&job.version, &job.signature, job.inputs);
            let _ = job.reply.send(answer);
        }
    }
}

/// How many rows the inputs have, where all have as many.
fn rows(inputs: &[Tensor]) -> Option<usize> {
    let count = *inputs.first()?.shape().first()?;
    let same = |tensor: &Tensor| tensor.shape().first() == Some(&count);
    inputs.iter().all(same).then_some(count)
}

/// The first job and those behind it that can be answered with it. The others keep their order.
fn batch(waiting: &mut VecDeque<Job>, most: usize) -> Vec<Job> {
    let Some(first) = waiting.pop_front() else {
        return Vec::new();
    };
    let Some(mut rows) = first.rows else {
        return vec![first];
    };
    let mut taken = vec![first];
    let mut left = VecDeque::with_capacity(waiting.len());
    for job in waiting.drain(..) {
        let more = job
            .rows
            .filter(|more| rows + more <= most && alike(&taken[0], &job));
        match more {
            Some(more) => {
                rows += more;
                taken.push(job);
            }
            None => left.push_back(job),
        }
    }
    *waiting = left;
    taken
}

fn alike(left: &Job, right: &Job) -> bool {
    fn row(tensor: &Tensor) -> &[usize] {
        tensor.shape().get(1..).unwrap_or_default()
    }
    Arc::ptr_eq(&left.version, &right.version)
        && left.signature == right.signature
        && left.inputs.iter().map(row).eq(right.inputs.iter().map(row))
}

/// The inputs of all, one below the other.
fn stacked(jobs: &[Job]) -> Option<Vec<Tensor>> {
    let inputs = jobs.first()?.inputs.len();
    (0..inputs)
        .map(|index| {
            let parts: Option<Vec<Tensor>> = jobs.iter().map(|job| job.inputs.get(index).cloned()).collect();
            Tensor::stacked(&parts?)
        })
        .collect()
}

/// To each job its rows. None where the outputs have another number of them.
fn apart(outputs: &[Tensor], jobs: &[Job]) -> Option<Vec<Vec<Tensor>>> {
    let total: usize = jobs.iter().map(|job| job.rows.unwrap_or_default()).sum();
    if outputs
        .iter()
        .any(|output| output.shape().first() != Some(&total))
    {
        return None;
    }
    let mut from = 0;
    let mut parts = Vec::with_capacity(jobs.len());
    for job in jobs {
        let count = job.rows?;
        let part: Option<Vec<Tensor>> = outputs.iter().map(|output| output.rows(from, count)).collect();
        parts.push(part?);
        from += count;
    }
    Some(parts)
}

fn run(version: &Version, signature: &str, inputs: Vec<Tensor>) -> Outcome<Vec<Tensor>> {
    let signature: &Signature = version.signature(signature)?;
    // A kernel that panics must not take the worker with it.
    let ran = catch_unwind(AssertUnwindSafe(|| signature.run(inputs)));
    match ran {
        Ok(Ok(outputs)) => Ok(outputs),
        Ok(Err(error)) => Err(Failure::invalid(error.to_string())),
        Err(_) => Err(Failure::new(Code::Internal, "the model failed on this request")),
    }
}

#[cfg(test)]
mod tests;
