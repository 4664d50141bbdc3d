//! Datagrams have no connections. A flow is what one client sends to one place, and what comes back,
//! until both have been silent for a while.

use std::{
    cell::RefCell,
    collections::HashMap,
    io,
    net::{SocketAddr, SocketAddrV4},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{net::UdpSocket, task::AbortHandle, time::timeout};

use crate::process::sockets::send_now;

pub(crate) const LARGEST_DATAGRAM: usize = 65_535;
const SILENCE: Duration = Duration::from_mins(1);
/// Flows of one place; each takes a file or two.
const MOST_FLOWS: usize = 8192;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; LARGEST_DATAGRAM]);
}

/// Who sends, and to where if that is not always the same.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Key {
    pub(crate) client: SocketAddr,
    pub(crate) to: Option<SocketAddrV4>,
}

#[derive(Debug, Default)]
pub(crate) struct Flows(Mutex<HashMap<Key, Flow>>);

#[derive(Debug)]
struct Flow {
    backend: SocketAddrV4,
    behind: Arc<UdpSocket>,
    last: Instant,
    answers: AbortHandle,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.answers.abort();
    }
}

impl Flows {
    pub(crate) fn is_known(&self, key: Key) -> bool {
        self.0.lock().contains_key(&key)
    }

    /// Starts a flow to a backend. What comes back is sent to the client through `front`.
    pub(crate) fn add(
        self: &Arc<Self>,
        key: Key,
        backend: SocketAddrV4,
        behind: UdpSocket,
        front: Arc<UdpSocket>,
    ) {
        let mut flows = self.0.lock();
        if flows.len() >= MOST_FLOWS {
            tracing::warn!("too many clients send datagrams");
            return;
        }
        let behind = Arc::new(behind);
        let task = answers(self.clone(), key, behind.clone(), front);
        let answers = tokio::spawn(task).abort_handle();
        flows.insert(
            key,
            Flow {
                backend,
                behind,
                last: Instant::now(),
                answers,
            },
        );
    }

    /// Sends a client's datagram on.
    pub(crate) fn forward(&self, key: Key, datagram: &[u8]) {
        if let Some(flow) = self.0.lock().get_mut(&key) {
            flow.last = Instant::now();
            send_now(&flow.behind, datagram, None);
        }
    }

    /// Ends all flows but those to some backends.
    pub(crate) fn keep(&self, stays: impl Fn(SocketAddrV4) -> bool) {
        self.0.lock().retain(|_, flow| stays(flow.backend));
    }

    fn is_silent(&self, key: Key) -> bool {
        self.0
            .lock()
            .get(&key)
            .is_none_or(|flow| flow.last.elapsed() >= SILENCE)
    }

    fn remove(&self, key: Key) {
        self.0.lock().remove(&key);
    }
}

async fn answers(flows: Arc<Flows>, key: Key, behind: Arc<UdpSocket>, front: Arc<UdpSocket>) {
    loop {
        let ready = timeout(SILENCE, behind.readable()).await;
        let goes_on = match ready {
            Ok(Ok(())) => pass_back(&behind, &front, key.client).is_ok(),
            Ok(Err(_)) => false,
            Err(_) => !flows.is_silent(key),
        };
        if !goes_on {
            return flows.remove(key);
        }
    }
}

/// An error means that the backend does not listen: the next datagram starts a new flow.
fn pass_back(behind: &UdpSocket, front: &UdpSocket, client: SocketAddr) -> io::Result<()> {
    BUFFER.with_borrow_mut(|buffer| match behind.try_recv(buffer) {
        Ok(length) => {
            send_now(front, &buffer[..length], Some(client));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    })
}
