//! Work that may keep a thread busy for long is done aside, so that the requests behind it need not
//! wait.

use std::{future::poll_fn, pin::pin};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs a future whose steps may take long.
pub(crate) async fn aside<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| step_aside(true, || future.as_mut().poll(context))).await
}

/// Runs a function that may take long.
pub(crate) fn step_aside<T>(is_long: bool, work: impl FnOnce() -> T) -> T {
    // A runtime with a single thread has nobody to hand the others to.
    let has_others =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_long && has_others() {
        return tokio::task::block_in_place(work);
    }
    work()
}
