//! Serving one place: each client is given a backend.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream, UdpSocket},
    time::{sleep, timeout},
};

use super::{
    Surroundings,
    choice::Choice,
    flows::{Flows, Key, LARGEST_DATAGRAM},
    pump,
};
use crate::{
    process::sockets::{connect_tcp, connect_udp},
    table::relays::Backend,
};

/// How long one backend may take to accept.
const PATIENCE: Duration = Duration::from_secs(10);
/// After running out of files, say, others need time to close some.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) async fn tcp(listener: TcpListener, choice: Arc<Mutex<Choice>>, surroundings: Arc<Surroundings>) {
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                tokio::spawn(connection(stream, client, choice.clone(), surroundings.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to a service");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    choice: Arc<Mutex<Choice>>,
    surroundings: Arc<Surroundings>,
) {
    let order = choice.lock().order(client.ip(), Instant::now());
    for backend in order {
        match dial(&surroundings, client.ip(), backend).await {
            Ok(behind) => {
                choice.lock().settle(client.ip(), backend, Instant::now());
                return pump::join(stream, behind).await;
            }
            Err(error) => tracing::debug!(%error, backend = %backend.address, "a backend does not accept"),
        }
    }
    // Nobody is there: the client hears the same as from a port where nobody listens.
    let _ = stream.set_zero_linger();
}

async fn dial(surroundings: &Surroundings, client: IpAddr, backend: Backend) -> io::Result<TcpStream> {
    let name = surroundings.name_for(client, backend);
    let dial = surroundings
        .sides
        .on(backend.side, connect_tcp(name, backend.address));
    timeout(PATIENCE, dial)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

pub(crate) async fn udp(
    socket: UdpSocket,
    choice: Arc<Mutex<Choice>>,
    flows: Arc<Flows>,
    surroundings: Arc<Surroundings>,
) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    loop {
        let (length, client) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                tracing::debug!(%error, "cannot receive a datagram for a service");
                continue;
            }
        };
        let key = Key { client, to: None };
        if !flows.is_known(key) {
            let first = choice
                .lock()
                .order(client.ip(), Instant::now())
                .into_iter()
                .next();
            let Some(backend) = first else { continue };
            let name = surroundings.name_for(client.ip(), backend);
            let connect = surroundings
                .sides
                .on(backend.side, connect_udp(name, backend.address));
            let Ok(behind) = connect.await else { continue };
            choice.lock().settle(client.ip(), backend, Instant::now());
            flows.add(key, backend.address, behind, socket.clone());
        }
        flows.forward(key, &buffer[..length]);
    }
}
