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
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    StartError,
    app::App,
    body::Answer,
    external::Relay,
    grpc, rest,
    tls::{self, ServerFiles, Tls},
};

/// The headers of a request must be there within this time.
const HEADERS: Duration = Duration::from_secs(30);
/// Peers must have agreed on how to encrypt within this time.
const HANDSHAKE: Duration = Duration::from_secs(10);
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

/// Where a server listens, and how it speaks there.
pub(crate) struct Sockets {
    listeners: Vec<(TcpListener, SocketAddr)>,
    tls: Option<Arc<Tls>>,
}

impl Sockets {
    pub(crate) async fn open(
        addresses: &[SocketAddr],
        files: Option<ServerFiles>,
    ) -> Result<Self, StartError> {
        let tls = files.map(Tls::load).transpose()?.map(Arc::new);
        let mut listeners = Vec::new();
        for &address in addresses {
            let bound = TcpListener::bind(address).await;
            let bound = bound.map_err(|cause| StartError::Listen { address, cause })?;
            let found = bound.local_addr().unwrap_or(address);
            listeners.push((bound, found));
        }
        Ok(Self { listeners, tls })
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|(_, address)| *address).collect()
    }

    /// Serves until told to stop, then lets those that ask finish, for so long.
    pub(crate) fn serve(
        self,
        front: &Front,
        stop: &watch::Receiver<bool>,
        interval: Duration,
        grace: Duration,
    ) -> JoinSet<()> {
        let mut servers = JoinSet::new();
        for (listener, _) in self.listeners {
            servers.spawn(serve(
                front.clone(),
                listener,
                self.tls.clone(),
                stop.clone(),
                grace,
            ));
        }
        if let Some(tls) = self.tls {
            servers.spawn(tls::follow(tls, interval, stop.clone()));
        }
        servers
    }
}

async fn serve(
    front: Front,
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    mut stop: watch::Receiver<bool>,
    grace: Duration,
) {
    let stopped = async {
        // A dropped sender means the owner of the server is gone: stop as well.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let graceful = listener::accept(listener, stopped, |stream, peer, watcher| {
        let acceptor = tls.as_ref().map(|tls| tls.acceptor());
        tokio::spawn(connection(front.clone(), acceptor, stream, peer, watcher));
    })
    .await;
    let _ = timeout(grace, graceful.shutdown()).await;
}

async fn connection(
    front: Front,
    acceptor: Option<TlsAcceptor>,
    stream: TcpStream,
    peer: SocketAddr,
    watcher: Watcher,
) {
    if let Err(error) = tune(&stream, STALLED) {
        return tracing::debug!(%peer, %error, "the connection was gone before it was served");
    }
    let Some(acceptor) = acceptor else {
        return speak(front, stream, peer, watcher).await;
    };
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => speak(front, stream, peer, watcher).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "TLS handshake took too long"),
    }
}

/// Speaks HTTP, of the version that the peer begins with.
async fn speak<Stream>(front: Front, stream: Stream, peer: SocketAddr, watcher: Watcher)
where
    Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
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
