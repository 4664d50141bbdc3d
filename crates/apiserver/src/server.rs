//! The API on a socket: TLS, HTTP/1.1 and HTTP/2, client certificates, orderly stop.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{api::Api, authentication::User, body::BodyError};

/// A client that connects must say hello within this time.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// And finish its request headers within this.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// Streams one connection may have open: informers share one, and there may be many.
const MAX_STREAMS: u32 = 4096;
/// How long open requests get to end when the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Accepts connections until told to stop, then lets those open finish.
pub(crate) async fn serve(
    api: Arc<Api>,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    mut stop: watch::Receiver<bool>,
) {
    let acceptor = TlsAcceptor::from(tls);
    let http = Arc::new(http_builder());
    let graceful = GracefulShutdown::new();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let watcher = graceful.watcher();
                    tokio::spawn(connection(api.clone(), stream, peer, acceptor.clone(), http.clone(), watcher));
                }
                // Out of file descriptors, most likely: wait for some to come back.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    let _ = timeout(STOP_PATIENCE, graceful.shutdown()).await;
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender means the owner of the server is gone: stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

fn http_builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

async fn connection(
    api: Arc<Api>,
    stream: TcpStream,
    peer: SocketAddr,
    acceptor: TlsAcceptor,
    http: Arc<auto::Builder<TokioExecutor>>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let _ = stream.set_nodelay(true);
    let stream = match timeout(HANDSHAKE_PATIENCE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => return tracing::debug!(%peer, "TLS handshake took too long"),
    };
    let user = certificate_user(&stream).map(Arc::new);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (api, user) = (api.clone(), user.clone());
        async move {
            let request = request.map(|body| body.map_err(BodyError::new).boxed_unsync());
            Ok::<_, std::convert::Infallible>(api.serve(request, user).await)
        }
    });
    let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection.into_owned()).await {
        tracing::debug!(%peer, %error, "connection ended");
    }
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
