//! Asking the host's name servers, from the host's side, for what is not of the cluster.

use std::{
    collections::HashMap,
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use super::{PORT, read_message, write_message};
use crate::{process::sides::Sides, table::relays::Side};

/// How long a server may take, before the next is asked.
const PATIENCE: Duration = Duration::from_secs(2);
/// A server that did not answer is left alone for this long: a machine without a network says so at
/// once, not after a wait for each name.
const REST: Duration = Duration::from_secs(5);
/// As the C library does.
const MOST_SERVERS: usize = 3;
const LARGEST_ANSWER: usize = 65_535;

#[derive(Debug)]
pub(crate) struct Forwarder {
    resolvers: PathBuf,
    sides: Sides,
    silent_since: Mutex<HashMap<SocketAddr, Instant>>,
}

impl Forwarder {
    pub(crate) fn new(resolvers: PathBuf, sides: Sides) -> Self {
        Self {
            resolvers,
            sides,
            silent_since: Mutex::default(),
        }
    }

    /// The answer of the first server that has one.
    pub(crate) async fn ask(&self, query: &[u8], tcp: bool) -> Option<Vec<u8>> {
        // Read each time: a laptop changes networks.
        let text = fs::read_to_string(&self.resolvers).unwrap_or_default();
        for server in servers(&text) {
            if self.is_resting(server) {
                continue;
            }
            let query = query.to_vec();
            let exchange = self.sides.on(Side::Host, async move {
                if tcp {
                    by_connection(server, &query).await
                } else {
                    by_datagram(server, &query).await
                }
            });
            match timeout(PATIENCE, exchange).await {
                Ok(Ok(answer)) => return Some(answer),
                Ok(Err(_)) | Err(_) => {
                    self.silent_since.lock().insert(server, Instant::now());
                }
            }
        }
        None
    }

    fn is_resting(&self, server: SocketAddr) -> bool {
        let mut silent_since = self.silent_since.lock();
        silent_since.retain(|_, since| since.elapsed() < REST);
        silent_since.contains_key(&server)
    }
}

/// The servers that a `resolv.conf` names.
fn servers(text: &str) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let address: IpAddr = (words.next()? == "nameserver")
            .then(|| words.next())??
            .parse()
            .ok()?;
        Some(SocketAddr::new(address, PORT))
    });
    named.take(MOST_SERVERS).collect()
}

/// A socket of its own for each query: its port is as hard to guess as the query's number.
async fn by_datagram(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(query).await?;
    let mut answer = vec![0; LARGEST_ANSWER];
    loop {
        let length = socket.recv(&mut answer).await?;
        if answer[..length].get(..2) == query.get(..2) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}

async fn by_connection(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    write_message(&mut stream, query).await?;
    read_message(&mut stream).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_the_c_library_reads_them() {
        let text = "# nameserver 1.1.1.1\nsearch example.com\nnameserver 10.0.0.53\nnameserver fd00::1\n\
                    nameserver nonsense\nnameserver 10.0.0.54\nnameserver 10.0.0.55\n";
        let found: Vec<String> = servers(text).iter().map(SocketAddr::to_string).collect();
        assert_eq!(found, ["10.0.0.53:53", "[fd00::1]:53", "10.0.0.54:53"]);
    }
}
