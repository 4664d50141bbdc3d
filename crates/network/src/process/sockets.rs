//! Sockets with the options that relays need. Each belongs to the side of the thread that makes it.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream as StdTcpStream},
    os::fd::{AsRawFd, OwnedFd},
};

use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, listen, send, sendto,
    setsockopt, socket, sockopt,
};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};

const WAITING_CONNECTIONS: i32 = 4096;

/// Which addresses a socket may have that no device has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Posing {
    /// Addresses that are ours by a route.
    OwnOnly,
    /// Any. The filter must bring the packets here.
    Anybody,
}

pub(crate) fn listen_tcp(address: SocketAddr, posing: Posing) -> io::Result<TcpListener> {
    let fd = bound(SockType::Stream, address, posing)?;
    listen(&fd, Backlog::new(WAITING_CONNECTIONS)?)?;
    TcpListener::from_std(fd.into())
}

pub(crate) fn bind_udp(address: SocketAddr, posing: Posing) -> io::Result<UdpSocket> {
    UdpSocket::from_std(bound(SockType::Datagram, address, posing)?.into())
}

/// Connects in the name of `source`, or in our own.
pub(crate) async fn connect_tcp(source: Option<Ipv4Addr>, to: SocketAddrV4) -> io::Result<TcpStream> {
    let fd = from(SockType::Stream, source)?;
    TcpSocket::from_std_stream(StdTcpStream::from(fd))
        .connect(to.into())
        .await
}

/// A datagram socket with one peer, in the name of `source`, or in our own.
pub(crate) async fn connect_udp(source: Option<Ipv4Addr>, to: SocketAddrV4) -> io::Result<UdpSocket> {
    let socket = UdpSocket::from_std(from(SockType::Datagram, source)?.into())?;
    socket.connect(to).await?;
    Ok(socket)
}

/// Sends a datagram, to the socket's one peer or to another, if the kernel takes it now; if not it is
/// lost, as datagrams may be. A new socket can send before the runtime has seen that it can.
pub(crate) fn send_now(socket: &UdpSocket, datagram: &[u8], to: Option<SocketAddr>) {
    let (fd, flags) = (
        socket.as_raw_fd(),
        MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL,
    );
    let sent = match to {
        Some(to) => sendto(fd, datagram, &SockaddrStorage::from(to), flags),
        None => send(fd, datagram, flags),
    };
    if let Err(error) = sent {
        tracing::debug!(%error, "a datagram is lost");
    }
}

fn bound(kind: SockType, address: SocketAddr, posing: Posing) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let fd = open(family, kind)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    if address.is_ipv4() {
        setsockopt(&fd, sockopt::IpFreebind, &true)?;
    }
    if posing == Posing::Anybody {
        setsockopt(&fd, sockopt::IpTransparent, &true)?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(fd)
}

fn from(kind: SockType, source: Option<Ipv4Addr>) -> io::Result<OwnedFd> {
    let fd = open(AddressFamily::Inet, kind)?;
    if let Some(source) = source {
        setsockopt(&fd, sockopt::IpTransparent, &true)?;
        // The port is chosen when the peer is known, so that each peer has all ports to itself.
        setsockopt(&fd, sockopt::IpBindAddressNoPort, &true)?;
        bind(
            fd.as_raw_fd(),
            &SockaddrStorage::from(SocketAddrV4::new(source, 0)),
        )?;
    }
    Ok(fd)
}

fn open(family: AddressFamily, kind: SockType) -> io::Result<OwnedFd> {
    Ok(socket(
        family,
        kind,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )?)
}
