//! The model server as its clients meet it: over every protocol, while versions come and go.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod bench;
mod client;
mod grpc;
mod models;
mod open_inference;
mod rest;
mod versions;

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use serving::{Options, Running, State};

/// A server of the versions in a folder, called `model`.
async fn start(base: &Path) -> Running {
    start_with(base, |_| {}).await.unwrap()
}

async fn start_with(base: &Path, change: impl FnOnce(&mut Options)) -> Result<Running, serving::StartError> {
    let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let mut options = Options::new(base.to_owned(), "model".to_owned(), vec![free, free]);
    options.interval = Duration::from_millis(20);
    options.grace = Duration::from_secs(5);
    change(&mut options);
    serving::start(options).await
}

/// Waits until a version is in a state.
async fn becomes(server: &Running, version: u64, state: State) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let known = server.versions();
        if known
            .iter()
            .any(|status| status.version == version && status.state == state)
        {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "version {version} is not {state:?}: {known:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
