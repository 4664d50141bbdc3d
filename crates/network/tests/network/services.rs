//! Services: cluster addresses, node ports, who is chosen.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket},
    thread,
};

use network::{Affinity, Claimant, HostPort, Options, Protocol, Service, Table};

use crate::world::{World, each_tier, endpoint, host_endpoint, port, service, table};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 10);

#[test]
fn clients_are_spread_over_the_ready_endpoints_which_see_who_asks() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let mut servers = [
            world.pod("one").await,
            world.pod("two").await,
            world.pod("three").await,
        ];
        for (number, server) in servers.iter_mut().enumerate() {
            server.run(&format!("listen tcp 8080 {number}"));
        }
        let endpoints = vec![
            endpoint(servers[0].address, true, 8080),
            endpoint(servers[1].address, true, 8080),
            endpoint(servers[2].address, false, 8080),
        ];
        world
            .set(table(
                1,
                vec![service("web", ADDRESS, vec![port(Protocol::Tcp, 80)], endpoints)],
            ))
            .await;
        let answers: BTreeSet<String> = (0..6).map(|_| client.run("ask tcp 10.96.0.10:80")).collect();
        let expected = [0, 1].map(|number| format!("{number} {}", client.address));
        assert_eq!(answers, BTreeSet::from(expected));
        world.stop().await;
    });
}

#[test]
fn much_data_goes_through_unchanged_and_the_half_that_is_closed_is_only_half() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let mut server = world.pod("server").await;
        server.run("listen tcp 8080 server");
        let endpoints = vec![endpoint(server.address, true, 8080)];
        world
            .set(table(
                1,
                vec![service("web", ADDRESS, vec![port(Protocol::Tcp, 80)], endpoints)],
            ))
            .await;
        assert_eq!(client.run("echo 10.96.0.10:80 20000"), "same");
        world.stop().await;
    });
}

#[test]
fn a_pod_reaches_itself_through_its_service() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        pod.run("listen tcp 8080 pod");
        pod.run("listen udp 8080 pod");
        let ports = vec![port(Protocol::Tcp, 80), port(Protocol::Udp, 80)];
        let endpoints = vec![endpoint(pod.address, true, 8080)];
        world
            .set(table(1, vec![service("web", ADDRESS, ports, endpoints)]))
            .await;
        assert_eq!(pod.run("ask tcp 10.96.0.10:80"), "pod 10.244.0.1");
        assert_eq!(pod.run("ask udp 10.96.0.10:80 hello"), "pod 10.244.0.1 hello");
        world.stop().await;
    });
}

#[test]
fn a_service_without_endpoints_refuses() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let web = |endpoints| service("web", ADDRESS, vec![port(Protocol::Tcp, 80)], endpoints);
        world.set(table(1, vec![web(vec![])])).await;
        assert_eq!(client.run("ask tcp 10.96.0.10:80"), "error: ConnectionRefused");
        client.run("listen tcp 8080 client");
        world
            .set(table(2, vec![web(vec![endpoint(client.address, true, 8080)])]))
            .await;
        assert_eq!(client.run("ask tcp 10.96.0.10:80"), "client 10.244.0.1");
        world.set(table(3, vec![web(vec![])])).await;
        assert_eq!(client.run("ask tcp 10.96.0.10:80"), "error: ConnectionRefused");
        world.stop().await;
    });
}

#[test]
fn an_endpoint_that_does_not_accept_is_passed_over() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let dead = world.pod("dead").await;
        let mut server = world.pod("server").await;
        server.run("listen tcp 8080 server");
        let endpoints = vec![
            endpoint(dead.address, true, 8080),
            endpoint(server.address, true, 8080),
        ];
        world
            .set(table(
                1,
                vec![service("web", ADDRESS, vec![port(Protocol::Tcp, 80)], endpoints)],
            ))
            .await;
        for _ in 0..3 {
            assert_eq!(
                client.run("ask tcp 10.96.0.10:80"),
                format!("server {}", client.address)
            );
        }
        world.stop().await;
    });
}

#[test]
fn datagrams_go_to_another_endpoint_when_theirs_is_gone() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let mut servers = [world.pod("one").await, world.pod("two").await];
        for (number, server) in servers.iter_mut().enumerate() {
            server.run(&format!("listen udp 8080 {number}"));
        }
        for (number, server) in servers.iter().enumerate() {
            let endpoints = vec![endpoint(server.address, true, 8080)];
            let web = service("web", ADDRESS, vec![port(Protocol::Udp, 53)], endpoints);
            world.set(table(number as u64 + 1, vec![web])).await;
            assert_eq!(
                client.run("ask-from 7777 10.96.0.10:53 hello"),
                format!("{number} {} hello", client.address)
            );
        }
        world.stop().await;
    });
}

#[test]
fn a_client_with_affinity_stays_with_its_endpoint() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut clients = [world.pod("a").await, world.pod("b").await];
        let mut servers = [world.pod("one").await, world.pod("two").await];
        for (number, server) in servers.iter_mut().enumerate() {
            server.run(&format!("listen tcp 8080 {number}"));
        }
        let endpoints = servers
            .iter()
            .map(|server| endpoint(server.address, true, 8080))
            .collect();
        let web = Service {
            affinity: Some(Affinity { timeout_seconds: 100 }),
            ..service("web", ADDRESS, vec![port(Protocol::Tcp, 80)], endpoints)
        };
        world.set(table(1, vec![web])).await;
        for client in &mut clients {
            let answers: BTreeSet<String> = (0..4).map(|_| client.run("ask tcp 10.96.0.10:80")).collect();
            assert_eq!(answers.len(), 1);
            assert!(
                answers
                    .iter()
                    .all(|answer| answer.ends_with(&client.address.to_string())),
                "{answers:?}"
            );
        }
        world.stop().await;
    });
}

