//! Pods and their addresses.

use std::{
    fs::{self, File},
    os::fd::AsFd as _,
};

use network::Namespace;

use crate::world::{Pod, World, each_tier};

#[test]
fn pods_talk_by_address_and_have_all_ports_to_themselves() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut first = world.pod("first").await;
        let mut second = world.pod("second").await;
        for (pod, name) in [(&mut first, "first"), (&mut second, "second")] {
            assert_eq!(pod.run(&format!("listen tcp 29500 {name}")), "ok");
            assert_eq!(pod.run(&format!("listen udp 29500 {name}")), "ok");
        }
        let (one, two) = (first.address, second.address);
        assert_eq!(
            second.run(&format!("ask tcp {one}:29500")),
            format!("first {two}")
        );
        assert_eq!(
            first.run(&format!("ask tcp {two}:29500")),
            format!("second {one}")
        );
        assert_eq!(
            second.run(&format!("ask udp {one}:29500 hello")),
            format!("first {two} hello")
        );
        assert_eq!(second.run("ask tcp 127.0.0.1:29500"), "second 127.0.0.1");
        assert_eq!(
            second.run(&format!("ask tcp {two}:29500")),
            format!("second {two}")
        );
        world.stop().await;
    });
}

#[test]
fn a_port_where_nobody_listens_and_an_address_that_nobody_has_are_refused_at_once() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut first = world.pod("first").await;
        let second = world.pod("second").await;
        assert_eq!(
            first.run(&format!("ask tcp {}:81", second.address)),
            "error: ConnectionRefused"
        );
        assert_eq!(first.run("ask tcp 10.244.0.200:81"), "error: HostUnreachable");
        world.stop().await;
    });
}

#[test]
fn attaching_and_detaching_twice_changes_nothing() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        let again = world
            .network
            .attach("pod", Namespace::OfProcess(pod.child.id()))
            .await
            .unwrap();
        assert_eq!(again, pod.address);
        pod.run("listen tcp 80 pod");
        assert_eq!(
            pod.run(&format!("ask tcp {}:80", pod.address)),
            format!("pod {}", pod.address)
        );

        world.network.detach("pod").await.unwrap();
        world.network.detach("pod").await.unwrap();
        assert!(world.network.describe().await.unwrap().addresses.is_empty());
        assert_eq!(
            pod.run(&format!("ask tcp {}:80", pod.address)),
            "error: NetworkUnreachable"
        );
        world.stop().await;
    });
}

#[test]
fn a_pod_whose_sandbox_is_new_keeps_its_address() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let old = world.pod("server").await;
        let mut new = world.unattached_pod();
        let namespace = File::open(format!("/proc/{}/ns/net", new.child.id())).unwrap();
        let address = world
            .network
            .attach("server", Namespace::Open(namespace.as_fd()))
            .await
            .unwrap();
        assert_eq!(address, old.address);
        new.run("listen tcp 80 new");
        assert_eq!(
            client.run(&format!("ask tcp {address}:80")),
            format!("new {}", client.address)
        );
        world.stop().await;
    });
}

/// The kernel gives the number of a namespace that is gone to a later one; which, is not ours to say.
#[test]
fn a_pod_whose_namespace_has_the_number_of_its_last_is_wired() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut client = world.pod("client").await;
        let number = |pod: &Pod| fs::read_link(format!("/proc/{}/ns/net", pod.child.id())).unwrap();
        let old = world.pod("server").await;
        let taken = number(&old);
        drop(old);
        let mut new = world.unattached_pod();
        for _ in 0..100 {
            if number(&new) == taken {
                break;
            }
            new = world.unattached_pod();
        }
        let namespace = Namespace::OfProcess(new.child.id());
        let address = world.network.attach("server", namespace).await.unwrap();
        new.run("listen tcp 80 new");
        assert_eq!(
            client.run(&format!("ask tcp {address}:80")),
            format!("new {}", client.address)
        );
        world.stop().await;
    });
}

#[test]
fn the_agent_reaches_into_pods() {
    each_tier(async |tier| {
        let world = World::start(tier).await;
        let mut pod = world.pod("pod").await;
        pod.run("listen tcp 80 pod");
        pod.run("listen udp 80 pod");
        let stream = world
            .network
            .dial(format!("{}:80", pod.address).parse().unwrap())
            .await
            .unwrap();
        assert_eq!(world.first_line(stream).await, "pod 10.244.0.1");

        let socket = world
            .network
            .dial_udp(format!("{}:80", pod.address).parse().unwrap())
            .await
            .unwrap();
        socket.send(b"hello").await.unwrap();
        let mut buffer = [0; 100];
        let length = socket.recv(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"pod 10.244.0.1 hello");

        let refused = world
            .network
            .dial(format!("{}:81", pod.address).parse().unwrap())
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), Some(std::io::ErrorKind::ConnectionRefused));
        world.stop().await;
    });
}
