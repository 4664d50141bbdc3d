//! Runs checks against a server, several at a time.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use crate::{Check, Context, Outcome, Server, context::Shared, webhook::WebhooksCell};

/// How the checks are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub threads: usize,
    /// Leaves namespaces behind, which is faster where the server is thrown away.
    pub keep_namespaces: bool,
}

/// One check on one server.
#[derive(Debug)]
pub struct Run {
    pub check: Check,
    pub outcome: Outcome,
    pub took: Duration,
}

/// Runs the checks against a server and gives the results in the order of the checks.
pub fn run(server: &Server, checks: &[Check], options: Options) -> Vec<Run> {
    let shared = Shared {
        server,
        run: run_name(),
        counter: AtomicU64::new(1),
        webhooks: WebhooksCell::default(),
    };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(check) = checks.get(index) else { return };
                    let run = run_one(&shared, *check, options);
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, run));
                }
            });
        }
    });
    let mut runs = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    runs.sort_by_key(|(index, _)| *index);
    runs.into_iter().map(|(_, run)| run).collect()
}

fn run_one(shared: &Shared<'_>, check: Check, options: Options) -> Run {
    let started = Instant::now();
    let context = Context::new(shared);
    let outcome = (check.run)(&context);
    context.tidy(options.keep_namespaces);
    Run {
        check,
        outcome,
        took: started.elapsed(),
    }
}

/// Differs from run to run on the same server.
fn run_name() -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{:x}", now.as_millis() & 0x00ff_ffff)
}
