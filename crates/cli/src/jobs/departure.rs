//! Users who go while something is done for them: by Ctrl-C, by closing the terminal, or by a signal.

use std::pin::pin;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

const HUNG_UP: u8 = 129;
pub(crate) const INTERRUPTED: u8 = 130;
pub(crate) const STOPPED: u8 = 143;

/// Hears of a departure from when it is made; from then on no signal ends the process by itself.
pub(crate) struct Departure {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    left_by: Option<u8>,
}

impl Departure {
    pub(crate) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            left_by: None,
        })
    }

    /// Waits for the user to go, and says with which code. One who has gone does not go again.
    pub(crate) async fn wait(&mut self) -> u8 {
        if let Some(code) = self.left_by {
            return code;
        }
        let code = tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => STOPPED,
            _ = self.hang_up.recv() => HUNG_UP,
        };
        self.left_by = Some(code);
        code
    }

    /// The code by which the user has gone.
    pub(crate) fn left_by(&self) -> Option<u8> {
        self.left_by
    }

    /// Does work to its end, whoever goes meanwhile: what is half made cannot be tidied up.
    pub(crate) async fn outlasted_by<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if self.left_by.is_none() {
            tokio::select! {
                done = &mut work => return done,
                _ = self.wait() => eprintln!("interrupted; tidying up"),
            }
        }
        work.await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};
    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn what_was_begun_is_done_though_the_user_goes_and_the_going_is_remembered() {
        for (signal, code) in [
            (Signal::HUP, HUNG_UP),
            (Signal::INT, INTERRUPTED),
            (Signal::TERM, STOPPED),
        ] {
            let mut departure = Departure::listen().unwrap();
            let done = departure.outlasted_by(async {
                kill_process(getpid(), signal).unwrap();
                sleep(Duration::from_millis(200)).await;
                "done"
            });
            assert_eq!(done.await, "done");
            assert_eq!(departure.left_by(), Some(code));
            assert_eq!(departure.wait().await, code);
        }
    }
}
