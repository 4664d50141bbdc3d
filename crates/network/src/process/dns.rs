//! The name server of the pods: answers for the cluster from the table, and asks the host's for the rest.

mod answer;
mod forward;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::RwLock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    sides::Sides,
    sockets::{Posing, bind_udp, listen_tcp},
};
use crate::{options::Options, table::names::Names};
use answer::Answer;
use forward::Forwarder;

const PORT: u16 = 53;
/// Queries in work at a time; more wait in the socket.
const MOST_QUERIES: usize = 1024;
const LARGEST_QUERY: usize = 4096;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Server {
    names: RwLock<Arc<Names>>,
    forwarder: Forwarder,
    in_work: Arc<Semaphore>,
}

impl Server {
    /// Must be called on the node's side.
    pub(crate) fn start(options: &Options, names: Names, sides: &Sides) -> io::Result<Arc<Self>> {
        let address = SocketAddr::from((options.gateway(), PORT));
        let socket = bind_udp(address, Posing::OwnOnly)?;
        let listener = listen_tcp(address, Posing::OwnOnly)?;
        let server = Arc::new(Self {
            names: RwLock::new(Arc::new(names)),
            forwarder: Forwarder::new(options.resolvers.clone(), sides.clone()),
            in_work: Arc::new(Semaphore::new(MOST_QUERIES)),
        });
        tokio::spawn(datagrams(Arc::new(socket), server.clone()));
        tokio::spawn(connections(listener, server.clone()));
        Ok(server)
    }

    pub(crate) fn set_names(&self, names: Names) {
        *self.names.write() = Arc::new(names);
    }

    /// The answer to a query, if it is one.
    async fn answer(&self, query: &[u8], tcp: bool) -> Option<Vec<u8>> {
        let names = self.names.read().clone();
        match answer::answer(&names, query, tcp)? {
            Answer::Done(answer) => Some(answer),
            Answer::Elsewhere(refusal) => self.forwarder.ask(query, tcp).await.or(Some(refusal)),
            Answer::Alias {
                query: next,
                mut partial,
            } => {
                let next = self.forwarder.ask(&next, true).await;
                answer::complete(&mut partial, next.as_deref());
                answer::encode(partial, answer::limit(query, tcp))
            }
        }
    }
}

async fn datagrams(socket: Arc<UdpSocket>, server: Arc<Server>) {
    let mut buffer = vec![0; LARGEST_QUERY];
    loop {
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else {
            continue;
        };
        let Ok(permit) = server.in_work.clone().acquire_owned().await else {
            return;
        };
        let (query, socket, server) = (buffer[..length].to_vec(), socket.clone(), server.clone());
        tokio::spawn(async move {
            if let Some(answer) = server.answer(&query, false).await {
                let _ = socket.send_to(&answer, client).await;
            }
            drop(permit);
        });
    }
}

async fn connections(listener: TcpListener, server: Arc<Server>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(permit) = server.in_work.clone().acquire_owned().await else {
                    return;
                };
                let server = server.clone();
                tokio::spawn(async move {
                    let _ = connection(stream, &server).await;
                    drop(permit);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn connection(mut stream: TcpStream, server: &Server) -> io::Result<()> {
    loop {
        let query = timeout(SILENCE, read_message(&mut stream)).await??;
        let Some(answer) = server.answer(&query, true).await else {
            return Ok(());
        };
        write_message(&mut stream, &answer).await?;
    }
}

/// On a connection each message has its length before it.
async fn read_message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut message = vec![0; length.into()];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

async fn write_message(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let mut bytes = (message.len() as u16).to_be_bytes().to_vec();
    bytes.extend_from_slice(message);
    stream.write_all(&bytes).await
}
