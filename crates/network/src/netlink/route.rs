//! Requests about links, addresses and routes.

use std::{
    net::Ipv4Addr,
    os::fd::{AsRawFd, BorrowedFd},
};

use ipnet::Ipv4Net;
use nix::libc;

use super::Message;

/// The loopback device has this number in every network namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// What a route does with a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Route {
    /// The addresses are neighbours on the device; packets sent from here say they come from `source`.
    Neighbours { device: u32, source: Option<Ipv4Addr> },
    /// By way of another machine.
    Gateway { gateway: Ipv4Addr },
    /// The addresses are our own, every one of them.
    Own,
    /// Nobody has these addresses, and the sender hears so at once.
    Unreachable,
}

const CREATE: i32 = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE;
const VETH_PEER: u16 = 1;
/// `IFLA_INET_CONF`, and in it the switches for forwarding between devices and for strict sources.
const IPV4_SETTINGS: u16 = 1;
const FORWARDING: u16 = 1;
const SOURCE_CHECK: u16 = 8;

/// What a device is called on its own wire.
pub(crate) type Hardware = [u8; 6];

/// One end of a pair of devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'name> {
    pub(crate) name: &'name str,
    pub(crate) hardware: Hardware,
}

/// A pair of linked devices of the same number: `here`, and `there` in the other network namespace. The
/// other is still down: it cannot come up before it has its peer.
pub(crate) fn add_pair(
    number: u32,
    here: End<'_>,
    there: End<'_>,
    namespace: BorrowedFd<'_>,
    mtu: u32,
) -> Message {
    let described = |message: Message, end: End<'_>| {
        message
            .text(libc::IFLA_IFNAME, end.name)
            .attribute(libc::IFLA_ADDRESS, &end.hardware)
            .attribute(libc::IFLA_MTU, &mtu.to_ne_bytes())
    };
    let header = link_header(number, true);
    let message = Message::new(
        "create a pair of devices",
        libc::RTM_NEWLINK,
        CREATE | libc::NLM_F_EXCL,
        &header,
    );
    described(message, here).nested(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, "veth")
            .nested(libc::IFLA_INFO_DATA, |data| {
                data.nested(VETH_PEER, |peer| {
                    described(peer.raw(&link_header(number, false)), there)
                        .attribute(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes())
                })
            })
    })
}

/// Says for good which device has an address, so that nobody needs to ask on the wire.
pub(crate) fn add_neighbour(device: u32, address: Ipv4Addr, hardware: Hardware) -> Message {
    const PERMANENT: u16 = 0x80;
    let mut header = vec![libc::AF_INET as u8, 0, 0, 0];
    header.extend(device.to_ne_bytes());
    header.extend(PERMANENT.to_ne_bytes());
    header.extend([0, 0]);
    Message::new(
        "add a neighbour",
        libc::RTM_NEWNEIGH,
        CREATE | libc::NLM_F_REPLACE,
        &header,
    )
    .attribute(libc::NDA_DST, &address.octets())
    .attribute(libc::NDA_LLADDR, &hardware)
}

pub(crate) fn remove_link(number: u32) -> Message {
    Message::new(
        "remove a device",
        libc::RTM_DELLINK,
        libc::NLM_F_REQUEST | libc::NLM_F_ACK,
        &link_header(number, false),
    )
}

pub(crate) fn bring_up(number: u32) -> Message {
    Message::new(
        "bring up a device",
        libc::RTM_SETLINK,
        libc::NLM_F_REQUEST | libc::NLM_F_ACK,
        &link_header(number, true),
    )
}

/// Lets packets that come in by this device go out by another, if they come from where answers would go.
pub(crate) fn forward_from(number: u32) -> Message {
    bring_up(number).nested(libc::IFLA_AF_SPEC, |families| {
        families.nested(libc::AF_INET as u16, |inet| {
            inet.nested(IPV4_SETTINGS, |settings| {
                settings
                    .attribute(FORWARDING, &1_u32.to_ne_bytes())
                    .attribute(SOURCE_CHECK, &1_u32.to_ne_bytes())
            })
        })
    })
}

pub(crate) fn add_address(device: u32, address: Ipv4Addr) -> Message {
    let mut header = vec![libc::AF_INET as u8, 32, 0, libc::RT_SCOPE_UNIVERSE];
    header.extend(device.to_ne_bytes());
    Message::new(
        "add an address",
        libc::RTM_NEWADDR,
        CREATE | libc::NLM_F_REPLACE,
        &header,
    )
    .attribute(libc::IFA_LOCAL, &address.octets())
    .attribute(libc::IFA_ADDRESS, &address.octets())
}

pub(crate) fn add_route(to: Ipv4Net, route: Route, table: u8) -> Message {
    route_message(
        "add a route",
        libc::RTM_NEWROUTE,
        CREATE | libc::NLM_F_REPLACE,
        to,
        route,
        table,
    )
}

pub(crate) fn remove_route(to: Ipv4Net, route: Route, table: u8) -> Message {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
    route_message("remove a route", libc::RTM_DELROUTE, flags, to, route, table)
}

/// Packets with this mark are routed by that table.
pub(crate) fn add_rule(mark: u32, table: u8) -> Message {
    const MARK: u16 = 10;
    const TO_TABLE: u8 = 1;
    let header = [libc::AF_INET as u8, 0, 0, 0, table, 0, 0, TO_TABLE, 0, 0, 0, 0];
    Message::new(
        "add a routing rule",
        libc::RTM_NEWRULE,
        CREATE | libc::NLM_F_EXCL,
        &header,
    )
    .attribute(MARK, &mark.to_ne_bytes())
}

fn route_message(
    request: &'static str,
    kind: u16,
    flags: i32,
    to: Ipv4Net,
    route: Route,
    table: u8,
) -> Message {
    let (scope, kind_of_route) = match route {
        Route::Neighbours { .. } => (libc::RT_SCOPE_LINK, libc::RTN_UNICAST),
        Route::Gateway { .. } => (libc::RT_SCOPE_UNIVERSE, libc::RTN_UNICAST),
        Route::Own => (libc::RT_SCOPE_HOST, libc::RTN_LOCAL),
        Route::Unreachable => (libc::RT_SCOPE_UNIVERSE, libc::RTN_UNREACHABLE),
    };
    let family = libc::AF_INET as u8;
    let header = [
        family,
        to.prefix_len(),
        0,
        0,
        table,
        libc::RTPROT_BOOT,
        scope,
        kind_of_route,
        0,
        0,
        0,
        0,
    ];
    let message =
        Message::new(request, kind, flags, &header).attribute(libc::RTA_DST, &to.network().octets());
    match route {
        Route::Neighbours { device, source } => {
            let message = message.attribute(libc::RTA_OIF, &device.to_ne_bytes());
            match source {
                Some(source) => message.attribute(libc::RTA_PREFSRC, &source.octets()),
                None => message,
            }
        }
        Route::Gateway { gateway } => message.attribute(libc::RTA_GATEWAY, &gateway.octets()),
        Route::Own => message.attribute(libc::RTA_OIF, &LOOPBACK.to_ne_bytes()),
        Route::Unreachable => message,
    }
}

fn link_header(number: u32, up: bool) -> Vec<u8> {
    let flags = if up { libc::IFF_UP as u32 } else { 0 };
    let mut header = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
    for field in [number, flags, flags] {
        header.extend(field.to_ne_bytes());
    }
    header
}

/// The range of this address alone.
pub(crate) fn host(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::new_assert(address, 32)
}
