//! The way out, and what is not reached through it.

use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket},
    thread,
};

use crate::world::{World, each_tier};

#[test]
fn pods_reach_the_hosts_other_addresses_and_what_is_behind_them() {
    let Some(address) = own_address() else { return };
    let (tcp, udp) = servers(address);
    each_tier(async |tier| {
        let world = World::start(tier).await;
        assert_eq!(world.network.description().no_egress, None);
        let mut pod = world.pod("pod").await;
        assert_eq!(
            pod.run(&format!("ask tcp {address}:{tcp}")),
            format!("outside {address}")
        );
        assert_eq!(
            pod.run(&format!("ask udp {address}:{udp} hello")),
            format!("outside {address} hello")
        );
        assert_eq!(pod.run(&format!("ask tcp {address}:1")), "error: ConnectionReset");
        world.stop().await;
    });
}

#[test]
fn pods_do_not_reach_the_hosts_loopback() {
    let (tcp, _) = servers(Ipv4Addr::LOCALHOST);
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        assert_eq!(
            pod.run(&format!("ask tcp 127.0.0.1:{tcp}")),
            "error: ConnectionRefused"
        );
        assert_eq!(
            pod.run(&format!("ask tcp 10.244.0.1:{tcp}")),
            "error: ConnectionRefused"
        );
        assert_eq!(
            pod.run(&format!("ask tcp 0.0.0.0:{tcp}")),
            "error: ConnectionRefused"
        );
        world.stop().await;
    });
}

/// An address of this machine that is not its loopback's, if it has one.
fn own_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) if !address.is_loopback() => Some(address),
        _ => None,
    }
}

fn servers(address: Ipv4Addr) -> (u16, u16) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let socket = UdpSocket::bind((address, 0)).unwrap();
    let ports = (
        listener.local_addr().unwrap().port(),
        socket.local_addr().unwrap().port(),
    );
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let peer = stream.peer_addr().unwrap().ip();
            let _ = writeln!(stream, "outside {peer}");
        }
    });
    thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let _ = socket.send_to(format!("outside {} {text}", from.ip()).as_bytes(), from);
        }
    });
    ports
}
