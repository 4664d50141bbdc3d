//! The two worlds. A socket belongs to the side whose thread made it, and may then be used on any.

use std::{fs::File, future::Future, io, os::fd::AsFd, sync::Arc, thread::available_parallelism};

use tokio::runtime::{Builder, Handle, Runtime};

use super::namespaces;
use crate::table::relays::Side;

#[derive(Clone, Debug)]
pub(crate) struct Sides {
    host: Handle,
    node: Handle,
}

/// How many threads wait for the kernel at a time, a side. It changes one link after the other anyway.
pub(super) const BLOCKING_THREADS: usize = 8;

/// Threads that all live in the node's network namespace.
pub(crate) fn node_runtime(namespace: File) -> io::Result<Runtime> {
    let namespace = Arc::new(namespace);
    let threads = available_parallelism().map_or(1, |cores| cores.get().min(8));
    Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("node")
        .enable_all()
        .on_thread_start(move || {
            if let Err(error) = namespaces::enter(namespace.as_fd()) {
                // A thread on the wrong side would let pods into the host's network.
                tracing::error!(%error, "cannot enter the node's network namespace");
                std::process::abort();
            }
        })
        .build()
}

impl Sides {
    pub(crate) fn new(host: Handle, node: Handle) -> Self {
        Self { host, node }
    }

    /// Runs `work` on a side to its end: the sockets it makes belong there.
    pub(crate) async fn on<T, F>(&self, side: Side, work: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = io::Result<T>> + Send + 'static,
    {
        self.handle(side)
            .spawn(work)
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// As [`Sides::on`] for work that waits for the kernel.
    pub(crate) async fn blocking_on<T, F>(&self, side: Side, work: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: FnOnce() -> io::Result<T> + Send + 'static,
    {
        self.handle(side)
            .spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    pub(crate) fn handle(&self, side: Side) -> &Handle {
        match side {
            Side::Host => &self.host,
            Side::Node => &self.node,
        }
    }
}
