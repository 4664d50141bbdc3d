//! The server on its sockets: each answers every protocol.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::Watcher},
};
use listener::{SIGN_OF_LIFE, nothing_asked, tune};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    time::timeout,
};

use crate::{app::App, body::Answer, external::Relay, grpc, rest};

/// The headers of a request must be there within this time.
const HEADERS: Duration = Duration::from_secs(30);
/// A client that takes nothing of what it is sent for so long is gone.
const STALLED: Duration = Duration::from_mins(2);
/// Requests that one connection may have open.
const STREAMS: u32 = 1024;
const HEADER_BYTES: u32 = 64 * 1024;
/// What may be on its way of one request, and of a connection: tensors are large.
const WINDOW: u32 = 4 << 20;

/// Who answers what is asked on a socket.
#[derive(Clone)]
pub(crate) enum Front {
    Model(Arc<App>),
    Relay(Arc<Relay>),
}

impl Front {
    async fn answer(self, request: Request<Incoming>) -> Response<Answer> {
        match self {
            Self::Model(app) if grpc::is_meant(request.headers()) => grpc::answer(app, request).await,
            Self::Model(app) => rest::answer(app, request).await,
            Self::Relay(relay) => relay.answer(request).await,
        }
    }
}

/// Serves until told to stop, then lets those that ask finish, for so long.
pub(crate) async fn serve(
    front: Front,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
    grace: Duration,
) {
    let stopped = async {
        // A dropped sender means the owner of the server is gone: stop as well.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let graceful = listener::accept(listener, stopped, |stream, peer, watcher| {
        tokio::spawn(connection(front.clone(), stream, peer, watcher));
    })
    .await;
    let _ = timeout(grace, graceful.shutdown()).await;
}

async fn connection(front: Front, stream: TcpStream, peer: SocketAddr, watcher: Watcher) {
    if let Err(error) = tune(&stream, STALLED) {
        return tracing::debug!(%peer, %error, "the connection was gone before it was served");
    }
    let asked = Arc::new(Notify::new());
    let asking = asked.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        asking.notify_one();
        let front = front.clone();
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(HEADER_BYTES as usize)
        .half_close(false);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .keep_alive_interval(SIGN_OF_LIFE)
        .keep_alive_timeout(Duration::from_secs(20));
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = watcher.watch(connection.into_owned()) => if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended");
        },
        () = nothing_asked(&asked, HEADERS) => tracing::debug!(%peer, "nothing was asked"),
    }
}
