//! The API on a socket: TLS, HTTP/1.1 and HTTP/2, client certificates, orderly stop.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use listener::{SIGN_OF_LIFE, nothing_asked, tune};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{
    api::{Api, Peer},
    authentication::User,
    body::BodyError,
    limits::Limits,
    pki::{PkiError, Serving},
    streams,
};

/// Streams one connection may have open: informers share one, and there may be many.
const MAX_STREAMS: u32 = 4096;
/// Request headers may take this many bytes: selectors stand in the request line.
const MAX_HEADERS: u32 = 1 << 20;
/// How long open requests get to end when the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Accepts connections until told to stop, then lets those open finish.
pub(crate) async fn serve(
    api: Arc<Api>,
    listener: TcpListener,
    serving: Serving,
    mut stop: watch::Receiver<bool>,
) {
    let serving = Arc::new(serving);
    let http = Arc::new(Http::new(&api.limits));
    let graceful = listener::accept(listener, stopped(&mut stop), |stream, peer, watcher| {
        tokio::spawn(connection(
            api.clone(),
            stream,
            peer,
            serving.clone(),
            http.clone(),
            watcher,
        ));
    })
    .await;
    let ended = async { tokio::join!(graceful.shutdown(), api.connections.ended()) };
    let _ = timeout(STOP_PATIENCE, ended).await;
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender means the owner of the server is gone: stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// How each version of HTTP is spoken.
struct Http {
    one: auto::Builder<TokioExecutor>,
    two: auto::Builder<TokioExecutor>,
}

impl Http {
    fn new(limits: &Limits) -> Self {
        let mut one = auto::Builder::new(TokioExecutor::new()).http1_only();
        one.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.headers)
            .half_close(false);
        let mut two = auto::Builder::new(TokioExecutor::new()).http2_only();
        two.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADERS)
            .keep_alive_interval(SIGN_OF_LIFE)
            .keep_alive_timeout(Duration::from_secs(20));
        Self { one, two }
    }

    /// The version both sides agreed on when they said hello.
    fn version(&self, stream: &TlsStream<TcpStream>) -> &auto::Builder<TokioExecutor> {
        match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => &self.two,
            _ => &self.one,
        }
    }
}

async fn connection(
    api: Arc<Api>,
    stream: TcpStream,
    peer: SocketAddr,
    serving: Arc<Serving>,
    http: Arc<Http>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    if let Err(error) = tune(&stream, api.limits.stalled) {
        return tracing::debug!(%peer, %error, "the connection was gone before it was served");
    }
    let acceptor = match acceptor(&serving, &stream) {
        Ok(acceptor) => acceptor,
        Err(error) => return tracing::warn!(%peer, %error, "there is no certificate for a connection"),
    };
    let stream = match timeout(api.limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => return tracing::debug!(%peer, "TLS handshake took too long"),
    };
    let client = Arc::new(Peer {
        certificate: certificate_user(&stream),
        owed: Arc::default(),
    });
    let (patience, asked) = (api.limits.headers, Arc::new(Notify::new()));
    let (asking, asker) = (asked.clone(), client.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        asking.notify_one();
        let (api, asker) = (api.clone(), asker.clone());
        async move {
            let mut request = request.map(|body| body.map_err(BodyError::new).boxed_unsync());
            request.extensions_mut().insert(streams::Peer(peer));
            Ok::<_, std::convert::Infallible>(api.serve(request, &asker).await)
        }
    });
    let version = http.version(&stream);
    let connection = version.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::select! {
        ended = watcher.watch(connection.into_owned()) => if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended");
        },
        () = nothing_asked(&asked, patience) => tracing::debug!(%peer, "nothing was asked"),
        () = client.owed.stuck() => tracing::debug!(%peer, "an answer was not taken"),
    }
}

/// Speaks TLS as the one whom the client reached.
fn acceptor(serving: &Serving, stream: &TcpStream) -> Result<TlsAcceptor, PkiError> {
    let reached = stream
        .local_addr()
        .map_or(Ipv4Addr::LOCALHOST.into(), |own| own.ip());
    serving.at(reached).map(TlsAcceptor::from)
}

/// The user a verified client certificate names: its common name, and its organisations as groups.
fn certificate_user(stream: &TlsStream<TcpStream>) -> Option<User> {
    let certificate = stream.get_ref().1.peer_certificates()?.first()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups: Vec<&str> = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok())
        .collect();
    Some(User::new(name, &groups))
}

/// An empty request body, for callers in the same process.
pub fn no_body() -> crate::body::RequestBody {
    http_body_util::Empty::<Bytes>::new()
        .map_err(|never| match never {})
        .boxed_unsync()
}
