//! The service on a socket.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use http::Request;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::Watcher,
};
use listener::{nothing_asked, tune};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    time::timeout,
};

use crate::app::App;

/// The headers of a request must be there within this time, also where the connection served others before.
const HEADERS: Duration = Duration::from_secs(30);
/// A client that takes nothing of what it is sent for so long is gone.
const STALLED: Duration = Duration::from_mins(2);
/// How long open requests get to end when the service stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// Request lines and headers together.
const HEADER_BYTES: usize = 64 * 1024;

/// Serves until told to stop, then lets those that ask finish.
pub(crate) async fn serve(app: Arc<App>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let stopped = async {
        // A dropped sender means the owner of the service is gone: stop as well.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let graceful = listener::accept(listener, stopped, |stream, peer, watcher| {
        tokio::spawn(connection(app.clone(), stream, peer, watcher));
    })
    .await;
    let _ = timeout(STOP_PATIENCE, graceful.shutdown()).await;
}

async fn connection(app: Arc<App>, stream: TcpStream, peer: SocketAddr, watcher: Watcher) {
    if let Err(error) = tune(&stream, STALLED) {
        return tracing::debug!(%peer, %error, "the connection was gone before it was served");
    }
    let asked = Arc::new(Notify::new());
    let asking = asked.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        asking.notify_one();
        let app = app.clone();
        async move { Ok::<_, Infallible>(app.answer(request, peer).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(HEADER_BYTES)
        .half_close(false);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = watcher.watch(connection) => if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended");
        },
        () = nothing_asked(&asked, HEADERS) => tracing::debug!(%peer, "nothing was asked"),
    }
}
