//! The way out: the filter hands whatever pods send to addresses outside the cluster to two sockets
//! here, and what arrives there goes on from the host's side, with the host's rights and routes.

use std::{
    io,
    io::IoSliceMut,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    os::fd::AsRawFd,
    sync::Arc,
    time::Duration,
};

use ipnet::Ipv4Net;
use nix::{
    cmsg_space, libc,
    sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt, sockopt},
};
use tokio::{
    io::Interest,
    net::{TcpListener, TcpStream, UdpSocket},
    time::{sleep, timeout},
};

use super::{
    relay::{
        flows::{Flows, Key, LARGEST_DATAGRAM},
        pump,
    },
    sides::Sides,
    sockets::{Posing, bind_udp, connect_tcp, connect_udp, listen_tcp},
};
use crate::{
    netlink::{
        self, Socket,
        filter::{Step, install},
        route::{Route, add_route, add_rule},
    },
    options::Options,
    table::relays::Side,
};

/// Packets with this mark are for us, whatever their destination.
const MARK: u32 = 1;
const MARKED: u8 = 100;
/// Where the way out begins, on the node's loopback, where no pod can get by itself.
const DOOR: Ipv4Addr = Ipv4Addr::LOCALHOST;
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot listen for what leaves the cluster")]
    Listen(#[source] io::Error),
    #[error("the kernel cannot redirect packets")]
    Filter(#[source] netlink::Error),
}

/// Opens the way out. Must be called on the node's side.
pub(crate) fn start(options: &Options, sides: &Sides) -> Result<(), Error> {
    let any_port = SocketAddr::from((DOOR, 0));
    let listener = listen_tcp(any_port, Posing::Anybody).map_err(Error::Listen)?;
    let port = listener.local_addr().map_err(Error::Listen)?.port();
    let socket = bind_udp(SocketAddr::from((DOOR, port)), Posing::Anybody).map_err(Error::Listen)?;
    setsockopt(&socket, sockopt::Ipv4OrigDstAddr, &true).map_err(|errno| Error::Listen(errno.into()))?;
    redirect(options, port).map_err(Error::Filter)?;
    let closed = [options.pods, options.services];
    tokio::spawn(tcp(listener, closed, sides.clone()));
    tokio::spawn(udp(socket, closed, sides.clone()));
    Ok(())
}

fn redirect(options: &Options, port: u16) -> Result<(), netlink::Error> {
    Socket::route()?.execute(&[
        add_rule(MARK, MARKED),
        add_route(Ipv4Net::default(), Route::Own, MARKED),
    ])?;
    let [tcp, udp] = [libc::IPPROTO_TCP, libc::IPPROTO_UDP].map(|protocol| Step::Protocol(protocol as u8));
    let rules: [&[Step]; 5] = [
        &[Step::ForTransparentSocket, Step::Mark(MARK), Step::Accept],
        &[Step::ToOwnAddress, Step::Accept],
        &[Step::To(options.pods), Step::Accept],
        &[tcp, Step::HandTo(DOOR, port), Step::Mark(MARK), Step::Accept],
        &[udp, Step::HandTo(DOOR, port), Step::Mark(MARK), Step::Accept],
    ];
    Socket::filter()?.execute(&install(&rules))
}

/// Whether a pod may get to an address by way of the host: not to what listens on the host for the host
/// alone, and not back into the cluster.
fn is_outside(address: Ipv4Addr, closed: [Ipv4Net; 2]) -> bool {
    let special =
        address.is_loopback() || address.octets()[0] == 0 || address.is_multicast() || address.is_broadcast();
    !special && !closed.iter().any(|range| range.contains(&address))
}

async fn tcp(listener: TcpListener, closed: [Ipv4Net; 2], sides: Sides) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, closed, sides.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection out of the cluster");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, closed: [Ipv4Net; 2], sides: Sides) {
    match dial(&stream, closed, &sides).await {
        Ok(behind) => pump::join(stream, behind).await,
        Err(error) => {
            tracing::debug!(%error, "cannot connect outside the cluster");
            let _ = stream.set_zero_linger();
        }
    }
}

async fn dial(stream: &TcpStream, closed: [Ipv4Net; 2], sides: &Sides) -> io::Result<TcpStream> {
    // The socket poses as the destination, so its own address is where the pod wanted to go.
    let to = match stream.local_addr()? {
        SocketAddr::V4(to) if is_outside(*to.ip(), closed) => to,
        _ => return Err(io::ErrorKind::AddrNotAvailable.into()),
    };
    let dial = sides.on(Side::Host, connect_tcp(None, to));
    timeout(PATIENCE, dial)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn udp(socket: UdpSocket, closed: [Ipv4Net; 2], sides: Sides) {
    let flows = Arc::new(Flows::default());
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    loop {
        let received = socket
            .async_io(Interest::READABLE, || receive(&socket, &mut buffer))
            .await;
        let Ok((length, client, to)) = received else {
            continue;
        };
        if !is_outside(*to.ip(), closed) {
            continue;
        }
        let key = Key {
            client: client.into(),
            to: Some(to),
        };
        if !flows.is_known(key) {
            let Ok(behind) = sides.on(Side::Host, connect_udp(None, to)).await else {
                continue;
            };
            let Ok(front) = bind_udp(to.into(), Posing::Anybody) else {
                continue;
            };
            flows.add(key, to, behind, Arc::new(front));
        }
        flows.forward(key, &buffer[..length]);
    }
}

/// A datagram, who sent it, and where it was to go.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddrV4, SocketAddrV4)> {
    let mut beside = cmsg_space!(libc::sockaddr_in);
    let mut into = [IoSliceMut::new(buffer)];
    let received = recvmsg::<SockaddrIn>(
        socket.as_raw_fd(),
        &mut into,
        Some(&mut beside),
        MsgFlags::empty(),
    )?;
    let to = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4OrigDstAddr(address) => Some(SockaddrIn::from(address)),
        _ => None,
    });
    let (Some(client), Some(to)) = (received.address, to) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok((received.bytes, client.into(), to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_do_not_get_to_the_hosts_loopback_nor_back_into_the_cluster() {
        let closed = ["10.244.0.0/24".parse().unwrap(), "10.96.0.0/16".parse().unwrap()];
        let outside = |address: &str| is_outside(address.parse().unwrap(), closed);
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!outside(address), "{address}");
        }
        assert!(!outside("10.244.0.9"));
        assert!(!outside("10.96.0.1"));
        assert!(outside("192.168.1.1"));
        assert!(outside("8.8.8.8"));
    }
}