#[test]
fn the_host_reaches_a_node_port() {
    each_tier(async |tier| {
        let node_ports = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let world = World::with(
            tier,
            Options {
                node_ports,
                ..Options::default()
            },
        )
        .await;
        let mut server = world.pod("server").await;
        server.run("listen tcp 8080 server");
        server.run("listen udp 8080 server");
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut ports = vec![port(Protocol::Tcp, 80), port(Protocol::Udp, 80)];
        for port in &mut ports {
            port.node_port = Some(free);
        }
        let endpoints = vec![endpoint(server.address, true, 8080)];
        world
            .set(table(1, vec![service("web", ADDRESS, ports, endpoints)]))
            .await;

        let mut stream = TcpStream::connect(("127.0.0.1", free)).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "server 10.244.0.1\n");

        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"hello", ("127.0.0.1", free)).unwrap();
        let mut buffer = [0; 100];
        let (length, _) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"server 10.244.0.1 hello");
        world.stop().await;
    });
}

#[test]
fn the_host_reaches_a_port_of_a_pod_at_the_address_it_names() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut server = world.pod("server").await;
        server.run("listen tcp 8080 server");
        // Somebody else has the number at another address.
        let other = TcpListener::bind("127.0.0.2:0").unwrap();
        let port = other.local_addr().unwrap().port();
        let host_port = |address: &str| HostPort {
            pod: "server".to_owned(),
            address: Some(address.parse().unwrap()),
            port,
            protocol: Protocol::Tcp,
            to: SocketAddrV4::new(server.address, 8080),
        };
        let ports = |number, address| Table {
            number,
            host_ports: vec![host_port(address)],
            ..Table::default()
        };
        world.set(ports(1, "127.0.0.1")).await;
        let mut text = String::new();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "server 10.244.0.1\n");

        let problems = world.network.set_table(ports(2, "127.0.0.2")).await.unwrap();
        assert_eq!(problems[0].claimant, Claimant::Pod("server".to_owned()));
        assert!(
            TcpStream::connect(("127.0.0.1", port)).is_err(),
            "what is not wanted any more is let go"
        );
        world.stop().await;
    });
}

#[test]
fn a_node_port_that_is_taken_is_told_and_tried_again() {
    each_tier(async |tier| {
        let node_ports = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let world = World::with(
            tier,
            Options {
                node_ports,
                ..Options::default()
            },
        )
        .await;
        let server = world.pod("server").await;
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut web = service(
            "web",
            ADDRESS,
            vec![port(Protocol::Tcp, 80)],
            vec![endpoint(server.address, true, 8080)],
        );
        web.ports[0].node_port = Some(taken.local_addr().unwrap().port());
        let problems = world
            .network
            .set_table(table(1, vec![web.clone()]))
            .await
            .unwrap();
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].reason.contains("Address already in use"),
            "{problems:?}"
        );
        drop(taken);
        // A process that another test is just starting may hold the port for a moment longer.
        let mut number = 2;
        while !world
            .network
            .set_table(table(number, vec![web.clone()]))
            .await
            .unwrap()
            .is_empty()
        {
            assert!(number < 500);
            number += 1;
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        world.stop().await;
    });
}

#[test]
fn an_endpoint_may_be_on_the_host_even_on_its_loopback() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens_at = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.write_all(b"the API\n");
            }
        });
        let endpoints = vec![host_endpoint(Ipv4Addr::LOCALHOST, listens_at)];
        let api = service(
            "kubernetes",
            Ipv4Addr::new(10, 96, 0, 1),
            vec![port(Protocol::Tcp, 443)],
            endpoints,
        );
        world.set(table(1, vec![api])).await;
        assert_eq!(client.run("ask tcp 10.96.0.1:443"), "the API");
        world.stop().await;
    });
}

#[test]
fn a_service_is_reached_at_its_external_addresses() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let mut server = world.pod("server").await;
        server.run("listen tcp 8080 server");
        let web = Service {
            external_addresses: vec![Ipv4Addr::new(203, 0, 113, 7)],
            ..service(
                "web",
                ADDRESS,
                vec![port(Protocol::Tcp, 80)],
                vec![endpoint(server.address, true, 8080)],
            )
        };
        world.set(table(1, vec![web])).await;
        assert_eq!(
            client.run("ask tcp 203.0.113.7:80"),
            format!("server {}", client.address)
        );
        world.stop().await;
    });
}

#[test]
fn thousands_of_services_are_cheap() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        pod.run("listen tcp 8080 pod");
        let at = |number: u16| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 96, 1, 0)) + u32::from(number));
        let services: Vec<Service> = (0..2000)
            .map(|number| {
                let endpoints = vec![endpoint(pod.address, true, 8080)];
                service(
                    &format!("s{number}"),
                    at(number),
                    vec![port(Protocol::Tcp, 80)],
                    endpoints,
                )
            })
            .collect();
        let started = std::time::Instant::now();
        world.set(table(1, services.clone())).await;
        println!("{tier:?}: 2000 services opened in {:?}", started.elapsed());
        let started = std::time::Instant::now();
        world.set(table(2, services)).await;
        println!("{tier:?}: 2000 services unchanged in {:?}", started.elapsed());
        assert_eq!(pod.run(&format!("ask tcp {}:80", at(1999))), "pod 10.244.0.1");
        world.stop().await;
    });
}
