//! Names, as pods look them up.

use std::{
    net::{Ipv4Addr, UdpSocket},
    thread,
};

use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{RData, Record, rdata::A},
};
use network::{Endpoint, Options, Protocol, Service};

use crate::world::{World, each_tier, endpoint, port, service, table};

#[test]
fn every_form_of_a_name_is_answered() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        let job = Service {
            addresses: vec![],
            endpoints: vec![Endpoint {
                hostname: Some("w-0".to_owned()),
                ..endpoint(pod.address, true, 29_500)
            }],
            ..service(
                "job",
                Ipv4Addr::UNSPECIFIED,
                vec![port(Protocol::Tcp, 80)],
                vec![],
            )
        };
        let web = service(
            "web",
            Ipv4Addr::new(10, 96, 0, 10),
            vec![port(Protocol::Tcp, 80)],
            vec![],
        );
        world.set(table(1, vec![job, web])).await;
        let mut resolve = |name: &str, kind: &str| pod.run(&format!("resolve 10.244.0.1:53 {name} {kind}"));
        for (name, kind, expected) in [
            ("web.default.svc.cluster.local.", "A", "NoError 10.96.0.10"),
            ("web.default.svc.cluster.local.", "AAAA", "NoError"),
            ("w-0.job.default.svc.cluster.local.", "A", "NoError 10.244.0.2"),
            ("job.default.svc.cluster.local.", "A", "NoError 10.244.0.2"),
            (
                "_main._tcp.web.default.svc.cluster.local.",
                "SRV",
                "NoError web.default.svc.cluster.local.:80",
            ),
            (
                "_main._tcp.job.default.svc.cluster.local.",
                "SRV",
                "NoError w-0.job.default.svc.cluster.local.:29500",
            ),
            ("10-244-0-2.default.pod.cluster.local.", "A", "NoError 10.244.0.2"),
            (
                "10.0.96.10.in-addr.arpa.",
                "PTR",
                "NoError web.default.svc.cluster.local.",
            ),
            ("nothing.default.svc.cluster.local.", "A", "NXDomain"),
            ("example.com.default.svc.cluster.local.", "A", "NXDomain"),
        ] {
            assert_eq!(resolve(name, kind), expected, "{name} {kind}");
        }
        world.stop().await;
    });
}

#[test]
fn long_answers_come_by_connection() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        let endpoints = (2..200)
            .map(|last| endpoint(Ipv4Addr::new(10, 244, 0, last), true, 80))
            .collect();
        let job = Service {
            addresses: vec![],
            ..service("job", Ipv4Addr::UNSPECIFIED, vec![], endpoints)
        };
        world.set(table(1, vec![job])).await;
        let short = pod.run("resolve 10.244.0.1:53 job.default.svc.cluster.local. A");
        assert!(short.starts_with("NoError truncated 10.244."), "{short}");
        let long = pod.run("resolve-tcp 10.244.0.1:53 job.default.svc.cluster.local. A");
        assert_eq!(long.split(' ').count(), 1 + 198);
        world.stop().await;
    });
}

#[test]
fn without_servers_other_names_fail_at_once() {
    each_tier(async |tier| {
        let options = Options {
            resolvers: "/nonexistent".into(),
            ..Options::default()
        };
        let world = World::with(tier, options).await;
        let mut pod = world.pod("pod").await;
        assert_eq!(pod.run("resolve 10.244.0.1:53 example.com. A"), "ServFail");
        world.stop().await;
    });
}

#[test]
fn other_names_are_asked_of_the_hosts_server() {
    // Only root may listen at the port of name servers.
    let Ok(socket) = UdpSocket::bind("127.0.77.53:53") else {
        return;
    };
    thread::spawn(move || answer_everything(&socket));
    each_tier(async |tier| {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let resolvers = folder.path().join("resolv.conf");
        std::fs::write(&resolvers, "nameserver 127.0.77.53\n").unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let world = World::with(
            tier,
            Options {
                resolvers,
                ..Options::default()
            },
        )
        .await;
        let mut pod = world.pod("pod").await;
        assert_eq!(
            pod.run("resolve 10.244.0.1:53 example.com. A"),
            "NoError 192.0.2.1"
        );
        world.stop().await;
    });
}

fn answer_everything(socket: &UdpSocket) {
    let mut buffer = [0; 512];
    while let Ok((length, client)) = socket.recv_from(&mut buffer) {
        let query = Message::from_vec(&buffer[..length]).unwrap();
        let name = query.queries[0].name.clone();
        let mut response = query.into_response();
        response.metadata.response_code = ResponseCode::NoError;
        response.add_answer(Record::from_rdata(
            name,
            60,
            RData::A(A(Ipv4Addr::new(192, 0, 2, 1))),
        ));
        socket.send_to(&response.to_vec().unwrap(), client).unwrap();
    }
}
