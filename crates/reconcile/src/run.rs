//! The loop of a controller: takes keys from a queue and works on them, a few at a time.

use std::{fmt::Display, future::Future, hash::Hash, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinSet;

use crate::{
    deaths,
    queue::{Outcome, Queue},
};

/// What is left to do for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing, until something changes.
    Wait,
    /// Look again after this time, because of a deadline or a back-off.
    After(Duration),
}

impl Next {
    /// The sooner of two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::After(one), Self::After(other)) => Self::After(one.min(other)),
            (Self::Wait, next) | (next, Self::Wait) => next,
        }
    }
}

/// Works on the keys of a queue until it is closed, `workers` at a time and each key by one worker only.
/// Errors are logged with the name of the controller, and the key is tried again later.
pub async fn run<T, F, Work, E>(name: &'static str, queue: Queue<T>, workers: usize, reconcile: F)
where
    T: Clone + Eq + Hash + Ord + Display + Send + Sync + 'static,
    F: Fn(T) -> Work + Send + Sync + 'static,
    Work: Future<Output = Result<Next, E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let reconcile: Reconcile<T> = Arc::new(move |key| {
        let work = reconcile(key);
        async move { work.await.map_err(|error| error.to_string()) }.boxed()
    });
    run_erased(name, queue, workers, reconcile).await;
}

/// The loop is compiled once for all controllers that share a type of key, not once for each.
type Reconcile<T> = Arc<dyn Fn(T) -> BoxFuture<'static, Result<Next, String>> + Send + Sync>;

async fn run_erased<T>(name: &'static str, queue: Queue<T>, workers: usize, reconcile: Reconcile<T>)
where
    T: Clone + Eq + Hash + Ord + Display + Send + Sync + 'static,
{
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        tasks.spawn(work(name, queue.clone(), reconcile.clone()));
    }
    // A worker ends early only by a bug in a reconcile; the others would go on, one fewer.
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            deaths::report(name, deaths::words_of_panic(&*panic));
            tasks.spawn(work(name, queue.clone(), reconcile.clone()));
        }
    }
}

async fn work<T>(name: &'static str, queue: Queue<T>, reconcile: Reconcile<T>)
where
    T: Clone + Eq + Hash + Ord + Display,
{
    while let Some(taken) = Taken::next(&queue).await {
        let outcome = match reconcile(taken.key.clone()).await {
            Ok(Next::Wait) => Outcome::Done,
            Ok(Next::After(wait)) => Outcome::Again(wait),
            Err(error) => {
                tracing::warn!(controller = name, key = %taken.key, %error, "will be tried again");
                Outcome::Failed
            }
        };
        taken.finish(outcome);
    }
}

/// A key that is given back to the queue whatever happens to its worker.
struct Taken<'a, T: Clone + Eq + Hash + Ord> {
    queue: &'a Queue<T>,
    key: T,
    outcome: Outcome,
}

impl<'a, T: Clone + Eq + Hash + Ord> Taken<'a, T> {
    async fn next(queue: &'a Queue<T>) -> Option<Self> {
        Some(Self {
            key: queue.next().await?,
            queue,
            outcome: Outcome::Failed,
        })
    }

    fn finish(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl<T: Clone + Eq + Hash + Ord> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.queue.done(self.key.clone(), self.outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_that_fails_is_tried_again_and_others_go_on() {
        let queue = Queue::new();
        queue.add("bad".to_owned());
        queue.add("good".to_owned());
        let (done, mut finished) = mpsc::unbounded_channel();
        let attempts = Arc::new(AtomicUsize::new(0));
        let running = tokio::spawn(run("test", queue, 1, move |key: String| {
            let (done, attempts) = (done.clone(), attempts.clone());
            async move {
                if key == "bad" && attempts.fetch_add(1, Ordering::Relaxed) < 3 {
                    return Err("not yet");
                }
                done.send(key).map_err(|_| "nobody listens")?;
                Ok(Next::Wait)
            }
        }));
        assert_eq!(finished.recv().await.as_deref(), Some("good"));
        assert_eq!(finished.recv().await.as_deref(), Some("bad"));
        running.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_costs_one_attempt_and_no_worker() {
        let queue = Queue::new();
        queue.add("a".to_owned());
        let (done, mut finished) = mpsc::unbounded_channel();
        let attempts = Arc::new(AtomicUsize::new(0));
        let running = tokio::spawn(run("test", queue, 1, move |key: String| {
            let (done, attempts) = (done.clone(), attempts.clone());
            async move {
                assert!(attempts.fetch_add(1, Ordering::Relaxed) > 0, "the first attempt");
                done.send(key).map_err(|_| "nobody listens")?;
                Ok::<_, &str>(Next::Wait)
            }
        }));
        assert_eq!(finished.recv().await.as_deref(), Some("a"));
        running.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_being_worked_on_when_a_queue_is_closed_is_finished_and_nothing_else_begun() {
        let queue = Queue::new();
        queue.add("a".to_owned());
        queue.add("b".to_owned());
        let (begun, mut heard) = mpsc::unbounded_channel();
        let (closing, finished) = (queue.clone(), Arc::new(AtomicUsize::new(0)));
        let count = finished.clone();
        let running = tokio::spawn(run("test", queue, 1, move |key: String| {
            let (begun, count) = (begun.clone(), count.clone());
            async move {
                begun.send(key).map_err(|_| "nobody listens")?;
                tokio::time::sleep(Duration::from_secs(1)).await;
                count.fetch_add(1, Ordering::Relaxed);
                Ok::<_, &str>(Next::Wait)
            }
        }));
        assert_eq!(heard.recv().await.as_deref(), Some("a"));
        closing.close();
        running.await.unwrap();
        assert_eq!(finished.load(Ordering::Relaxed), 1);
        assert_eq!(heard.recv().await, None);
    }
}
