//! Parts of the cluster that run in this process: one that panics is reported and started again.

use reconcile::deaths;
use tokio::{
    task::JoinSet,
    time::{Duration, Instant, sleep},
};

/// A part that ran this long before it died begins with the shortest pause.
const GOOD_RUN: Duration = Duration::from_mins(1);

/// Starts a part, and starts it again whenever one of its tasks panics, until this is dropped.
pub(crate) fn keep(
    part: &'static str,
    mut start: impl FnMut() -> JoinSet<()> + Send + 'static,
) -> JoinSet<()> {
    // Its first start is not put off: others rely on what it has begun when this returns.
    let mut tasks = start();
    let mut kept = JoinSet::new();
    kept.spawn(async move {
        let mut in_a_row = 0;
        loop {
            let started = Instant::now();
            let Some(last_words) = death(&mut tasks).await else {
                // It has nothing more to do.
                return;
            };
            tasks.shutdown().await;
            if started.elapsed() > GOOD_RUN {
                in_a_row = 0;
            }
            deaths::report(part, last_words);
            sleep(deaths::pause(in_a_row)).await;
            in_a_row += 1;
            tasks = start();
        }
    });
    kept
}

/// Waits until a task panics, and returns its message; `None` when all have ended by themselves.
async fn death(tasks: &mut JoinSet<()>) -> Option<String> {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            return Some(deaths::words_of_panic(&*panic));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[tokio::test]
    async fn a_part_that_panics_is_reported_and_started_again() {
        const PART: &str = "a part of this test";
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = starts.clone();
        let mut kept = keep(PART, move || {
            let start = counted.fetch_add(1, Ordering::Relaxed);
            let mut tasks = JoinSet::new();
            tasks.spawn(async move { assert!(start > 0, "start {start}") });
            // One that would go on is ended with it.
            tasks.spawn(async move {
                if start == 0 {
                    std::future::pending::<()>().await;
                }
            });
            tasks
        });
        kept.join_next().await;
        assert_eq!(starts.load(Ordering::Relaxed), 2);
        let deaths = deaths::subscribe();
        let deaths = deaths.borrow();
        let own: Vec<&str> = deaths
            .since(0)
            .iter()
            .filter(|death| death.part == PART)
            .map(|death| death.last_words.as_str())
            .collect();
        assert_eq!(own, ["it panicked: start 0"]);
    }
}
