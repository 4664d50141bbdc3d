//! Requests through the folder's socket.

use std::{io, os::fd::AsFd, sync::Arc};

use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
};

use super::{chain, node::Node};
use crate::wire::{self, Answer, Failure, Request};

/// Answers requests until one asks to stop. That asker learns of the end when its stream is closed.
pub(crate) async fn serve(listener: &UnixListener, node: &Arc<Node>) -> Option<UnixStream> {
    let (stop, mut stopped) = mpsc::channel(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            asker = stopped.recv() => return asker,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(answer(stream, node.clone(), stop.clone()));
            }
            Err(error) => tracing::warn!(%error, "cannot accept a request"),
        }
    }
}

async fn answer(mut stream: UnixStream, node: Arc<Node>, stop: mpsc::Sender<UnixStream>) {
    let Ok((request, passed)) = wire::receive::<Request>(&mut stream).await else {
        return;
    };
    if matches!(request, Request::Stop) {
        let _ = stop.send(stream).await;
        return;
    }
    let mut connected = None;
    let outcome = match request {
        Request::Attach { pod, process } => node.attach(pod, process, passed).await.map(Answer::Attached),
        Request::Detach { pod } => node.detach(pod).await.map(|()| Answer::Done),
        Request::SetTable(table) => node.set_table(table).await.map(Answer::Set),
        Request::Dial { to, protocol } => node.dial(to, protocol).await.map(|socket| {
            connected = Some(socket);
            Answer::Connected
        }),
        Request::Describe => Ok(Answer::Described(node.describe())),
        Request::Stop => Ok(Answer::Done),
    };
    let answer = outcome.unwrap_or_else(|error| Answer::Failed(failure(&error)));
    let passed = connected.as_ref().map(AsFd::as_fd);
    if let Err(error) = wire::send(&mut stream, &answer, passed).await {
        tracing::debug!(%error, "the asker did not wait for the answer");
    }
}

fn failure(error: &io::Error) -> Failure {
    Failure {
        message: chain(error),
        code: error.raw_os_error(),
    }
}
