//! Whose turn it is: events wait while there is work, so that what is done is done first and then told of.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Mutex, MutexGuard, Notify, watch},
    time::{Instant, sleep_until, timeout_at},
};

/// Work that has ended only now may go on with the next piece.
const CALM: Duration = Duration::from_millis(250);

/// How many are at work, and when the last of them ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    working: usize,
    ended: Option<Instant>,
}

impl Work {
    pub(super) fn begin(&mut self) {
        self.working += 1;
    }

    pub(super) fn end(&mut self) {
        self.working -= 1;
        self.ended = Some(Instant::now());
    }

    /// When it is calm if nobody begins anything; never while somebody works.
    fn calm(&self) -> Option<Instant> {
        let calm = self.ended.map_or_else(Instant::now, |ended| ended + CALM);
        (self.working == 0).then_some(calm)
    }
}

pub(super) struct Turns {
    work: watch::Receiver<Work>,
    /// Told when so many wait that the next might find no room.
    crowded: Arc<Notify>,
    single_file: Mutex<()>,
}

impl Turns {
    pub(super) fn new(work: watch::Receiver<Work>, crowded: Arc<Notify>) -> Self {
        Self {
            work,
            crowded,
            single_file: Mutex::new(()),
        }
    }

    /// Resolves when nobody works; after the patience has ended, or where it is crowded, also while somebody does,
    /// for one at a time.
    pub(super) async fn next(&self, patience: Instant) -> Option<MutexGuard<'_, ()>> {
        let impatient = async {
            tokio::select! {
                () = sleep_until(patience) => {}
                () = self.crowded.notified() => {}
            }
            self.single_file.lock().await
        };
        tokio::select! {
            biased;
            () = calm(self.work.clone()) => None,
            turn = impatient => Some(turn),
        }
    }
}

/// Resolves when nobody works and nobody has begun again for a moment.
async fn calm(mut work: watch::Receiver<Work>) {
    loop {
        let calm = work.borrow_and_update().calm();
        let changed = match calm {
            Some(calm) if calm <= Instant::now() => return,
            Some(calm) => match timeout_at(calm, work.changed()).await {
                Ok(changed) => changed,
                Err(_) => return,
            },
            None => work.changed().await,
        };
        if changed.is_err() {
            // Nobody is left who could work.
            return;
        }
    }
}
