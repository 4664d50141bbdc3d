//! Sockets of servers: connections are accepted until somebody says stop, and peers that say nothing or take
//! nothing are given up. What is spoken on a connection is its server's business.

use std::{future::Future, io, net::SocketAddr, pin::pin, time::Duration};

use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};

/// How long a peer may be silent before it is asked whether it is there.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Gives connections away until `stop` resolves. What is returned waits for those that are open.
pub async fn accept(
    listener: TcpListener,
    stop: impl Future<Output = ()>,
    take: impl Fn(TcpStream, SocketAddr, Watcher),
) -> GracefulShutdown {
    let graceful = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = stop.as_mut() => return graceful,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => take(stream, peer, graceful.watcher()),
                // Out of file descriptors, most likely: wait for some to come back.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
}

/// Answers leave at once, and peers that are silent or take nothing are given up: the system asks them for a
/// sign of life, and waits for what was sent to be taken only so long.
pub fn tune(stream: &TcpStream, stalled: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(SIGN_OF_LIFE)
        .with_interval(SIGN_OF_LIFE);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(stalled))
}

/// Resolves when a connection has not asked for anything within the time it has for that.
pub async fn nothing_asked(asked: &Notify, patience: Duration) {
    if timeout(patience, asked.notified()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
