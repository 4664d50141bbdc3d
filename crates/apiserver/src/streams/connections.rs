//! Connections that have left HTTP behind. They are bounded in number, end when the server stops, and
//! are waited for then.

use std::{pin::pin, sync::Arc, time::Duration};

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::multiplex::{Protocol, Streams, multiplex};
use crate::api::Api;

/// How long a client gets to take the last of what it is sent and say goodbye.
const GOODBYE: Duration = Duration::from_secs(10);

/// How many there may be, and how many more there may still be.
pub(crate) struct Connections {
    most: u32,
    left: Arc<Semaphore>,
}

/// The right to one, given back when it is dropped.
pub(super) type Place = OwnedSemaphorePermit;

impl Connections {
    pub(crate) fn new(most: u32) -> Self {
        Self {
            most,
            left: Arc::new(Semaphore::new(most as usize)),
        }
    }

    pub(super) fn enter(&self) -> Option<Place> {
        self.left.clone().try_acquire_owned().ok()
    }

    /// Resolves when there is none any more.
    pub(crate) async fn ended(&self) {
        let _ = self.left.acquire_many(self.most).await;
    }
}

/// Lets `work` have the streams of a connection, from when the answer has gone out until it is done,
/// the client is gone, or the server stops.
pub(super) fn carry<W: Future<Output = ()> + Send>(
    api: Arc<Api>,
    upgrade: OnUpgrade,
    place: Place,
    protocol: Protocol,
    work: impl FnOnce(Streams) -> W + Send + 'static,
) {
    after_upgrade(upgrade, place, |io| async move {
        let (multiplexer, streams) = multiplex(protocol);
        let mut traffic = pin!(multiplexer.drive(io, api.limits.silent));
        {
            let work = pin!(work(streams));
            tokio::select! {
                () = &mut traffic => return,
                () = work => {}
                // Cut off, so that nobody takes it for the end of a command.
                () = api.stopping() => return,
            }
        }
        let _ = timeout(GOODBYE, traffic).await;
    });
}

/// Runs `work` on a connection once the answer has gone out.
pub(super) fn after_upgrade<W: Future<Output = ()> + Send>(
    upgrade: OnUpgrade,
    place: Place,
    work: impl FnOnce(TokioIo<Upgraded>) -> W + Send + 'static,
) {
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => work(TokioIo::new(upgraded)).await,
            Err(error) => tracing::debug!(%error, "a client left before its connection was switched"),
        }
        drop(place);
    });
}
