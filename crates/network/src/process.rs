//! The process that stands in both worlds: the host's network and the pods'.

mod control;
mod dns;
mod egress;
mod namespaces;
mod node;
mod pods;
mod relay;
mod sides;
mod sockets;
mod user_namespace;

use std::{
    io,
    path::Path,
    process::{ExitCode, id},
    sync::Arc,
};

use nix::{
    sys::resource::{Resource, getrlimit, setrlimit},
    unistd::setsid,
};
use tokio::{
    net::UnixStream,
    signal::unix::{SignalKind, signal},
};

use crate::{
    description::{Description, Tier},
    folder, netlink,
    options::Options,
};
use node::Node;
use sides::Sides;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read what to do in the folder")]
    Options(#[source] io::Error),
    #[error("cannot lock the folder")]
    Lock(#[source] io::Error),
    #[error("another process serves this folder")]
    Taken,
    #[error("cannot have a user namespace")]
    UserNamespace(#[source] user_namespace::Error),
    #[error("cannot make a network namespace")]
    NetworkNamespace(#[source] io::Error),
    #[error("cannot set up the node's network")]
    Node(#[source] netlink::Error),
    #[error("cannot serve names")]
    NameServer(#[source] io::Error),
    #[error("cannot write down what was handed out")]
    State(#[source] io::Error),
    #[error("cannot listen in the folder")]
    Listen(#[source] io::Error),
    #[error("cannot serve")]
    Serve(#[source] io::Error),
}

/// Serves the folder until asked to stop. Must be called before the program has a second thread, since
/// only then may it move into a user namespace.
pub fn main(folder: &Path) -> ExitCode {
    match run(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<(), Error> {
    let options = Options::read(folder).map_err(Error::Options)?;
    let _lock = folder::lock(folder).map_err(Error::Lock)?.ok_or(Error::Taken)?;
    // A terminal that is closed must not take the pods' network with it. Fails for a group's leader,
    // who then has no terminal to fear.
    let _ = setsid();
    allow_many_files();
    let tier = user_namespace::enter(options.user_namespace.as_deref()).map_err(Error::UserNamespace)?;
    let namespace = namespaces::new_network().map_err(Error::NetworkNamespace)?;
    let host = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(sides::BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(Error::Serve)?;
    let node = sides::node_runtime(namespace).map_err(Error::Serve)?;
    let sides = Sides::new(host.handle().clone(), node.handle().clone());
    let served = host.block_on(serve(folder, options, tier, sides));
    node.shutdown_background();
    served.map(drop)
}

/// Serves until told to stop, and by whom, if it was not by a signal.
async fn serve(
    folder: &Path,
    options: Options,
    tier: Tier,
    sides: Sides,
) -> Result<Option<UnixStream>, Error> {
    let before = folder::read_state(folder)
        .map(|state| state.addresses)
        .unwrap_or_default();
    let start_time = folder::start_time(id()).unwrap_or_default();
    let description = Description {
        pid: id(),
        start_time,
        tier,
        pods: options.pods,
        services: options.services,
        gateway: options.gateway(),
        no_egress: None,
        addresses: before,
        table: 0,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Serve)?;
    let node = Arc::new(Node::start(folder.to_owned(), options, description, sides).await?);
    let listener = folder::listen(folder).map_err(Error::Listen)?;
    let asker = tokio::select! {
        asker = control::serve(&listener, &node) => asker,
        _ = terminate.recv() => None,
    };
    node.stop().await;
    folder::clear(folder);
    Ok(asker)
}

/// Each relayed connection takes two files, and four while data moves.
fn allow_many_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
